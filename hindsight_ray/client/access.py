"""What a caller may ask about access: who it is, grants, explanations, and the operator's part.

A base of `Memory`, apart from runs and memories only for length.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from hindsight_ray.client.calls import Calls
from hindsight_ray.client.lists import listed, listed_or_none
from hindsight_ray.client.made import made
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.audit import AuditReport, Seal
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.receipt import Grant, PolicyRead
from hindsight_ray.domain.rows import AuditEntry


class AccessCalls:
    """The verbs about access, asked as the holder of one ticket."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def whoami(self) -> Caller:
        """Who this memory's ticket names, if it is good now. Raises `InvalidTicket`."""
        return await self._ask(c.WhoAmI)

    async def share(
        self,
        scope: str,
        *,
        to: str,
        actions: Iterable[Action] = ("read",),
        until: datetime | None = None,
        command_id: str | None = None,
    ) -> Grant:
        """Let `to`, a principal or role, act on a scope; in force once this has returned."""
        fields = {"scope": scope, "to": to, "actions": listed(actions, "actions"), "until": until}
        return await self._commanded(c.Share, command_id, fields)

    async def revoke(
        self,
        scope: str,
        *,
        to: str,
        actions: Iterable[Action] | None = None,
        command_id: str | None = None,
    ) -> Grant:
        """Take back what was shared. No call that starts after this has returned sees the grant."""
        fields = {"scope": scope, "to": to, "actions": listed_or_none(actions, "actions")}
        return await self._commanded(c.Revoke, command_id, fields)

    async def why(
        self,
        action: Action,
        object: str,  # noqa: A002 - the field's own name
        *,
        agent: str | None = None,
        user: str | None = None,
    ) -> c.WhyAnswer:
        """Why somebody may or may not do `action` on `object`: a scope, or a memory's id."""
        return await self._ask(c.Why, agent=agent, user=user, action=action, object=object)

    async def who_sees(self, scope: str, action: Action = "read") -> c.SeersAnswer:
        """Every kind of caller that may do `action` on the scope, and by which rule."""
        return await self._ask(c.WhoSees, scope=scope, action=action)

    async def sees(self, *, agent: str | None = None, user: str | None = None) -> c.SeesAnswer:
        """What a caller may do, and where."""
        return await self._ask(c.Sees, agent=agent, user=user)

    # What needs the operator's rights

    async def revoke_ticket(self, ticket_id: str) -> Any:
        """End a ticket before its time."""
        return await self._ask(c.RevokeTicket, ticket_id=ticket_id)

    async def policy(self, text: str) -> Any:
        """Replace the policy by the text of a csv file; refused whole if it has any fault."""
        return await self._ask(c.LoadPolicy, text=text)

    async def policy_in_force(self) -> PolicyRead:
        """The policy in force, as the text of a csv file."""
        return await self._ask(c.ReadPolicy)

    async def audit(
        self,
        *,
        limit: int = 50,
        skip: int = 0,
        effect: Literal["allow", "deny"] | None = None,
        principal: str | None = None,
        since: datetime | None = None,
    ) -> Sequence[AuditEntry]:
        """The newest audit entries of this tenant, or of such: metadata, never text."""
        return await self._ask(
            c.ReadAudit, limit=limit, skip=skip, effect=effect, principal=principal, since=since
        )

    async def audit_seal(self) -> Seal:
        """Where this tenant's audit stands, signed: keep it elsewhere. Raises `NotFound`."""
        return await self._ask(c.ReadSeal)

    async def verify_audit(self, *, seals: Iterable[Seal] = ()) -> AuditReport:
        """Whether this tenant's audit is whole, up to seals that were kept elsewhere too."""
        return await self._ask(c.VerifyAudit, seals=listed(seals, "seals"))

    async def ask(self, command: c.Command) -> Any:
        """Any command as it is, for doors that have built one already."""
        return await self._calls.ask(command)

    async def _ask(self, kind: type[c.Command], **fields: Any) -> Any:
        return await self._calls.ask(made(kind, fields))

    async def _commanded(
        self, kind: type[c.Command], command_id: str | None, fields: dict[str, Any]
    ) -> Any:
        name = self._calls.ids.token() if command_id is None else command_id
        return await self._calls.ask(made(kind, {**fields, "command_id": name}))
