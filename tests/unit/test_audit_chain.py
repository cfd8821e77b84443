"""The audit holds itself together: whatever is changed, dropped, moved or cut off is named."""

import shutil
import sqlite3
import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.audit import Chains
from hindsight_ray.adapters.policy.audit_key import AuditKey
from hindsight_ray.core.audit_chain import BEGINNING, ChainCheck, entry_hash
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.audit import AuditReport, Chained, Head, Seal
from hindsight_ray.domain.base import build
from hindsight_ray.domain.commands import (
    Command,
    Get,
    LoadPolicy,
    ReadAudit,
    ReadSeal,
    Share,
    VerifyAudit,
    Write,
)
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.errors import AccessDenied, NotFound, StorageFailed
from tests.worlds import START, TENANT, Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path / "home") as staged:
        yield staged


async def _some_history(home: Staged, writes: int = 4) -> str:
    """A few writes, a grant, refusals; the operator's token."""
    alice, operator = await home.ticket(user="alice"), await home.operator()
    for number in range(writes):
        await home.ask(
            alice,
            Write(command_id=f"w{number}", content=f"Locker {number} opens with key {number * 7}"),
        )
    await home.ask(alice, Share(command_id="s", scope="user:alice", to="agent:helper"))  # type: ignore[arg-type]
    for name in (str(uuid.uuid4()), str(uuid.uuid4())):
        with pytest.raises(NotFound):
            await home.ask(alice, Get(memory_id=name))  # type: ignore[arg-type]
    return operator


async def _verified(home: Staged, operator: str, *seals: Seal) -> AuditReport:
    report = await home.ask(operator, VerifyAudit(seals=seals))
    assert isinstance(report, AuditReport)
    return report


def _tamper(home: Staged, *statements: str) -> None:
    with sqlite3.connect(home.path / "hindsight.sqlite3") as raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


@pytest.mark.covers("audit.chain")
async def test_a_whole_audit_is_sound_and_signed_to_its_end(home: Staged) -> None:
    operator = await _some_history(home)
    report = await _verified(home, operator)
    assert report.sound
    assert report.unsigned == 0
    assert report.entries >= 7
    assert report.seal is not None
    assert report.seal.heads[-1].place == report.entries


@pytest.mark.covers("audit.chain")
@pytest.mark.parametrize(
    ("statements", "place", "fault"),
    [
        (("UPDATE audit SET principal = 'user:mallory' WHERE place = 3",), 3, "flipped"),
        (("UPDATE audit SET effect = 'allow' WHERE place = 6",), 6, "flipped"),
        (("UPDATE audit SET hash = replace(hash, 'a', 'b') WHERE place = 2",), 2, "flipped"),
        (("DELETE FROM audit WHERE place = 4",), 4, "dropped"),
        (("DELETE FROM audit WHERE place = 1",), 1, "dropped"),
        (
            (
                "UPDATE audit SET place = -2 WHERE place = 2",
                "UPDATE audit SET place = 2 WHERE place = 3",
                "UPDATE audit SET place = 3 WHERE place = -2",
            ),
            2,
            "reordered",
        ),
        (("DELETE FROM audit WHERE place > 5",), 6, "truncated"),
        (("UPDATE audit SET at = 'never' WHERE place = 3",), 3, "flipped"),
        (("UPDATE audit SET at = at * 1000000 WHERE place = 3",), 3, "flipped"),
        (("UPDATE audit SET principal = x'ff00', digest = 7 WHERE place = 3",), 3, "flipped"),
        (("UPDATE audit SET revision = 'x' WHERE place = 3",), 3, "flipped"),
        (("UPDATE audit SET place = 'x' WHERE place = 3",), 3, "dropped"),
    ],
)
async def test_the_first_entry_that_is_off_is_named(
    home: Staged, statements: tuple[str, ...], place: int, fault: str
) -> None:
    operator = await _some_history(home)
    _tamper(home, *statements)
    report = await _verified(home, operator)
    assert not report.sound
    assert (report.faults[0].writer, report.faults[0].place) == ("home", place)
    if fault != "reordered":
        assert report.faults[0].fault == fault
    assert await home.ask(operator, ReadAudit())  # whatever stands there is shown


