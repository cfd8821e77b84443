"""Why may somebody do something, or not: the rules behind it, for those who hold `audit`.

About a memory it says what a reader would have to read, every scope of its audience, every label;
and what they would have to hold besides, or that nobody is shown it, by how it stands now.
"""

from datetime import datetime, timedelta

from hindsight_ray.core.access import AccessSet, compile_access
from hindsight_ray.core.audience import doubted, shows_doubted
from hindsight_ray.core.policy_text import object_class
from hindsight_ray.domain.access import Action, Revision
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Why, WhyAnswer, WhyOne
from hindsight_ray.domain.ids import checked_uuid
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, absent, admit, policy_index
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.seen import ANSWERED
from hindsight_ray.service.world import World

_Question = tuple[Action, str]


async def why(world: World, caller: Caller, command: Why) -> WhyAnswer:
    """Raises `AccessDenied` without `audit` on the scope; an absent memory is a forbidden one."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        questions, audited, about = await _questions(unit, admitted, command)
        index = await policy_index(world, unit, admitted.revision)
        access = compile_access(index, _asked_about(admitted, command), admitted.now)
        await note_done(
            unit, admitted, verb="Why", action="audit", scope=audited, name=command.object
        )
    if about is None:
        return _answer(access, questions)
    return _answer_about(about, access, questions, admitted.now)


async def _questions(
    unit: Unit, admitted: Admitted, command: Why
) -> tuple[list[_Question], str, Memory | None]:
    """What to decide, in order, the scope that `audit` was asked on, and the memory, if any."""
    kind = object_class(command.object)
    if kind is not None:
        scope = GLOBAL if kind == "label" else command.object
        admitted.require("audit", scope)
        return [(command.action, command.object)], scope, None
    try:
        name = checked_uuid(command.object)
    except InvalidInput:
        raise InvalidInput(
            f"`object` {command.object!r} is neither a scope, a `label:<id>` nor a memory's id",
            field="object",
        ) from None
    found = (await unit.memories.current(admitted.caller.tenant, [name])).get(name)
    if (
        found is None
        or not all(admitted.access.may("audit", scope) for scope in found.audience)
        or not admitted.access.denied_labels.isdisjoint(found.labels)
    ):
        raise absent("memory", name)
    acts: list[_Question] = [] if command.action == "read" else [(command.action, found.scope)]
    reads: list[_Question] = [("read", scope) for scope in found.audience]
    labels: list[_Question] = [("read", f"label:{label}") for label in found.labels]
    return [*acts, *reads, *labels], found.scope, found


def _asked_about(admitted: Admitted, command: Why) -> Caller:
    """The caller that the question is about, as any ticket would name it; the asker by default."""
    asker = admitted.caller
    if command.agent is None and command.user is None:
        return asker
    return Caller.model_validate(
        {
            "tenant": asker.tenant,
            "agent": command.agent,
            "user": command.user,
            "ticket_id": "why",
            "expires_at": admitted.now + timedelta(seconds=1),
        }
    )


def _answer_about(
    memory: Memory, access: AccessSet, questions: list[_Question], now: datetime
) -> WhyAnswer:
    """With what `get` would ask besides: `review` where it waits, was put away, or came from
    outside and is read by grant; and that it has not expired."""
    outside = doubted(memory) and not shows_doubted(access, memory.scope)
    if memory.status not in ANSWERED or outside:
        questions = [*questions, ("review", memory.scope)]
    answer = _answer(access, questions)
    told: dict[str, object] = {
        "audience": tuple(memory.audience),
        "labels": tuple(memory.labels),
        "status": memory.status,
    }
    if memory.expires_at is not None and memory.expires_at <= now:
        over = WhyOne(
            action="read", object=memory.id, allowed=False, reason="expired", rule=None,
            role_path=(),
        )  # fmt: skip
        told |= {"decisions": (*answer.decisions, over), "allowed": False}
    return answer.model_copy(update=told)


def _answer(access: AccessSet, questions: list[_Question]) -> WhyAnswer:
    decisions = [access.decide(action, target) for action, target in questions]
    return WhyAnswer(
        decisions=tuple(
            WhyOne(
                action=one.action,
                object=one.object,
                allowed=one.allowed,
                reason=one.reason,
                rule=one.rule,
                role_path=one.role_path,
            )
            for one in decisions
        ),
        allowed=all(one.allowed for one in decisions),
        revision=Revision(access.revision),
    )
