"""What a terminal or a pipe gets can be copied: ids, names and times whole, prompts raw."""

import io
import uuid

import pytest
from rich.console import Console

from hindsight_ray.entry.cli import show
from tests.entry.conftest import Cli

ALICE = ("--tenant", "acme", "--user", "alice")
LONG = "The depot opens at nine and closes at ten on " + ", ".join(f"gate {n}" for n in range(16))
ID = str(uuid.UUID(int=7, version=5))
AT, WHO = "2026-03-01T10:00:00+00:00", "agent:planner-of-the-north"


def _drawn(width: int) -> str:
    made = show.table("at", "principal", "statement…", "id")
    made.add_row(AT, WHO, show.plain(LONG), ID)
    made.add_row(AT, WHO, show.plain("仓库" * 90), ID)
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(made, soft_wrap=True)
    return file.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80, 110, 160, 1_000])
def test_no_width_breaks_an_id_a_name_or_a_time(width: int) -> None:
    drawn = _drawn(width)
    assert [drawn.count(one) for one in (AT, WHO, ID)] == [2, 2, 2]


def test_prose_folds_where_a_row_has_room_and_fields_stand_below_one_another_where_not() -> None:
    assert max(map(len, _drawn(120).splitlines())) <= 120
    narrow = _drawn(80).splitlines()
    assert narrow[:2] == [f"at         {AT}", f"principal  {WHO}"]


def test_text_for_a_prompt_and_tables_go_into_a_pipe_with_lines_as_long_as_they_are(
    cli: Cli,
) -> None:
    assert cli("write", LONG, *ALICE).code == 0
    said = cli("search", "depot", *ALICE, "--render").out
    assert f"] {LONG.strip()}\n" in said
    listed = cli("search", "depot", *ALICE).out
    assert LONG.strip() in listed
    assert all(line == line.rstrip() for line in [*said.splitlines(), *listed.splitlines()])
