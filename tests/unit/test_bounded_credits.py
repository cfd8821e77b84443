"""How much credit of one run is kept, and how much of it an answer holds."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Credited
from hindsight_ray.errors import OverQuota
from hindsight_ray.service import credit
from tests.asking import ask
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _run(home: Staged, token: str) -> str:
    run = await ask(home, token, c.StartRun, goal="Tidy", scope="agent:planner")
    await ask(home, token, c.AssertOutcome, run_id=run.run_id, value=1.0)
    return str(run.run_id)


async def _submitted(home: Staged, token: str, run_id: str, method: str) -> None:
    said = {"run_id": run_id, "outcome": 1.0, "method": method}
    said["abstained"] = {"method": method, "reason": "too few runs"}
    await ask(home, token, c.SubmitCredits, run_id=run_id, attribution=said)
    home.clock.advance(seconds=1)


def _methods(kept: tuple[Credited, ...]) -> list[str]:
    return [one.attribution.method for one in kept]


@pytest.mark.covers("credit.bounded")
async def test_each_author_has_so_many_methods_of_a_run_and_may_replace_them(
    home: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credit, "METHODS_MAX", 2)
    planner, operator = await home.ticket(agent="planner"), await home.operator()
    run_id = await _run(home, planner)
    for method in ("a", "b", "a"):
        await _submitted(home, planner, run_id, method)
    with pytest.raises(OverQuota, match="2 methods"):
        await _submitted(home, planner, run_id, "c")
    await _submitted(home, operator, run_id, "c")
    await _submitted(home, planner, await _run(home, planner), "c")
    assert _methods(await ask(home, planner, c.ReadCredits, run_id=run_id)) == ["b", "a", "c"]


@pytest.mark.covers("credit.bounded")
async def test_an_answer_holds_a_page_of_the_newest_credits(home: Staged) -> None:
    planner = await home.ticket(agent="planner")
    run_id = await _run(home, planner)
    for method in "abcde":
        await _submitted(home, planner, run_id, method)
    asked = {"run_id": run_id, "limit": 2}
    assert _methods(await ask(home, planner, c.ReadCredits, **asked)) == ["d", "e"]
    assert _methods(await ask(home, planner, c.ReadCredits, **asked, skip=3)) == ["a", "b"]
