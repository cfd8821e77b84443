"""The operator's own tickets: whoever holds the key signs itself one for any tenant."""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

from hindsight_ray.adapters.policy.tickets import KEY_FILE, TicketSigner
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import Ticket, TicketRequest
from hindsight_ray.errors import InvalidTicket
from hindsight_ray.ports import Clock

OPERATOR = "operator"
LIFETIME_S = 3_600
_RENEW_BEFORE = timedelta(minutes=10)

MakeKnown = Callable[[str, str], Awaitable[None]]  # tenant, the operator's token


class OperatorTickets:
    """Tokens of `agent:operator` by tenant, renewed before they run out.

    A tenant exists from its first ticket on: `make_known` sees to that before a token is used.
    """

    def __init__(self, signer: TicketSigner, clock: Clock, make_known: MakeKnown) -> None:
        self._signer = signer
        self._clock = clock
        self._make_known = make_known
        self._kept: dict[str, Ticket] = {}

    async def __call__(self, tenant: str, *, begin: bool = True) -> str:
        """The token for this tenant, which begins with it unless `begin` is false.

        Raises `InvalidInput` for a name that is none.
        """
        now = self._clock.now()
        kept = self._kept.get(tenant)
        if kept is None or not await self._good(kept, now):
            fields = {"tenant": tenant, "agent": OPERATOR, "lifetime_s": LIFETIME_S}
            kept = await self._signer.issue(build(TicketRequest, fields), now, age=None)
            if not begin:
                return kept.token
            await self._make_known(kept.caller.tenant, kept.token)
            self._kept[tenant] = kept
        return kept.token

    async def _good(self, kept: Ticket, now: datetime) -> bool:
        """Whether the token will serve for a while, and its key has not been retired."""
        if now >= kept.caller.expires_at - _RENEW_BEFORE:
            return False
        try:
            await self._signer.verify(kept.token, now)
        except InvalidTicket:
            return False
        return True


def holds_operator_key(home: Path) -> bool:
    """Whether this process may read the home's key: the operating system says who is operator."""
    return os.access(home / KEY_FILE, os.R_OK)
