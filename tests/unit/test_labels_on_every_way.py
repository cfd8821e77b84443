"""A label that a caller is denied hides a record on every way: as if it had never been written.

Three homes that differ in one thing: whether a record is there, is there with the label, or is not
there. Whoever may do everything in its scope but is denied the label is answered, whatever they
ask, the same where it is labelled as where it is not there. Where it is there without the label
they are answered otherwise by every verb that could show it, so the comparison can fail.
"""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.digest import memory_uuid
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.entry.leakcheck.planted import Facts, Names
from hindsight_ray.entry.leakcheck.table import ATTEMPTS, untried
from hindsight_ray.errors import HindsightError
from hindsight_ray.service import door
from tests.simulation.history import in_memory
from tests.simulation.parked import without_threads
from tests.worlds import TENANT, Staged, world

NAMES = Names(suffix="x")
SCOPE = f"user:{NAMES.user}"
HELPER = f"agent:{NAMES.other_agent}"
DENIED = "secret"
ALL = ("read", "write", "forget", "promote", "share", "review", "evaluate")
POLICY = shipped_text("default.csv") + "".join(
    [f"p, {HELPER}, acme, {SCOPE}, {action}, allow\n" for action in ALL]
    + [f"p, {HELPER}, acme, global, promote, allow\n"]
    + [f"p, {HELPER}, acme, label:{DENIED}, read, deny\n"]
)
HOMES = {"absent": None, "labelled": (DENIED,), "plain": ()}
TRIGGER = "harbour"
ACCEPTED, WAITING, AWAY = (
    str(memory_uuid(TENANT, f"user:{NAMES.user}", "write", name)) for name in ("a", "w", "p")
)
RUN_EVENT = "00000000-0000-7000-8000-00000000000e"
ANY: TypeAdapter[Any] = TypeAdapter(Any)
# Verbs by which such a record could be seen, changed, counted or rated.
SHOWING = {
    "Search", "SearchMany", "Get", "History", "Explain", "Update", "Forget", "Promote", "Write",
    "ReadRun", "ReadForReplay", "ListPending", "DecidePending", "DrawSample", "JudgeSample",
    "ReadTiers", "Archive", "Restore", "CloseProject", "ExportKnowledge",
}  # fmt: skip


# What the table does not ask: the very words, and several searches that name no run.
MORE: dict[str, c.Command] = {
    "Write": build(
        c.Write,
        {"command_id": "again", "content": f"The {TRIGGER} depot opens with a word",
         "scope": SCOPE, "project": TRIGGER},
    ),
    "SearchMany": build(
        c.SearchMany, {"searches": ({"query": TRIGGER}, {"query": "depot", "scopes": (SCOPE,)})}
    ),
}  # fmt: skip


async def _planted(home: Staged, labels: Sequence[str] | None) -> Facts:
    alice = await home.ticket(user=NAMES.user)
    keeper = await home.ticket(agent=NAMES.agent, user=NAMES.user)
    run = await home.ask(
        keeper, build(c.StartRun, {"command_id": "r", "goal": f"Fetch the {TRIGGER} crate"})
    )
    run_id = run.run_id  # type: ignore[attr-defined]
    if labels is not None:
        await _written(home, alice, labels)
    event = {
        "event_id": RUN_EVENT, "run_id": run_id, "agent": NAMES.agent, "incarnation": "i",
        "seq": 0, "timestamp": home.clock.now(), "kind": "decision", "summary": "Take the stairs",
        "used": ({"id": ACCEPTED, "revision": 1},),
    }  # fmt: skip
    await home.ask(keeper, build(c.RecordEvents, {"run_id": run_id, "events": (event,)}))
    await home.ask(keeper, build(c.AssertOutcome, {"run_id": run_id, "value": 1.0}))
    await home.ask(keeper, build(c.CloseRun, {"run_id": run_id}))
    await home.jobs.finish()
    return Facts(
        TENANT, NAMES, ACCEPTED, WAITING, run_id, RUN_EVENT, "0" * 32, "s", TRIGGER
    )  # fmt: skip


async def _written(home: Staged, alice: str, labels: Sequence[str]) -> None:
    """One that a person has accepted, one that waits, and one that was put away."""
    said = {
        "scope": SCOPE, "labels": labels, "project": TRIGGER, "topic": TRIGGER, "tags": (TRIGGER,),
    }  # fmt: skip
    for name, confidence in (("a", 0.4), ("w", 0.4), ("p", 0.9)):
        text = f"The {TRIGGER} depot opens with a word" if name == "a" else f"{TRIGGER} {name}"
        more = {"command_id": name, "content": text, "confidence": confidence}
        if name != "a":
            more["topic"] = f"of {name}"
        await home.ask(alice, build(c.Write, said | more))
    decided = {"command_id": "d", "memory_id": ACCEPTED, "decision": "accept"}
    await home.ask(alice, build(c.DecidePending, decided))
    await home.ask(alice, build(c.Archive, {"command_id": "z", "memory_id": AWAY}))


async def _answers(home: Staged, commands: Sequence[c.Command]) -> list[str]:
    token = await home.ticket(agent=NAMES.other_agent, session="h")
    ticket = (await home.world.tickets.verify(token, home.clock.now())).ticket_id
    told: list[str] = []
    for command in commands:
        try:
            value = await home.ask(token, command)
        except HindsightError as error:
            told.append(f"{type(error).__name__} {error.message} {error.details}")
        else:
            told.append(f"{type(value).__name__} {ANY.dump_json(value).decode()}")
        await home.jobs.finish()
    return [one.replace(ticket, "<ticket>") for one in told]


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    folder = in_memory()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def planted(shared: Path) -> Facts:
    async def plant() -> list[Facts]:
        facts: list[Facts] = []
        for name, labels in HOMES.items():
            async with world(shared / name, policy=POLICY) as home:
                facts.append(await _planted(home, labels))
        return facts

    with without_threads():
        facts = asyncio.run(plant())
    assert facts[0] == facts[1] == facts[2]
    return facts[0]


@pytest.mark.covers("G1.labels")
@pytest.mark.parametrize("verb", sorted(ATTEMPTS))
async def test_a_denied_label_hides_a_record_on_the_way_of(
    verb: str, planted: Facts, shared: Path, tmp_path: Path
) -> None:
    commands = [
        command
        for facts in (planted, _about_what_is_away(planted))
        for command in ATTEMPTS[verb](facts, NAMES.other_agent)
    ]
    commands += [MORE[verb]] if verb in MORE else []
    told: dict[str, list[str]] = {}
    with without_threads():
        for name in HOMES:
            shutil.copytree(shared / name, tmp_path / name)
            async with world(tmp_path / name, policy=None) as home:
                told[name] = await _answers(home, commands)
    assert told["labelled"] == told["absent"]
    assert (told["plain"] != told["absent"]) == (verb in SHOWING), "what could show it shows it"


def _about_what_is_away(facts: Facts) -> Facts:
    fields = {name: getattr(facts, name) for name in Facts.__dataclass_fields__}
    return Facts(**fields | {"own_memory_id": AWAY})


def test_every_verb_is_tried() -> None:
    assert untried(door.VERBS) == []
    assert set(ATTEMPTS) >= SHOWING
