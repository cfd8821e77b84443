"""Ask everything as everybody, and look at what comes back for what must not be in it."""

import json
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.entry.leakcheck.planted import Facts, Names, Planted, absent, plant, word
from hindsight_ray.entry.leakcheck.strangers import Stranger, strangers
from hindsight_ray.entry.leakcheck.table import ATTEMPTS, untried
from hindsight_ray.errors import HindsightError, InvalidTicket
from hindsight_ray.service.door import VERBS

_ANY = TypeAdapter(Any)
_OUTSIDE = "the same names in another tenant"
_SEEN_CHARACTERS_MAX = 400
# What differs between two calls that tell the same: ids, times, digests, scores (they age).
_VARYING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|\+00:00)?"), "<time>"),
    (re.compile(r"-?\d+\.\d+(?:e-?\d+)?"), "<fraction>"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "<hex>"),
    (re.compile(r"\bleak-[a-z]{14}\b"), "<tenant>"),
    (re.compile(r'("revision": ?)\d+'), r"\1<n>"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A leak: who asked what, what is wrong with the answer, and the answer (cut)."""

    stranger: str
    asked: str
    wrong: str
    seen: str


@dataclass(slots=True)
class Report:
    """What was tried and what was found. `allowed` are kinds that the policy lets read it."""

    answers: int = 0
    strangers: list[str] = field(default_factory=list[str])
    allowed: list[str] = field(default_factory=list[str])
    untried: list[str] = field(default_factory=list[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    tenants: list[str] = field(default_factory=list[str])  # made for the check, to be dropped

    @property
    def tight(self) -> bool:
        return not self.findings and not self.untried

    def note(self, stranger: str, asked: str, said: str, wrong: Iterable[str]) -> None:
        """Count an answer and the one that it was held beside, and what is wrong with it."""
        self.answers += 2
        seen = said[:_SEEN_CHARACTERS_MAX]
        self.findings += [Finding(stranger, asked, fault, seen) for fault in wrong]

    def tenant(self) -> str:
        """The name of one more tenant of the check's own."""
        self.tenants.append(f"leak-{word()}")
        return self.tenants[-1]


async def check(
    hindsight: Hindsight, only: Container[str] | None = None, *, report: Report | None = None
) -> Report:
    """Try every verb of the door, or `only` those. Needs the operator's key, to make tickets.

    Adds to `report` if one is given; its `tenants` are the caller's to drop.
    """
    report = Report() if report is None else report
    report.untried += untried(VERBS)
    names = Names()
    planted = await plant(hindsight, report.tenant(), names)
    empty = absent(report.tenant(), planted.facts)
    await hindsight.issue_ticket(tenant=empty.tenant, agent=names.agent)
    session = planted.facts.session
    here = await strangers(hindsight, planted.facts.tenant, names, session)
    there = await strangers(hindsight, empty.tenant, names, session)
    for stranger, control in zip(here, there, strict=True):
        if await _may_read(hindsight, planted, stranger):
            report.allowed.append(stranger.kind)
            continue
        report.strangers.append(stranger.kind)
        await _try(hindsight, report, (planted, stranger), (empty, control), only)
    outside = [await _outside(hindsight, planted, report.tenant()) for _ in range(2)]
    report.strangers.append(outside[0].kind)
    await _try(hindsight, report, (planted, outside[0]), (empty, outside[1]), only)
    return report


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks at a door: of which names, in the tenants with and without what was planted."""

    kind: str
    tenants: tuple[str, str]
    agent: str | None
    user: str

    @property
    def records_as(self) -> str:
        return self.agent or self.user

    async def ticket(self, hindsight: Hindsight, tenant: str) -> Ticket:
        """A fresh one: what was asked before may have ended the last."""
        return await hindsight.issue_ticket(tenant=tenant, agent=self.agent, user=self.user)


async def asker(hindsight: Hindsight, report: Report, planted: Planted, empty: Facts) -> Asker:
    """Another user; where the policy lets that one read, somebody of another tenant."""
    names = planted.facts.names
    other = Stranger("another user", "", names.other_user, None, names.other_user)
    if not await _may_read(hindsight, planted, other):
        tenants = (planted.facts.tenant, empty.tenant)
        return Asker(other.kind, tenants, other.agent, names.other_user)
    if other.kind not in report.allowed:
        report.allowed.append(other.kind)
    tenants = (report.tenant(), report.tenant())
    return Asker(_OUTSIDE, tenants, names.agent, names.user)


async def _outside(hindsight: Hindsight, planted: Planted, tenant: str) -> Stranger:
    """Somebody of the owner's names and session, in a tenant of their own."""
    names = planted.facts.names
    ticket = await hindsight.issue_ticket(
        tenant=tenant, agent=names.agent, user=names.user, session=planted.facts.session
    )
    return Stranger(_OUTSIDE, ticket.token, names.agent)


async def _may_read(hindsight: Hindsight, planted: Planted, stranger: Stranger) -> bool:
    """Whether the policy in force lets a whole ticket of these names read what was planted."""
    if not stranger.whole:
        return False
    operator = hindsight.operator(planted.facts.tenant)
    for name in (planted.facts.memory_id, planted.facts.own_memory_id):
        answer = await operator.why("read", name, agent=stranger.agent, user=stranger.user)
        if answer.allowed:
            return True
    return False


async def _try(
    hindsight: Hindsight,
    report: Report,
    here: tuple[Planted, Stranger],
    there: tuple[Facts, Stranger],
    only: Container[str] | None,
) -> None:
    """Every attempt of one kind of caller, beside the same where nothing was planted."""
    (planted, stranger), (empty, control) = here, there
    for name, attempts in ATTEMPTS.items():
        if only is not None and name not in only:
            continue
        asked_here = list(attempts(planted.facts, stranger.records_as))
        asked_there = list(attempts(empty, control.records_as))
        for number, (one, other) in enumerate(zip(asked_here, asked_there, strict=True), start=1):
            said = await answered(hindsight, stranger.token, one)
            expected = await answered(hindsight, control.token, other)
            sent = one.model_dump_json()
            wrong = faults(planted, (said, sent), (expected, empty))
            if stranger.refused and not said.startswith(InvalidTicket.__name__):
                wrong.append("is answered without a ticket")
            report.note(stranger.kind, f"{name} {number}", said, wrong)


async def answered(hindsight: Hindsight, token: str, command: c.Command) -> str:
    """Everything that the caller gets back, as text: the value, or the error with its details."""
    try:
        value = await hindsight.as_caller(token).ask(command)
    except HindsightError as error:
        return f"{type(error).__name__} {error.message} {json.dumps(error.details, default=str)}"
    return f"{type(value).__name__} {_ANY.dump_json(value).decode('utf-8')}"


def faults(planted: Planted, here: tuple[str, str], there: tuple[str, Facts]) -> list[str]:
    """What is wrong with an answer: secrets or ids in it, or a difference from the empty tenant.

    `here` is the answer with what was sent for it; whatever the asker said itself tells nothing.
    """
    said, sent = here
    expected, empty = there
    wrong = [f"holds the secret {one!r}" for one in planted.secrets if one in said]
    wrong += [f"holds the id {one}" for one in planted.ids if one in said and one not in sent]
    if not wrong and alike(said, planted.facts) != alike(expected, empty):
        wrong.append("differs from the answer where nothing was planted")
    return wrong


def alike(text: str, facts: Facts) -> str:
    """The text without what may differ: names of this tenant, ids, times, scores."""
    for known in _known(facts):
        text = text.replace(known, "<known>")
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text


def _known(facts: Facts) -> Iterable[str]:
    named: Sequence[str] = (
        facts.memory_id, facts.own_memory_id, facts.run_id, facts.event_id, facts.ticket_id,
        facts.tenant, facts.session, facts.trigger,
    )  # fmt: skip
    return sorted(named, key=len, reverse=True)
