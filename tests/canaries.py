"""A user whose texts are in every place that a text can go, each with a mark of its place."""

from pathlib import Path
from typing import Any

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from tests.worlds import Staged

PLACES = (
    "content", "edited", "forgotten", "steps", "tags", "topic", "intent", "acted", "widened",
    "goal", "runintent", "summary", "errortext", "errortype", "snapshot", "working", "window",
    "query", "evaluator", "project", "quoted",
)  # fmt: skip


def said(place: str, word: str) -> str:
    return f'zq{place}xv canary Ω"{place}" of {word}'


def canary(place: str) -> str:
    return said(place, "alice")


async def _asked(home: Staged, token: str, kind: type[c.Command], named: str, **fields: Any) -> Any:
    if "command_id" in kind.model_fields:
        fields.setdefault("command_id", named)
    else:
        fields.pop("command_id", None)
    return await home.ask(token, build(kind, fields))


async def planted(home: Staged, word: str = "alice") -> dict[str, str]:
    """Alice's texts in every place; the ids of some of her memories. All say `word` too."""

    def canary(place: str) -> str:
        return said(place, word)

    made = 0

    async def ask(home: Staged, token: str, kind: type[c.Command], **fields: Any) -> Any:
        nonlocal made
        made += 1
        return await _asked(home, token, kind, f"planted{made}", **fields)

    alice = await home.ticket(user="alice", session="s1")
    planner = await home.ticket(agent="planner", user="alice", session="s1")
    curator = await home.ticket(agent="curator")
    ids: dict[str, str] = {}
    wrote = await ask(
        home, alice, c.Write, content=canary("content"), type="procedure", topic=canary("topic"),
        steps=(canary("steps"),), tags=(canary("tags"),), project=canary("project"),
    )  # fmt: skip
    ids["own"] = wrote.ids[0]
    edited = await ask(home, alice, c.Write, content=canary("edited"))
    await ask(home, alice, c.Update, memory_id=edited.ids[0], content="Something else by now")
    forgotten = await ask(home, alice, c.Write, content=canary("forgotten"))
    await ask(home, alice, c.Forget, memory_id=forgotten.ids[0])
    scene = {"task_type": "launch", "intent": canary("intent")}
    acted = await ask(
        home, planner, c.Write, content=canary("acted"), scope="agent:planner",
        type="experience", scene=scene,
    )  # fmt: skip
    ids["acted"] = acted.ids[0]
    widened = await ask(home, alice, c.Write, content=canary("widened"))
    promoted = await ask(home, curator, c.Promote, memory_id=widened.ids[0], scope="global")
    ids["promoted"] = promoted.ids[0]
    run = await ask(home, planner, c.StartRun, goal=canary("goal"), intent=canary("runintent"))
    ids["run"] = run.run_id
    tool = {
        "name": "deploy", "status": "error", "error_text": canary("errortext"),
        "error_type": canary("errortype"),
    }  # fmt: skip
    event = {
        "event_id": home.world.ids.event_id(), "run_id": run.run_id, "agent": "planner",
        "incarnation": "i", "seq": 0, "timestamp": home.clock.now(), "kind": "tool",
        "summary": canary("summary"), "tool": tool,
        "snapshot": {"last_user_input": canary("snapshot")},
    }  # fmt: skip
    await ask(home, planner, c.RecordEvents, run_id=run.run_id, events=(event,))
    state = {"goal": "g", "state": {"note": canary("working")}}
    await ask(home, planner, c.SetWorking, run_id=run.run_id, state=state)
    await ask(home, planner, c.Note, text=canary("window"))
    await ask(home, planner, c.AssertOutcome, run_id=run.run_id, value=0.5,
               evaluator=canary("evaluator"))  # fmt: skip
    await ask(home, planner, c.Search, query=canary("query"))
    await ask(home, planner, c.ReviewRun, run_id=run.run_id)
    await ask(home, alice, c.Write, content=canary("quoted"), type="preference")
    await home.jobs.finish()
    return ids


def left(folder: Path) -> dict[str, list[str]]:
    """Which canaries are in which files, searched plainly."""
    marks = [f"zq{place}xv".encode() for place in PLACES]
    found: dict[str, list[str]] = {}
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            hits = [mark.decode() for mark in marks if mark in data]
            if hits:
                found[str(file.relative_to(folder))] = hits
    return found
