"""What a revoke promises over several processes: at once, everywhere, whatever becomes of them."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import ray

from hindsight_ray import compose
from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.adapters.home import LEDGER_FILE
from hindsight_ray.domain import commands as c
from hindsight_ray.entry.leakcheck import Report, check
from hindsight_ray.errors import HindsightError, InvalidInput, InvalidTicket
from tests.cluster.conftest import Team
from tests.cluster.histories import History, Read, Readers, Revoked, revoke, share
from tests.freezing import freeze

ROUNDS = 3


def _owner(team: Team, name: str) -> tuple[Any, str]:
    memory = team.memory(name)
    memory.write(
        "The lighthouse key hangs behind the clock", scope=f"agent:{name}",
        command_id=team.command(),
    )  # fmt: skip
    return memory, f"agent:{name}"


@contextmanager
def _stopped(team: Team, actor: str) -> Iterator[None]:
    """An actor's process, frozen in the middle of whatever it does but a commit."""
    pid = dict(team.deployed().pids)[actor]
    assert pid > 0
    freeze(pid, team.home / LEDGER_FILE)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.covers("G2.history")
def test_no_read_begun_after_a_revoke_returned_shows_what_was_revoked(team: Team) -> None:
    history = History()
    owner, scope = _owner(team, "keeper1")
    brokers = team.deployed().crew.brokers
    with Readers(team, history, "reader1", scope, brokers) as readers:
        for _ in range(ROUNDS):
            share(team, history, owner, scope, "agent:reader1")
            readers.wait_for(2)
            revoke(team, history, owner, scope, "agent:reader1")
            readers.wait_for(2)
    assert readers.failures == []
    assert any(read.hits for read in history.reads)
    assert len(history.revokes) == ROUNDS
    assert history.stale() == []


@pytest.mark.covers("G2.history", "G2.frozen")
def test_a_frozen_broker_holds_up_no_revoke_and_shows_nothing_once_it_goes_on(team: Team) -> None:
    history = History()
    owner, scope = _owner(team, "keeper2")
    brokers = team.deployed().crew.brokers
    share(team, history, owner, scope, "agent:reader2")
    with Readers(team, history, "reader2", scope, brokers) as readers:
        readers.wait_for(2)
        with _stopped(team, "broker-0"):  # its reader waits in the middle of a call
            revoke(team, history, owner, scope, "agent:reader2")
            readers.wait_for(2, but=0)
        readers.wait_for(3)
    assert readers.failures == []
    assert any(read.hits for read in history.reads)
    assert history.stale() == []
    after = [read for read in history.reads if read.began >= history.revokes[0].ended]
    assert {read.broker for read in after} == set(range(brokers))


@pytest.mark.covers("G2.history", "G2.killed")
def test_a_revoke_survives_the_authority_that_is_killed_in_the_middle_of_it(team: Team) -> None:
    history = History()
    owner, scope = _owner(team, "keeper3")
    brokers = team.deployed().crew.brokers
    share(team, history, owner, scope, "agent:reader3")
    with Readers(team, history, "reader3", scope, brokers) as readers:
        readers.wait_for(1)
        revoking = threading.Thread(
            target=revoke, args=(team, history, owner, scope, "agent:reader3")
        )
        killed = dict(team.deployed().pids)["authority-0"]
        os.kill(killed, signal.SIGSTOP)
        revoking.start()  # reaches an authority that cannot go on
        readers.wait_for(1)
        os.kill(killed, signal.SIGKILL)
        revoking.join()
        readers.wait_for(2)
    assert readers.failures == []
    assert len(history.revokes) == 1
    assert history.stale() == []
    assert team.restarted("authority-0", killed) > 0


@pytest.mark.covers("G5.handles")
def test_a_handle_without_a_ticket_gives_nothing(team: Team) -> None:
    owner, scope = _owner(team, "keeper4")
    found = owner.search("lighthouse", scopes=[scope])
    asked: tuple[c.Command, ...] = (
        c.Search(query="lighthouse"),
        c.Get(memory_id=found.ids[0]),
        c.ReadAudit(),
        c.WhoAmI(),
        c.IssueTicket.model_validate({"request": {"tenant": "acme", "agent": "operator"}}),
    )
    names = [name for name in team.deployed().crew.names() if not name.startswith("models")]
    for name in names:
        handle: Any = ray.get_actor(name, namespace=NAMESPACE)
        for command in asked:
            for token in ("", "nothing", "e30.e30.e30"):
                with pytest.raises(InvalidTicket):
                    _told(handle.call.remote(token, command))
        if name.startswith("recorder"):
            with pytest.raises(HindsightError) as refused:
                _told(handle.record.remote("", b""))
            assert isinstance(refused.value, (InvalidInput, InvalidTicket))
        with pytest.raises(Exception, match=r"."):  # its world does not travel
            ray.get(handle.world.remote())


def _told(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as failure:
        raise failure.cause from None


@pytest.mark.covers("G1.leakcheck")
def test_the_leak_check_finds_nothing_in_a_live_deployment(team: Team) -> None:
    async def main() -> Report:
        async with compose.connect(home=team.home) as hindsight:
            return await check(hindsight, {"Get", "Search", "ReadRun"})

    report = asyncio.run(main())
    assert report.findings == []
    assert len(report.strangers) == 14


def test_the_history_is_looked_through_with_care() -> None:
    """The checker finds a stale read where there is one."""
    history = History(revokes=[Revoked(1.0, 2.0, 5)])
    history.reads += [Read(0, 1.5, 2.5, 4, 1), Read(0, 2.1, 2.2, 5, 0)]
    assert history.stale() == []
    for read in (Read(0, 2.1, 2.2, 4, 0), Read(0, 2.1, 2.2, 5, 1)):
        assert History(reads=[read], revokes=history.revokes).stale() == [read]
    granted = History(reads=[Read(0, 3.0, 3.5, 6, 1)], revokes=history.revokes, granted=[(2.5, 6)])
    assert granted.stale() == []
