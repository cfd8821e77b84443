"""The one place that commits a memory: its audience's key, terms, record and audit line together.

Every change of a memory, whoever decided it, ends in `put`; what is written here is one
transaction's, so a fault leaves all of it or nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hindsight_ray.core import keywords
from hindsight_ray.core.audience import filed_audience
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.ports import Unit, Vector
from hindsight_ray.service.admit import Admitted


@dataclass(frozen=True, slots=True)
class Author:
    """In whose name a change is made, by which verb, under which rule and policy revision."""

    principal: str
    verb: str
    rule: str
    revision: int
    now: datetime


def author(admitted: Admitted, verb: str, action: Action, scope: str) -> Author:
    """The admitted caller as the author of a change that `action` on `scope` allows."""
    return Author(
        principal=admitted.caller.principal,
        verb=verb,
        rule=admitted.access.decide(action, scope).rule or "",
        revision=admitted.revision,
        now=admitted.now,
    )


async def put(unit: Unit, memory: Memory, vector: Vector | None, by: Author, why: str) -> int:
    """Make this revision current and say who did it; return its change number.

    Without a vector the one of the revision before stays. Raises `RevisionConflict`.
    """
    key = await unit.keys.ensure(memory.tenant, filed_audience(memory))
    change = await unit.memories.put(
        memory, vector, key=key, terms=terms_of(memory), by=by.principal, why=why
    )
    await note(unit, memory.tenant, memory.id, by)
    return change


async def forget(unit: Unit, memory: Memory, by: Author, why: str) -> None:
    """Leave a tombstone in the memory's place."""
    await unit.memories.forget(memory.tenant, memory.id, by=by.principal, why=why, at=by.now)
    await note(unit, memory.tenant, memory.id, by)


async def note(unit: Unit, tenant: str, name: str, by: Author) -> None:
    """The audit line of a change that was allowed: metadata, never text."""
    await unit.audit.append(
        AuditEntry(
            tenant=tenant,
            at=by.now,
            principal=by.principal,
            verb=by.verb,
            object=name,
            effect="allow",
            rule=by.rule,
            revision=by.revision,
        )
    )


def joined(reasons: Iterable[str]) -> str:
    """Reasons in one line, each once, in order."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def terms_of(memory: Memory) -> Mapping[str, int]:
    """What a memory is found by: its statement, steps, topic, tags and scene."""
    texts = [memory.content, *memory.steps, *memory.tags]
    if memory.topic is not None:
        texts.append(memory.topic)
    if memory.scene is not None:
        texts += [memory.scene.task_type, memory.scene.intent, *memory.scene.tools]
    return keywords.terms("\n".join(texts))
