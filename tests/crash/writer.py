"""A process that writes to a ledger until it or the server is killed, and says what was kept.

Run as `python -m tests.crash.writer FOLDER NAME`; with `LEDGER_DSN` in the environment it writes
to that server instead. Each line on standard output is one
acknowledgement, written after the unit of work has ended: `event <seq>`, `memory <number>`,
`outcome <number>` or `policy <revision>`.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.postgres import Server
from hindsight_ray.adapters.wrapping.grouped import GroupedLedger
from hindsight_ray.domain.access import Rule
from hindsight_ray.domain.run import Outcome
from hindsight_ray.errors import Unavailable
from hindsight_ray.ports import Ledger
from tests.records import event_of, memory_of, name_of, put, run_of
from tests.worlds import START, TENANT


def rule_of(name: str, number: int) -> Rule:
    return Rule(
        subject=f"agent:{name}-{number}", tenant=TENANT, object="global", action="read",
        effect="allow",
    )  # fmt: skip


def outcome_of(name: str, number: int) -> Outcome:
    return Outcome(
        outcome_id=str(number), run_id=name_of(name), value=1.0, success=True, evaluator="e",
        by=f"agent:{name}-{number}", participant=False, evaluates=True, at=START,
    )  # fmt: skip


async def _write(folder: Path, name: str) -> None:
    address = os.environ.get("LEDGER_DSN")
    where = folder / "hindsight.sqlite3" if address is None else Server(address, "`LEDGER_DSN`")
    ledger = GroupedLedger(await SqlLedger.open(where, lock_wait_s=30.0))
    async with ledger.writing() as unit:
        await unit.runs.create(run_of(name))
    async with asyncio.TaskGroup() as group:
        for kind in (_events, _memories, _outcomes, _policy):
            group.create_task(kind(ledger, name))


async def _events(ledger: Ledger, name: str) -> None:
    for first in range(0, 1_000_000, 10):
        batch = [event_of(name, seq, agent=name) for seq in range(first, first + 10)]
        async with ledger.writing() as unit:
            await unit.runs.append(TENANT, name_of(name), batch)
        _say("event", first + 9)


async def _memories(ledger: Ledger, name: str) -> None:
    for number in range(1_000_000):
        async with ledger.writing() as unit:
            await put(unit, memory_of(f"{name} {number}", scope=f"agent:{name}"))
        _say("memory", number)


async def _outcomes(ledger: Ledger, name: str) -> None:
    for number in range(1_000_000):
        async with ledger.writing() as unit:
            await unit.outcomes.put(TENANT, outcome_of(name, number))
        _say("outcome", number)


async def _policy(ledger: Ledger, name: str) -> None:
    for number in range(1_000_000):
        async with ledger.writing() as unit:
            policy = await unit.policy.current()
            rules = [*policy.rules, rule_of(name, number)]
            revision = await unit.policy.replace(rules, policy.memberships, START)
        _say("policy", number, revision)


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with contextlib.suppress(
        Unavailable, BaseExceptionGroup
    ):  # the server was killed: what was said stands
        asyncio.run(_write(Path(sys.argv[1]), sys.argv[2]))
