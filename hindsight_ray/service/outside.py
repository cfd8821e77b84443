"""Which text comes from outside, and where it is set apart until somebody has looked at it.

Tool output and untrusted imports say whatever somebody beyond the memory wanted said. Where their
author alone reads them they are only marked; where others would, they are quarantined: in `global`,
in a scope that is not the author's, and in one that is shared by grant. `review` there shows them,
accepting or promoting them ends it.
"""

from hindsight_ray.domain.memory import SourceKind
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted, policy_index
from hindsight_ray.service.world import World

OUTSIDE: frozenset[SourceKind] = frozenset({"tool", "import"})


async def set_apart(world: World, unit: Unit, admitted: Admitted, scope: str) -> bool:
    """Whether text from outside is quarantined in this scope when this caller writes it."""
    caller = admitted.caller
    if scope == GLOBAL or scope not in (caller.principal, caller.acting_scope):
        return True
    index = await policy_index(world, unit, admitted.revision)
    return any(
        rule.action == "read" and (rule.until is None or admitted.now < rule.until)
        for _, rule in index.grants_on(caller.tenant, scope)
    )