async def test_the_entry_that_a_check_names_can_be_looked_up_however_old_it_is(
    home: Staged,
) -> None:
    operator = await _some_history(home)
    places: list[tuple[str, int]] = []
    while page := await home.ask(operator, ReadAudit(limit=3, skip=len(places))):
        assert isinstance(page, tuple)
        places += [(one.writer, one.place) for one in page]
    assert places == [("home", place) for place in range(len(places), 0, -1)]
    assert len(places) == (await _verified(home, operator)).entries


async def test_the_audit_is_asked_for_a_principal_that_is_called_by_an_address(
    home: Staged,
) -> None:
    name = "alice@example.com"
    await home.ask(await home.ticket(user=name), Write(command_id="w", content="Zoe waves"))
    asked = build(ReadAudit, {"principal": f"user:{name}"})
    found = await home.ask(await home.operator(), asked)
    assert isinstance(found, tuple)
    assert {one.principal for one in found} == {f"user:{name}"}


@pytest.mark.covers("audit.seal")
async def test_a_seal_that_was_written_over_is_forged(home: Staged) -> None:
    operator = await _some_history(home)
    for statement in (
        "UPDATE audit_seals SET record = '{}'",
        "UPDATE audit_seals SET record = 'no seal'",
    ):
        _tamper(home, statement)
        report = await _verified(home, operator)
        assert [(one.writer, one.fault) for one in report.faults] == [("", "forged")]
        with pytest.raises(StorageFailed, match="seal"):
            await home.ask(operator, ReadSeal())


@pytest.mark.covers("audit.seal")
async def test_a_seal_kept_elsewhere_notices_an_older_ledger_put_in_its_place(
    home: Staged, tmp_path: Path
) -> None:
    operator = await _some_history(home, 2)
    before = tmp_path / "before.sqlite3"
    with sqlite3.connect(home.path / "hindsight.sqlite3") as raw, sqlite3.connect(before) as copy:
        raw.backup(copy)
    await _some_history(home, 6)
    kept = await home.ask(operator, ReadSeal())
    assert isinstance(kept, Seal)
    assert (await _verified(home, operator, kept)).sound
    other = tmp_path / "other"
    other.mkdir()
    for name in ("operator.key", "operator.pub", "audit.key", "audit.pub"):
        shutil.copy(home.path / name, other / name)
    shutil.copy(before, other / "hindsight.sqlite3")
    async with world(other, policy=None) as older:
        there = await older.operator()
        assert (await _verified(older, there)).sound  # by itself it looks whole
        report = await _verified(older, there, kept)
        assert [one.fault for one in report.faults] == ["truncated"]


@pytest.mark.covers("audit.seal")
async def test_a_chain_that_was_written_anew_is_not_what_was_signed(home: Staged) -> None:
    operator = await _some_history(home)
    kept = await home.ask(operator, ReadSeal())
    assert isinstance(kept, Seal)
    with sqlite3.connect(home.path / "hindsight.sqlite3") as raw:
        raw.execute("UPDATE audit SET object = 'nothing' WHERE place = 2")
        before = BEGINNING
        rows = raw.execute(
            "SELECT number, at, principal, verb, object, effect, rule, revision, digest, place"
            " FROM audit ORDER BY place"
        ).fetchall()
        for number, at, *words, place in rows:
            entry = AuditEntry(TENANT, START.fromtimestamp(at / 1e6, START.tzinfo), *words)
            before = entry_hash(before, entry, "home", place)
            raw.execute("UPDATE audit SET hash = ? WHERE number = ?", (before, number))
        raw.execute("UPDATE audit_heads SET hash = ?", (before,))
        raw.execute("DELETE FROM audit_seals")
    raw.close()
    alone = await _verified(home, operator)
    assert alone.sound
    assert alone.unsigned == alone.entries  # nobody vouches for it
    faults = (await _verified(home, operator, kept)).faults
    assert [one.fault for one in faults] == ["forged"]


@pytest.mark.covers("audit.seal")
async def test_a_seal_of_another_hand_is_forged(home: Staged) -> None:
    operator = await _some_history(home)
    kept = await home.ask(operator, ReadSeal())
    assert isinstance(kept, Seal)
    for wrong in (
        kept.model_copy(update={"tenant": "globex"}),
        kept.model_copy(update={"heads": (*kept.heads, Head(writer="x", place=9, hash="0"))}),
        kept.model_copy(update={"signature": kept.signature[::-1]}),
        kept.model_copy(update={"kid": "0000"}),
    ):
        report = await _verified(home, operator, wrong)
        assert [one.fault for one in report.faults] == ["forged"]


