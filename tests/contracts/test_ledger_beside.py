"""What every ledger keeps beside runs and memories: receipts, policy, audit, statistics, keys."""

import contextlib
from datetime import timedelta

import numpy as np
import pytest

from hindsight_ray.domain.access import Membership, Rule
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import MemoryStatistics
from hindsight_ray.domain.rows import RecallEntry
from hindsight_ray.errors import (
    InvalidVector,
    SpaceMismatch,
)
from hindsight_ray.ports import Ledger
from tests.records import Stop, audit_of, memory_of, name_of, put, rows, vector_of
from tests.worlds import START, TENANT

# Commands, policy, audit, recalls


async def test_receipts_are_kept_by_principal(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await unit.commands.put(TENANT, "agent:a", "c1", "digest", "{}")
        assert await unit.commands.get(TENANT, "agent:a", "c1") == ("digest", "{}")
        assert await unit.commands.get(TENANT, "agent:b", "c1") is None
        assert await unit.commands.get("other", "agent:a", "c1") is None


def _rule(number: int) -> Rule:
    return Rule(
        subject=f"agent:a{number}", tenant=TENANT, object="global", action="read", effect="allow",
        until=START if number % 2 else None,
    )  # fmt: skip


async def test_each_policy_change_is_the_next_revision_in_the_order_given(ledger: Ledger) -> None:
    role = Membership(member="agent:a1", role="role:curator", tenant=TENANT)
    async with ledger.writing() as unit:
        assert (await unit.policy.current()).revision == 0
        assert await unit.policy.replace([_rule(1), _rule(2), _rule(3)], [role], START) == 1
        assert await unit.policy.replace([_rule(1), _rule(3), _rule(4)], [], START) == 2
        policy = await unit.policy.current()
        assert policy.revision == 2
        assert policy.rules == (_rule(1), _rule(3), _rule(4))
        assert policy.memberships == ()


async def test_a_revoked_ticket_stands_revoked_from_the_revision_that_was_returned(
    ledger: Ledger,
) -> None:
    async with ledger.writing() as unit:
        await unit.policy.add_tenant(TENANT, START)
        await unit.policy.add_tenant(TENANT, START)
        before = await unit.policy.standing(TENANT, "t1")
        assert (before.revision, before.tenant_known, before.ticket_revoked) == (0, True, False)
        revision = await unit.policy.revoke_ticket(TENANT, "t1", START)
        assert await unit.policy.revoke_ticket(TENANT, "t1", START) == revision
    async with ledger.reading() as unit:
        after = await unit.policy.standing(TENANT, "t1")
        assert (after.revision, after.ticket_revoked) == (revision, True)
        assert not (await unit.policy.standing("other", "t2")).tenant_known
        assert await unit.policy.tenants() == [TENANT]


async def test_a_policy_is_unsettled_until_its_unit_has_committed(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        assert (await unit.policy.standing(TENANT, "t")).settled
        await unit.policy.replace([_rule(1)], [], START)
        assert not (await unit.policy.standing(TENANT, "t")).settled
    async with ledger.reading() as unit:
        assert (await unit.policy.standing(TENANT, "t")).settled


async def test_the_audit_and_the_recalls_are_read_newest_first(ledger: Ledger) -> None:
    recall = RecallEntry(
        tenant=TENANT, at=START, principal="agent:a", user="alice", session=None, run_id=None,
        query="q", top_scores=(0.5, 0.25), offered=(MemoryRef(id=name_of("m"), revision=1),),
        revision=2,
    )  # fmt: skip
    async with ledger.writing() as unit:
        for verb in ("one", "two", "three"):
            await unit.audit.append(audit_of(verb))
        await unit.audit.append(audit_of("foreign", tenant="other"))
        await unit.recalls.append([recall])
        assert await unit.audit.newest(TENANT, limit=2) == [audit_of("three"), audit_of("two")]
        assert await unit.recalls.newest(TENANT, limit=2) == [recall]
        assert await unit.recalls.newest("other", limit=2) == []


# Statistics, keys, spaces


async def test_statistics_of_what_was_never_touched_are_zeros(ledger: Ledger) -> None:
    a, b = name_of("a"), name_of("b")
    later = START + timedelta(days=1)
    async with ledger.writing() as unit:
        await unit.stats.touch([(TENANT, a, START)])
        await unit.stats.touch([(TENANT, a, later)])
        await unit.stats.verify(TENANT, [a], START)
        await unit.stats.set_utility(TENANT, a, -0.5)
        found = await unit.stats.of(TENANT, [a, b])
        assert found[a] == MemoryStatistics(
            accesses=2, last_accessed=later, last_verified=START, utility=-0.5
        )
        assert found[b] == MemoryStatistics()


async def test_a_catalogue_of_keys_grows_and_says_so(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        first = await unit.keys.ensure(TENANT, ("user:b", "user:a"))
        version = await unit.keys.version(TENANT)
        assert await unit.keys.ensure(TENANT, ("user:a", "user:b")) == first
        assert await unit.keys.version(TENANT) == version
        second = await unit.keys.ensure(TENANT, ("global",))
        assert await unit.keys.version(TENANT) > version
        catalogue = await unit.keys.all(TENANT)
        assert catalogue == {first: ("user:a", "user:b"), second: ("global",)}
        assert await unit.keys.all("other") == {}
    async with ledger.reading() as unit:
        assert await unit.keys.all(TENANT) == catalogue


async def test_a_key_that_was_rolled_back_is_in_no_catalogue(ledger: Ledger) -> None:
    with contextlib.suppress(Stop):
        async with ledger.writing() as unit:
            await unit.keys.ensure(TENANT, ("user:a",))
            await unit.keys.all(TENANT)
            raise Stop
    async with ledger.writing() as unit:
        key = await unit.keys.ensure(TENANT, ("user:b",))
    async with ledger.reading() as unit:
        assert await unit.keys.all(TENANT) == {key: ("user:b",)}


async def test_a_home_holds_one_embedding_space(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        await put(unit, memory_of("a"))
        assert await unit.spaces.pinned() == ("four", 4)
        await unit.spaces.pin("four", 4)
        with pytest.raises(SpaceMismatch):
            await unit.spaces.pin("four", 5)
        with pytest.raises(SpaceMismatch):
            await put(unit, memory_of("b", embedding_model="another"))
        with pytest.raises(SpaceMismatch):
            await put(unit, memory_of("b"), np.ones(5, dtype=np.float32))
        assert await unit.memories.count(rows()) == 1


@pytest.mark.parametrize("vector", [vector_of(), vector_of(float("nan")), vector_of(float("inf"))])
async def test_a_vector_without_direction_is_refused(ledger: Ledger, vector: np.ndarray) -> None:
    async with ledger.writing() as unit:
        with pytest.raises(InvalidVector):
            await put(unit, memory_of("a"), vector)
        assert await unit.memories.current(TENANT, [name_of("a")]) == {}
