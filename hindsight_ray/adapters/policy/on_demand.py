"""Casbin, imported when it is first asked. Most processes never ask: compiled access decides."""

from datetime import datetime
from typing import TYPE_CHECKING

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.domain.access import Action, Policy
from hindsight_ray.domain.caller import Caller

if TYPE_CHECKING:
    from hindsight_ray.adapters.policy.casbin import CasbinPolicies


class CasbinOnDemand:
    """`PolicyEngine` by the shipped model; costs nothing until it is used."""

    def __init__(self) -> None:
        self._engine: CasbinPolicies | None = None

    async def enforce(
        self, policy: Policy, caller: Caller, action: Action, target: str, now: datetime
    ) -> bool:
        return await self._casbin().enforce(policy, caller, action, target, now)

    async def check(self, policy: Policy, now: datetime) -> None:
        """Raise `InvalidPolicy` unless Casbin holds exactly these rules and memberships."""
        await self._casbin().check(policy, now)

    def _casbin(self) -> "CasbinPolicies":
        if self._engine is None:
            from hindsight_ray.adapters.policy.casbin import (  # noqa: PLC0415 - 150 ms to import
                CasbinPolicies,
            )

            self._engine = CasbinPolicies(shipped_text("model.conf"))
        return self._engine
