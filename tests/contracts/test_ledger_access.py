"""What every ledger keeps of access: changes of the policy, and the audit's chains."""

import asyncio
from dataclasses import replace

import pytest

from hindsight_ray.adapters.ledger.sql.audit import Chains
from hindsight_ray.adapters.ledger.sql.policy import JOURNAL_REVISIONS_MAX
from hindsight_ray.core.audit_chain import BEGINNING, entry_hash
from hindsight_ray.domain.access import LineChange, Membership, Rule
from hindsight_ray.domain.audit import Seal
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.errors import RevisionConflict
from hindsight_ray.ports import Ledger
from tests.ledgers import Ledgers
from tests.worlds import START, TENANT


def _rule(number: int) -> Rule:
    return Rule(
        subject=f"agent:a{number}", tenant=TENANT, object="global", action="read", effect="allow"
    )


_ROLE = Membership(member="agent:a1", role="role:curator", tenant=TENANT)


async def _replace(ledger: Ledger, *numbers: int, roles: tuple[Membership, ...] = ()) -> int:
    async with ledger.writing() as unit:
        return await unit.policy.replace([_rule(n) for n in numbers], roles, START)


async def test_what_came_and_went_is_told_revision_by_revision(ledger: Ledger) -> None:
    await _replace(ledger, 1, 2, 3)
    async with ledger.reading() as unit:
        placed = await unit.policy.placed()
    await _replace(ledger, 1, 5, 3, roles=(_ROLE,))
    async with ledger.writing() as unit:
        await unit.policy.change([placed.rules_at[0]], [_rule(7)], START)
        await unit.policy.revoke_ticket(TENANT, "t", START)
        change = await unit.policy.changes(1)
        policy = await unit.policy.current()
    assert change is not None
    assert change.revision == policy.revision == 4
    assert [[(one.line, one.added) for one in step] for step in change.steps] == [
        [(_rule(2), False), (_rule(5), True), (_ROLE, True)],
        [(_rule(1), False), (_rule(7), True)],
        [],
    ]
    assert policy.rules == (_rule(5), _rule(3), _rule(7))
    gone = change.steps[1][0]
    assert gone == LineChange(position=placed.rules_at[0], line=_rule(1), added=False)
    async with ledger.reading() as unit:
        later = await unit.policy.changes(4)
        assert later is not None
        assert later.steps == ()


async def test_a_policy_put_in_another_order_is_read_as_a_whole(ledger: Ledger) -> None:
    await _replace(ledger, 1, 2, 3)
    await _replace(ledger, 3, 2, 1)
    async with ledger.reading() as unit:
        assert await unit.policy.changes(1) is None
        assert await unit.policy.changes(9) is None
        assert (await unit.policy.current()).rules == (_rule(3), _rule(2), _rule(1))


async def test_a_rule_that_is_not_there_any_more_is_not_taken_out_again(ledger: Ledger) -> None:
    await _replace(ledger, 1)
    async with ledger.reading() as unit:
        place = (await unit.policy.placed()).rules_at[0]
    async with ledger.writing() as unit:
        await unit.policy.change([place], (), START)
    with pytest.raises(RevisionConflict):
        async with ledger.writing() as unit:
            await unit.policy.change([place], (), START)
    async with ledger.reading() as unit:
        assert (await unit.policy.standing(TENANT, "t")).revision == 2


async def test_the_journal_keeps_a_bounded_number_of_revisions(ledger: Ledger) -> None:
    async with ledger.writing() as unit:
        for number in range(JOURNAL_REVISIONS_MAX + 2):
            await unit.policy.revoke_ticket(TENANT, f"t{number}", START)
        assert await unit.policy.changes(1) is None
        assert await unit.policy.changes(2) is not None


def _entry(name: str, tenant: str = TENANT) -> AuditEntry:
    return AuditEntry(
        tenant=tenant, at=START, principal="agent:a", verb="Write", object=name, effect="allow",
        rule="p, …", revision=3,
    )  # fmt: skip


@pytest.mark.covers("audit.chain")
async def test_entries_stand_in_their_writers_chain(ledgers: Ledgers) -> None:
    async with ledgers.opened(chains=Chains("one", None)) as one:
        async with ledgers.opened(chains=Chains("two", None)) as two:
            await asyncio.gather(*(_append(which, 5) for which in (one, two, one, two)))
            async with one.writing() as unit:
                await unit.audit.append(_entry("other", "globex"))
        async with one.reading() as unit:
            assert list(await unit.audit.writers(TENANT)) == ["one", "two"]
            assert list(await unit.audit.writers("globex")) == ["one"]
            for writer in ("one", "two"):
                chain = await unit.audit.chain(TENANT, writer, after=(0, 0), limit=99)
                before = BEGINNING
                for place, row in enumerate(chain, start=1):
                    before = entry_hash(before, row.entry, writer, place)
                    assert (row.place, row.hash, row.writer) == (place, before, writer)
                assert len(chain) == 10
                numbers = [row.number for row in chain]
                assert numbers == sorted(set(numbers))
                rest = await unit.audit.chain(
                    TENANT, writer, after=(chain[3].place, chain[3].number), limit=2
                )
                assert [row.place for row in rest] == [5, 6]
            assert await unit.audit.seal(TENANT) is None


async def _append(ledger: Ledger, count: int) -> None:
    for number in range(count):
        async with ledger.writing() as unit:
            await unit.audit.append(_entry(f"e{number}"))


class _Signs:
    """Signs with its name, to be seen."""

    def sealed(self, seal: Seal) -> Seal:
        return seal.model_copy(update={"kid": "k", "signature": str(len(seal.heads))})

    def good(self, seal: Seal) -> bool:
        return seal.kid == "k"


@pytest.mark.covers("audit.seal")
async def test_the_heads_of_all_writers_are_sealed_together(ledgers: Ledgers) -> None:
    async with (
        ledgers.opened(chains=Chains("one", _Signs())) as one,
        ledgers.opened(chains=Chains("two", _Signs())) as two,
    ):
        for ledger in (one, two, two):
            await _append(ledger, 1)
        async with one.reading() as unit:
            seal = await unit.audit.seal(TENANT)
            assert seal is not None
            assert [(head.writer, head.place) for head in seal.heads] == [("one", 1), ("two", 2)]
            assert seal.signature == "2"
            assert await unit.audit.signed(seal)
            assert not await unit.audit.signed(seal.model_copy(update={"kid": "x"}))


async def test_entries_of_a_unit_that_is_left_by_an_exception_are_not_there(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError):
        async with ledger.writing() as unit:
            await unit.audit.append(_entry("gone"))
            _ = 1 / 0
    async with ledger.writing() as unit:
        await unit.audit.append(_entry("kept"))
        assert [one.object for one in await unit.audit.newest(TENANT, limit=5)] == ["kept"]
    async with ledger.reading() as unit:
        found = await unit.audit.newest(TENANT, limit=5)
    assert found == [replace(_entry("kept"))]
