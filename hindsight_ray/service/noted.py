"""The audit line of something that was allowed and done: metadata, never text."""

from hindsight_ray.domain.access import Action
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted


async def note_done(
    unit: Unit, admitted: Admitted, *, verb: str, action: Action, scope: str, name: str
) -> None:
    """Write down who did `verb` on the thing called `name`, and the rule that allowed it."""
    decision = admitted.access.decide(action, scope)
    await unit.audit.append(
        AuditEntry(
            tenant=admitted.caller.tenant,
            at=admitted.now,
            principal=admitted.caller.principal,
            verb=verb,
            object=name,
            effect="allow",
            rule=decision.rule or "",
            revision=admitted.revision,
        )
    )
