"""Is this policy one that may come into force? What `policy load` asks, and `policy check` as well.

Apart from loading, because a file is checked where no memory is open.
"""

from datetime import datetime

from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_probes import probes
from hindsight_ray.domain.access import Policy
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import InvalidPolicy
from hindsight_ray.ports import PolicyEngine

OPERATOR = "operator"


async def check_policy(authority: PolicyEngine, policy: Policy, now: datetime) -> None:
    """Raise `InvalidPolicy` unless Casbin reads the policy alike, and it can be replaced again."""
    await authority.check(policy, now)
    index = PolicyIndex.of(policy)
    for caller, action, target in probes(policy, now):
        compiled = compile_access(index, caller, now).may(action, target)
        if await authority.enforce(policy, caller, action, target, now) != compiled:
            raise InvalidPolicy(
                f"`policy`: Casbin and the compiled access differ on `{action}` on `{target}` for"
                f" `{caller.principal}`; the last good policy stays in force"
            )
    operator = Caller.model_validate(
        {"tenant": "any", "agent": OPERATOR, "ticket_id": "check", "expires_at": now}
    )
    if not compile_access(index, operator, now).may("administer", GLOBAL):
        raise InvalidPolicy(
            "`policy` takes `administer` on `global` from `agent:operator`, so that nobody could"
            " replace it; add `p, role:operator, *, global, administer, allow` and"
            " `g, agent:operator, role:operator, *`"
        )