BY_ID: dict[type[Command], dict[str, object]] = {
    c.Get: {}, c.History: {}, c.Explain: {}, c.Update: {"importance": 0.1}, c.Forget: {},
    c.Promote: {"scope": "global"}, c.Archive: {}, c.Restore: {}, c.JudgeSample: {"verdict": "bad"},
    c.DecidePending: {"decision": "accept"},
    c.JoinRun: {}, c.CloseRun: {}, c.ReadRun: {}, c.ReviewRun: {}, c.Attribute: {},
    c.ReadForReplay: {}, c.ReadCredits: {}, c.AssertOutcome: {"value": 1.0}, c.GetWorking: {},
}  # fmt: skip


@pytest.mark.covers("audit.same")
@pytest.mark.parametrize("kind", BY_ID, ids=lambda kind: kind.__name__)
async def test_absent_and_forbidden_leave_the_same_entry_whatever_is_asked(
    home: Staged, kind: type[Command]
) -> None:
    alice, curator = await home.ticket(user="alice"), await home.ticket(agent="curator")
    bob = curator if kind is c.Promote else await home.ticket(user="bob")  # who may do it elsewhere
    wrote = await home.ask(alice, Write(command_id="w", content="Alice hums", labels=("secret",)))
    began = await home.ask(alice, build(c.StartRun, {"command_id": "r", "goal": "Hum"}))
    if kind is c.Promote:
        deny = "p, role:curator, *, label:secret, read, deny\n"
        await home.ask(await home.operator(), LoadPolicy(text=await _policy_text() + deny))
    of_run = "run_id" in kind.model_fields and "memory_id" not in kind.model_fields
    forbidden = began.run_id if of_run else wrote.ids[0]  # type: ignore[attr-defined]
    for number, name in enumerate((forbidden, str(uuid.uuid4()))):
        fields = {"run_id" if of_run else "memory_id": name, **BY_ID[kind]}
        if "command_id" in kind.model_fields:
            fields["command_id"] = f"c{number}"
        with pytest.raises(NotFound):
            await home.ask(bob, build(kind, fields))
    last, first = await home.ask(await home.operator(), ReadAudit(limit=2))  # type: ignore[misc]
    assert first.object == forbidden
    assert replace(last, object="") == replace(first, object="")


@pytest.mark.covers("audit.same")
async def test_absent_and_forbidden_leave_the_same_entry(home: Staged) -> None:
    bob, operator = await home.ticket(user="bob"), await home.operator()
    receipt = await home.ask(
        await home.ticket(user="alice"), Write(command_id="w", content="Alice hums in G major")
    )
    forbidden, absent = receipt.ids[0], str(uuid.uuid4())  # type: ignore[attr-defined]
    for name in (forbidden, absent):
        with pytest.raises(NotFound):
            await home.ask(bob, Get(memory_id=name))  # type: ignore[arg-type]
    last, first = await home.ask(operator, ReadAudit(limit=2))  # type: ignore[misc]
    assert replace(last, object="") == replace(first, object="")
    assert (first.object, last.object) == (forbidden, absent)


@pytest.mark.covers("audit.refused")
async def test_what_cannot_be_written_down_is_not_done(home: Staged) -> None:
    alice, operator = await home.ticket(user="alice"), await home.operator()
    receipt = await home.ask(alice, Write(command_id="w", content="The spare key is in the shed"))
    _tamper(home, "ALTER TABLE audit RENAME TO audit_gone")
    refused: tuple[tuple[str, Command], ...] = (
        (alice, Write(command_id="w2", content="The gate code is four five six")),
        (alice, Share(command_id="s", scope="user:alice", to="agent:helper")),  # type: ignore[arg-type]
        (alice, Get(memory_id=str(uuid.uuid4()))),  # type: ignore[arg-type]
        (operator, LoadPolicy(text=(await _policy_text()))),
    )
    for token, command in refused:
        with pytest.raises(StorageFailed):
            await home.ask(token, command)
    _tamper(home, "ALTER TABLE audit_gone RENAME TO audit")
    assert await home.ask(alice, Get(memory_id=receipt.ids[0]))  # type: ignore[attr-defined]
    async with home.world.ledger.reading() as unit:
        assert not [one for one in (await unit.policy.current()).rules if one.grantor]
    assert (await _verified(home, operator)).sound


