"""A change of the embedding model is killed anywhere: the home works, and the change goes on."""

import subprocess
import sys
from pathlib import Path

import pytest

import hindsight_ray as hr
from hindsight_ray.domain import commands as c
from hindsight_ray.errors import SpaceMismatch

_TEXTS = [f"Locker {n} holds {n} ropes and a lamp" for n in range(12)]


async def _begin(home: Path) -> None:
    async with hr.open(home, embedding="hashed") as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", user="alice")
        for text in _TEXTS:
            await hindsight.as_caller(ticket).write(text)


async def _nearest(home: Path, query: str) -> tuple[str, list[str]]:
    """The home's model, and what the vector route names first."""
    async with hr.open(home) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", user="alice")
        found = await hindsight.as_caller(ticket).search(query)
        assert found.degraded == ()
        best = [hit.memory.content for hit in found.hits if hit.routes.get("vector") == 1]
        return hindsight.settings.embedding, best


def killed_after(home: Path, line: str) -> None:
    """Kill the process that changes the model as soon as it has said this."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.reembedder", str(home)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    while process.stdout.readline().strip() != line:
        assert process.poll() is None, f"it ended before it said {line!r}"
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.covers("space.killed")
@pytest.mark.parametrize(
    ("line", "model"),
    [("building 6", "hashed"), ("building 12", "hashed"), ("switched 12", "static")],
)
async def test_a_killed_change_of_the_model_leaves_one_space_and_goes_on(
    tmp_path: Path, line: str, model: str
) -> None:
    home = tmp_path / "home"
    await _begin(home)
    killed_after(home, line)
    assert await _nearest(home, _TEXTS[3]) == (model, [_TEXTS[3]])
    async with hr.open(home) as hindsight:
        memory = hindsight.operator("acme")
        steps = [await memory.reembed("static")]
        while steps[-1].state != "done":
            steps.append(await memory.reembed("static"))
        built = [step.embedded for step in steps if step.state == "building"]
        assert all(embedded > int(line.split()[1]) for embedded in built)  # what was kept is kept
        assert (steps[-1].embedded, steps[-1].total) == (12, 12)
    assert await _nearest(home, _TEXTS[3]) == ("static", [_TEXTS[3]])
    with pytest.raises(SpaceMismatch):
        async with hr.open(home, embedding="hashed"):
            """It is another home's model now."""
    async with hr.open(home) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", user="alice")
        memory = hindsight.as_caller(ticket)
        kept = await memory.write("Locker 99 is empty")
        assert (await memory.get(kept.ids[0])).embedding_model == "static"
        assert (await memory.ask(c.History(memory_id=kept.ids[0])))[0].revision == 1
