"""Readers and revokers in processes of their own: no read is decided on what had been revoked."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.errors import AccessDenied, NotFound
from hindsight_ray.ports import Purpose, Vector
from tests.simulation.linearizable import Call, faults
from tests.worlds import world

CHANGES = 30
READERS = 2


async def _recorded(folder: Path, token: str, kind: str) -> list[Call]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.simulation.asking", str(folder), token, kind, str(CHANGES),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    said, complaint = await process.communicate()
    (folder / "done").touch()  # whatever became of it, nobody reads on
    assert process.returncode == 0, complaint.decode()
    return [Call(**json.loads(line)) for line in said.splitlines()]


@pytest.mark.covers("G2.history", "G2.processes")
async def test_no_read_in_any_process_is_decided_on_what_had_been_revoked(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        alice, helper = await home.ticket(user="alice"), await home.ticket(agent="helper")
        wrote = {"command_id": "w", "content": "harbour lantern meadow"}
        await home.ask(alice, build(c.Write, wrote))
    kinds = [(alice, "changes"), *[(helper, "reads")] * READERS]
    histories = await asyncio.gather(*[_recorded(tmp_path, *one) for one in kinds])
    calls = [call for history in histories for call in history]
    assert faults(calls) == []
    assert sum(call.changed is not None for call in calls) == CHANGES
    assert len([call for call in calls if call.shown is not None]) >= READERS


class _Meanwhile(HashedEmbedder):
    """An embedder during which something else happens, once."""

    def __init__(self) -> None:
        self.then: asyncio.Future[None] | None = None
        self.reached = asyncio.Event()

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        if self.then is not None:
            self.reached.set()
            await self.then
        return await super().embed(texts, purpose)


@pytest.mark.covers("G2.decided_again")
@pytest.mark.parametrize("kind", ["Write", "Update", "Promote"])
async def test_what_was_decided_before_a_revoke_is_decided_again_when_it_commits(
    tmp_path: Path, kind: str
) -> None:
    embedder = _Meanwhile()
    async with world(tmp_path, embedder=embedder) as home:
        operator = await home.operator()
        alice, helper = await home.ticket(user="alice"), await home.ticket(agent="helper")
        wrote = {"command_id": "w", "content": "harbour lantern meadow"}
        receipt = await home.ask(alice, build(c.Write, wrote))
        assert isinstance(receipt, Receipt)
        memory_id = receipt.ids[0]
        given = {"scope": "user:alice", "to": "agent:helper", "actions": ("read", "write")}
        await home.ask(alice, build(c.Share, {"command_id": "s", **given}))
        promotes = {"scope": "agent:helper", "to": "agent:helper", "actions": ("promote",)}
        await home.ask(operator, build(c.Share, {"command_id": "p", **promotes}))
        command = {
            "Write": build(
                c.Write, {"command_id": "x", "content": "copper", "scope": "user:alice"}
            ),
            "Update": build(
                c.Update, {"command_id": "x", "memory_id": memory_id, "content": "tin"}
            ),
            "Promote": build(
                c.Promote, {"command_id": "x", "memory_id": memory_id, "scope": "agent:helper"}
            ),
        }[kind]
        embedder.then = asyncio.get_running_loop().create_future()
        writing = asyncio.create_task(home.ask(helper, command))
        await embedder.reached.wait()
        taken = build(c.Revoke, {"command_id": "r", "scope": "user:alice", "to": "agent:helper"})
        more = build(c.Revoke, {"command_id": "q", "scope": "agent:helper", "to": "agent:helper"})
        async with world(tmp_path, policy=None, clock=home.clock) as other:
            await other.ask(alice, taken)
            await other.ask(operator, more)
        embedder.then.set_result(None)
        with pytest.raises((AccessDenied, NotFound)):
            await writing
        seen = await home.ask(alice, build(c.Get, {"memory_id": memory_id}))
        assert isinstance(seen, Memory)
        assert seen.revision == 1


SHARED = Call(begin=10, end=20, revision=2, changed="shared")
REVOKED = Call(begin=40, end=50, revision=3, changed="revoked")
SHOWN = Call(begin=25, end=30, revision=2, shown=True)
WRONG = {
    "rows after the revoke returned": replace(SHOWN, begin=60, end=70),
    "rows at the revoke's own revision": replace(SHOWN, begin=45, end=55, revision=3),
    "a revision that was not there yet": replace(SHOWN, revision=3, shown=False),
    "nothing where it was shared": replace(SHOWN, shown=False),
}


def test_the_checker_lets_a_history_pass_that_a_single_policy_gives() -> None:
    during = Call(begin=35, end=60, revision=2, shown=True)
    after = Call(begin=61, end=62, revision=3, shown=False)
    assert faults([SHARED, SHOWN, REVOKED, during, after]) == []


@pytest.mark.parametrize("name", WRONG)
def test_the_checker_finds(name: str) -> None:
    assert faults([SHARED, REVOKED, WRONG[name]])


def test_the_checker_finds_a_revision_older_than_one_that_was_returned() -> None:
    newer = Call(begin=41, end=42, revision=3, shown=False)
    older = Call(begin=43, end=44, revision=2, shown=True)
    assert faults([SHARED, REVOKED, newer, older])