async def _policy_text() -> str:
    from hindsight_ray.adapters.policy.profiles import shipped_text  # noqa: PLC0415

    return shipped_text("default.csv")


async def test_who_does_not_audit_learns_nothing_of_the_chain(home: Staged) -> None:
    await _some_history(home)
    for fields in ({"user": "alice"}, {"agent": "planner"}, {"agent": "curator"}):
        token = await home.ticket(**fields)
        for command in (ReadSeal(), VerifyAudit(), ReadAudit()):
            with pytest.raises(AccessDenied):
                await home.ask(token, command)


async def test_each_tenant_has_a_chain_of_its_own(home: Staged) -> None:
    operator = await _some_history(home)
    there = await home.operator("globex")
    before = await _verified(home, operator)
    await home.ask(
        await home.ticket(tenant="globex", user="gina"), Write(command_id="w", content="Gina sings")
    )
    assert (await _verified(home, there)).entries == 1
    assert (await _verified(home, operator)).entries == before.entries


async def test_an_entry_of_a_step_that_was_undone_is_not_there(home: Staged) -> None:
    entry = AuditEntry(TENANT, START, "agent:a", "Write", "x", "allow", "", 1)
    async with home.world.ledger.writing() as unit:
        await unit.audit.append(entry)
        with pytest.raises(RuntimeError):
            async with unit.step():
                await unit.audit.append(replace(entry, object="undone"))
                raise RuntimeError
        await unit.audit.append(replace(entry, object="y"))
        assert [one.object for one in await unit.audit.newest(TENANT, limit=9)] == ["y", "x"]


_words = st.text(max_size=6)


@settings(max_examples=100)
@given(st.lists(_words, min_size=1, max_size=12), st.data())
def test_any_single_change_to_a_chain_is_found_where_it_is(
    objects: list[str], data: st.DataObject
) -> None:
    chain: list[Chained] = []
    before = BEGINNING
    for place, name in enumerate(objects, start=1):
        entry = AuditEntry(TENANT, START, "agent:a", "Get", name, "deny", "", 0)
        before = entry_hash(before, entry, "w", place)
        chain.append(Chained(entry, "w", place, before, place))
    head = Head(writer="w", place=len(chain), hash=before)
    at = data.draw(st.integers(0, len(chain) - 1))
    change = data.draw(st.sampled_from(("none", "flip", "drop", "cut", "double")))
    if change == "flip":
        chain[at] = replace(chain[at], entry=replace(chain[at].entry, object="\x00other"))
    elif change == "drop":
        del chain[at]
    elif change == "cut":
        del chain[at:]
    elif change == "double":
        chain.insert(at + 1, replace(chain[at], number=chain[at].number))
    check = ChainCheck("w", [head])
    split = data.draw(st.integers(0, len(chain)))
    check.feed(chain[:split])
    check.feed(chain[split:])
    check.finish()
    if change == "none":
        assert check.fault is None
    else:
        assert check.fault is not None
        assert check.fault.place == at + 1


async def test_what_another_machine_wrote_is_signed_by_the_next_that_can(home: Staged) -> None:
    operator = await _some_history(home, 1)
    keyless = home.path / "elsewhere"
    keyless.mkdir()
    chains = Chains("broker-9", AuditKey(keyless))
    ledger = await SqlLedger.open(home.path / "hindsight.sqlite3", chains=chains)
    entry = AuditEntry(TENANT, START, "agent:a", "Write", "x", "allow", "", 1)
    async with ledger.writing() as unit:
        await unit.audit.append(entry)
    await ledger.close()
    report = await _verified(home, operator)
    assert (report.sound, report.unsigned) == (True, 1)
    await home.ask(await home.ticket(user="alice"), Write(command_id="z", content="Zoe waves"))
    report = await _verified(home, operator)
    assert (report.sound, report.unsigned) == (True, 0)
    assert report.seal is not None
    assert {head.writer for head in report.seal.heads} == {"home", "broker-9"}
