"""Whoever comes without a good ticket is written down: where it can be trusted, and with an end."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hindsight_ray import compose
from hindsight_ray.adapters.ledger.sql.connection import Work
from hindsight_ray.adapters.policy.tickets import KEY_FILE, create_operator_key, load_signer
from hindsight_ray.compose.embedded import ledger_of, settings_of
from hindsight_ray.core.paced import Paced
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import TicketRequest
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.errors import InvalidInput, InvalidTicket, StorageFailed
from hindsight_ray.service.strangers import DEPLOYMENT
from tests.worlds import TENANT, Staged, world

GET = build(c.Get, {"memory_id": "6c5a1f0e-7d1b-5b7e-9f53-111111111111"})
AT_ONCE, EVERY_S = 20, 30


async def _audit(home: Staged, tenant: str) -> Sequence[AuditEntry]:
    """Oldest first, as `agent:operator` of the tenant is told."""
    told = await home.ask(await home.operator(tenant), build(c.ReadAudit, {"limit": 1_000}))
    assert isinstance(told, tuple)
    return tuple(reversed(told))


async def _refused(home: Staged, token: str) -> None:
    with pytest.raises(InvalidTicket):
        await home.ask(token, GET)


@pytest.mark.covers("audit.strangers")
async def test_a_ticket_that_is_over_is_in_its_tenants_audit_under_its_name(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        brief = await home.ticket(agent="planner", user="alice", lifetime_s=60)
        ended = await home.ticket(agent="helper")
        about = await home.world.tickets.verify(ended, home.clock.now())
        await home.ask(await home.operator(), build(c.RevokeTicket, {"ticket_id": about.ticket_id}))
        home.clock.advance(seconds=61)
        for token in (brief, ended):
            await _refused(home, token)
        expired, revoked = (await _audit(home, TENANT))[-2:]
        assert (expired.principal, expired.verb, expired.effect) == ("agent:planner", "Get", "deny")
        assert (revoked.principal, revoked.object) == ("agent:helper", f"ticket:{about.ticket_id}")


@pytest.mark.covers("audit.strangers")
async def test_what_nobody_vouches_for_is_in_the_audit_of_the_deployment_alone(
    tmp_path: Path,
) -> None:
    async with world(tmp_path / "home") as home:
        create_operator_key(tmp_path)
        request = TicketRequest.model_validate({"tenant": TENANT, "agent": "operator"})
        forged = (await load_signer(tmp_path).issue(request, home.clock.now())).token
        for token in (forged, "", "let me in", forged[:-3]):
            await _refused(home, token)
        told = await _audit(home, DEPLOYMENT)
        assert [(one.principal, one.verb, one.object) for one in told] == [
            ("", "Get", "no ticket")
        ] * 4
        assert not [one for one in await _audit(home, TENANT) if one.verb == "Get"]
        operator = await home.operator(DEPLOYMENT)
        assert (await home.ask(operator, build(c.VerifyAudit, {}))).sound  # type: ignore[attr-defined]


@pytest.mark.covers("audit.strangers")
async def test_the_deployments_own_audit_can_be_asked_for_once_it_says_something(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        await _refused(home, "let me in")
        request = TicketRequest.model_validate({"tenant": DEPLOYMENT, "agent": "operator"})
        operator = (await home.world.tickets.issue(request, home.clock.now())).token
        told = await home.ask(operator, build(c.ReadAudit, {}))
        assert [one.object for one in told] == ["no ticket"]  # type: ignore[attr-defined]


def _key_files(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir() if "operator" in path.name}


@pytest.mark.covers("audit.keys")
async def test_a_key_whose_entry_is_not_committed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with compose.open(tmp_path, embedding="hashed"):
        before, _ = await compose.rotate_key(tmp_path)
    files = _key_files(tmp_path)

    async def refused(_: object) -> None:
        raise StorageFailed("`ledger` cannot be written: disk full")

    monkeypatch.setattr(Work, "commit", refused)
    for change in (compose.rotate_key(tmp_path), compose.retire_key(tmp_path, before)):
        with pytest.raises(StorageFailed):
            await change
    monkeypatch.undo()
    assert _key_files(tmp_path) == files


@pytest.mark.covers("audit.strangers")
async def test_a_flood_of_forged_tickets_writes_a_few_entries_and_says_how_many_it_left_out(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        for _ in range(1_000):
            await _refused(home, "let me in")
        assert len(await _audit(home, DEPLOYMENT)) == AT_ONCE
        home.clock.advance(seconds=EVERY_S)
        await _refused(home, "let me in")
        told = await _audit(home, DEPLOYMENT)
        assert len(told) == AT_ONCE + 2
        assert told[-2].object.startswith(f"{1_000 - AT_ONCE} calls")


@pytest.mark.covers("audit.strangers")
def test_a_day_of_flood_is_so_many_entries_and_none_is_lost_count_of() -> None:
    pace, written, told = Paced(AT_ONCE, EVERY_S), 0, 0
    for second in range(24 * 3_600):
        for _ in range(3):
            left_out = pace.taken(float(second))
            if left_out is not None:
                written, told = written + 1, told + left_out
    assert written <= AT_ONCE + 24 * 3_600 / EVERY_S
    assert written + told + pace.left_out == 3 * 24 * 3_600


@pytest.mark.covers("audit.keys")
async def test_rotating_and_retiring_a_key_is_on_record(tmp_path: Path) -> None:
    async with compose.open(tmp_path, embedding="hashed"):
        before, kid = await compose.rotate_key(tmp_path)  # while the home is in use
        await compose.retire_key(tmp_path, before)
    with pytest.raises(InvalidInput):
        await compose.retire_key(tmp_path, "0" * 16)
    ledger = await ledger_of(tmp_path, settings_of(tmp_path, {}))
    async with ledger.reading() as unit:
        told = await unit.audit.newest(DEPLOYMENT, limit=10)
    await ledger.close()
    assert [(one.verb, one.object) for one in told] == [
        ("RetireKey", f"key:{before}"), ("RotateKey", f"key:{before}"),
    ]  # fmt: skip
    assert kid != before


@pytest.mark.covers("audit.keys")
async def test_a_key_that_cannot_be_changed_on_record_stays(tmp_path: Path) -> None:
    async with compose.open(tmp_path, embedding="hashed"):
        pass
    ledger = await ledger_of(tmp_path, settings_of(tmp_path, {}))
    async with ledger.writing() as unit:
        await unit.work.do(lambda on: on.exec_driver_sql("ALTER TABLE audit RENAME TO gone"))  # type: ignore[attr-defined]
    await ledger.close()
    key = (tmp_path / KEY_FILE).read_bytes()
    with pytest.raises(StorageFailed):
        await compose.rotate_key(tmp_path)
    assert (tmp_path / KEY_FILE).read_bytes() == key


@pytest.mark.covers("audit.strangers")
async def test_a_flood_of_forged_tickets_hides_no_use_of_a_revoked_one(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        ended = await home.ticket(agent="helper")
        about = await home.world.tickets.verify(ended, home.clock.now())
        await home.ask(await home.operator(), build(c.RevokeTicket, {"ticket_id": about.ticket_id}))
        for _ in range(3 * AT_ONCE):
            await _refused(home, "forged")
        await _refused(home, ended)
        assert (await _audit(home, TENANT))[-1].object == f"ticket:{about.ticket_id}"
