"""The one door that decides: who the caller is now, and what they may do, in one transaction.

Policy revision, ticket revocation and rows are read in the same unit of work. So a decision is
never older than the rows it guards, a revoke is in force for every later call on every process as
soon as its transaction has committed, and no lease or broadcast is needed for that.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.audience import readable_keys
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller, expired
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import RowFilter, Standing
from hindsight_ray.errors import AccessDenied, InvalidInput, InvalidTicket, NotFound
from hindsight_ray.ports import Unit
from hindsight_ray.ports.watching import spent_on
from hindsight_ray.service.world import World

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller, what the policy gives them at one revision, and the time it was decided at."""

    caller: Caller
    access: AccessSet
    now: datetime

    @property
    def revision(self) -> int:
        return self.access.revision

    def require(self, action: Action, scope: str) -> None:
        """Raise `AccessDenied` unless the caller may do `action` on `scope`."""
        if not self.access.may(action, scope):
            by = "`why` itself needs it" if action == "audit" else "an auditor can ask `why`"
            raise AccessDenied(
                f"`{action}` on `{scope}` is not allowed for `{self.caller.principal}`; {by}",
                action=action,
                object=scope,
                revision=self.revision,
            )

    def require_any(self, actions: Sequence[Action], scope: str) -> None:
        """Raise `AccessDenied`, naming the first, unless one of these is allowed on `scope`."""
        if not any(self.access.may(action, scope) for action in actions):
            self.require(actions[0], scope)

    def require_ahead(self, name: str, moment: datetime | None) -> None:
        """Raise `InvalidInput` for an end that is over: nothing would ever be seen of it."""
        if moment is not None and moment <= self.now:
            raise InvalidInput(f"`{name}` {moment.isoformat()} is over already", field=name)

    def may_read(self, audience: Iterable[str], labels: Iterable[str] = ()) -> bool:
        """Whether every scope of the audience is readable and no label is denied."""
        return self.access.may_read_all(audience, labels)

    def visible(self, memory: Memory | None, name: str) -> Memory:
        """Return the memory if this caller may read it, else raise the `NotFound` of absence."""
        if memory is None or not self.may_read(memory.audience, memory.labels):
            raise absent("memory", name)
        return memory


def absent(kind: str, name: str) -> NotFound:
    """The one answer for what is not there and for what the caller may not know of."""
    return NotFound(f"`{kind}` {name!r} is not there for this caller", kind=kind, id=name)


async def admit(world: World, unit: Unit, caller: Caller, *, any_tenant: bool = False) -> Admitted:
    """Decide, inside `unit`, what a verified caller may do now. Raises `InvalidTicket`.

    With `any_tenant`, in a tenant that nobody knows too. An error while deciding is
    `AccessDenied`; a ledger that cannot be read keeps its own error.
    """
    with spent_on("admitting"):
        now = world.clock.now()
        standing = await unit.policy.standing(caller.tenant, caller.ticket_id)
        return await _decided(world, unit, caller, standing, now, any_tenant=any_tenant)


async def admit_all(
    world: World, unit: Unit, callers: Sequence[Caller]
) -> list[Admitted | InvalidTicket | AccessDenied]:
    """`admit` for many callers by one question; for whom it raises, what it raises."""
    now = world.clock.now()
    standings = await unit.policy.standings([(one.tenant, one.ticket_id) for one in callers])
    admitted: list[Admitted | InvalidTicket | AccessDenied] = []
    for caller, standing in zip(callers, standings, strict=True):
        try:
            admitted.append(await _decided(world, unit, caller, standing, now, any_tenant=False))
        except (InvalidTicket, AccessDenied) as refusal:
            admitted.append(refusal)
    return admitted


async def _decided(
    world: World,
    unit: Unit,
    caller: Caller,
    standing: Standing,
    now: datetime,
    *,
    any_tenant: bool,
) -> Admitted:
    known = standing.tenant_known or any_tenant
    its_tenants = caller.age is None or caller.age == standing.age  # and no dropped one's before it
    if expired(caller, now) or standing.ticket_revoked or not (known and its_tenants):
        raise InvalidTicket("`ticket` is not valid here; ask the operator for a new one")
    if standing.settled:
        world.privacies.met(standing.revision)
    access = world.access.remembered(caller, standing.revision, now)
    if access is None:
        index = await policy_index(world, unit, standing.revision)
        access = _compiled(index, caller, now)
        if standing.settled:
            world.access.keep_index(index)
            world.access.keep(caller, access)
    return Admitted(caller, access, now)


async def policy_index(world: World, unit: Unit, revision: int) -> PolicyIndex:
    """The index of the policy at `revision`, which must be the one that `unit` sees.

    From an earlier one by what changed since, where that is known.
    """
    index = world.access.index(revision)
    if index is not None:
        return index
    earlier = world.access.before(revision)
    change = None if earlier is None else await unit.policy.changes(earlier.revision)
    whole = await unit.policy.placed() if earlier is None or change is None else None
    try:
        if earlier is not None and change is not None:
            return earlier.changed(change)
        assert whole is not None  # noqa: S101 - read just above
        return PolicyIndex.of(whole.policy, whole.rules_at, whole.memberships_at)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong while deciding is a denial
        raise _undecided(revision, error) from None


def _compiled(index: PolicyIndex, caller: Caller, now: datetime) -> AccessSet:
    try:
        return compile_access(index, caller, now)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong while deciding is a denial
        raise _undecided(index.revision, error) from None


def _undecided(revision: int, error: Exception) -> AccessDenied:
    """The fault goes to the log: the rule that it names is not for callers to see."""
    _log.error("policy revision %d cannot be decided on: %s", revision, error)
    return AccessDenied(
        "nothing is allowed: the policy in force cannot be read; the operator finds why in the log",
        revision=revision,
    )


async def row_filter(
    world: World,  # noqa: ARG001 - the first argument of every service
    unit: Unit,
    admitted: Admitted,
    narrow: Callable[[RowFilter], RowFilter] | None = None,
) -> RowFilter:
    """The filter that keeps every row out of which the caller may not read the whole audience."""
    tenant = admitted.caller.tenant
    keys = None
    if not admitted.access.reads_everything:
        catalogue = await unit.keys.all(tenant)
        keys = readable_keys(catalogue, admitted.access)
    base = RowFilter(
        tenant=tenant, now=admitted.now, keys=keys, denied_labels=admitted.access.denied_labels
    )
    return narrow(base) if narrow else base
