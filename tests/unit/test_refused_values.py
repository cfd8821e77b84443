"""What is refused before any door sees it is not said again, where it is a secret."""

from pathlib import Path
from typing import Any

import pytest

from hindsight_ray.entry import cli
from hindsight_ray.errors import InvalidInput
from tests.clients import client

SECRET = "sk-proj-abcdefghijklmnop1234"
MAIL = "alice@example.com"


@pytest.mark.covers("privacy.personal", "write.redact")
async def test_no_error_of_a_client_quotes_a_secret(tmp_path: Path) -> None:
    async with client(tmp_path) as home:
        memory = await home.memory(agent="planner", user="alice")
        run: Any = await memory.run("Restore checkout")
        refused: Any = (
            lambda: memory.get(SECRET),
            lambda: memory.trajectory(SECRET),
            lambda: memory.write("tea", type=SECRET),  # type: ignore[arg-type]
            lambda: memory.write("tea", labels=[f"a {MAIL}"]),
            lambda: memory.search("tea", scopes=[f"user:{SECRET}!"]),
            lambda: memory.search_many([SECRET * 200]),
            lambda: memory.share("user:alice", to=SECRET),
            lambda: home.hindsight.issue_ticket(tenant=f"{SECRET} ", agent="x"),
            lambda: run.tool(f"a\ud800 {SECRET}"),
            lambda: run.decide("go on", used=[SECRET]),
            lambda: run.set_working(state={SECRET: SECRET * 500}),
        )
        for ask in refused:
            with pytest.raises(InvalidInput) as told:
                await ask()  # or already where it is called
            said = f"{told.value} {told.value.details}"
            assert SECRET not in said
            assert MAIL not in said
        await run.abandon()


@pytest.mark.covers("write.redact")
def test_no_error_of_the_command_line_quotes_a_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = ("--home", str(tmp_path), "--tenant", "acme", "--user", "alice")
    assert cli.run(["get", SECRET, *place]) == cli.MISUSED
    assert SECRET not in capfd.readouterr().err
