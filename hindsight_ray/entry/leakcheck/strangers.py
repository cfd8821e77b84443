"""Everybody but the owner: other names, other tenants, less of a ticket, no ticket at all."""

import asyncio
from dataclasses import dataclass

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.entry.leakcheck.planted import Names

_EXPIRED_AFTER_S = 1.1  # a ticket of one second has run out then


@dataclass(frozen=True, slots=True)
class Stranger:
    """A kind of caller: its token, the agent it records as, and whom the policy is asked about.

    `whole` tells a ticket that narrows nothing: the policy alone says what it may read. `refused`
    tells one that must be refused whatever it asks.
    """

    kind: str
    token: str
    records_as: str
    agent: str | None = None
    user: str | None = None
    whole: bool = True
    refused: bool = False


async def strangers(
    hindsight: Hindsight, tenant: str, names: Names, session: str
) -> list[Stranger]:
    """Fresh callers of every kind for asking about `names` in `tenant`."""
    agent, user = names.agent, names.user
    other_agent, other_user = names.other_agent, names.other_user
    found: list[Stranger] = []

    async def add(
        kind: str, agent: str | None, user: str | None, *, whole: bool = True, **fields: object
    ) -> None:
        ticket = await hindsight.issue_ticket(
            tenant=tenant,
            agent=agent,
            user=user,
            session=session,
            **fields,  # type: ignore[arg-type]
        )
        name = agent or user or ""
        found.append(Stranger(kind, ticket.token, name, agent, user, whole=whole))

    await add("another user", None, other_user)
    await add("another agent", other_agent, None)
    # Each with names of its own: what one of them writes is not found by the next.
    await add("another agent for another user", f"{other_agent}-2", f"{other_user}-2")
    await add("the same agent for another user", agent, f"{other_user}-3")
    await add("the same agent for nobody", agent, None)
    await add("the owner narrowed to another scope", agent, user, whole=False,
              scopes=[f"agent:{other_agent}"])  # fmt: skip
    await add("the owner narrowed to evaluating", agent, user, whole=False, actions=["evaluate"])
    found += await _refused(hindsight, tenant, names)
    return found


async def _refused(hindsight: Hindsight, tenant: str, names: Names) -> list[Stranger]:
    """Tokens that are no tickets of this home now: each is refused before anything is looked at."""
    ended = await hindsight.issue_ticket(tenant=tenant, agent=names.agent, user=names.user)
    await hindsight.operator(tenant).revoke_ticket(ended.caller.ticket_id)
    good = await hindsight.issue_ticket(tenant=tenant, agent=names.agent, user=names.user)
    short = await hindsight.issue_ticket(
        tenant=tenant, agent=names.agent, user=names.user, lifetime_s=1
    )
    await asyncio.sleep(_EXPIRED_AFTER_S)
    tokens = {
        "a revoked ticket": ended.token,
        "an expired ticket": short.token,
        "a ticket with another signature": _tampered(good, -1),
        "a ticket with other claims": _tampered(good, 1),
        "a token of nothing": "nothing",
        "no token": "",
    }
    return [
        Stranger(kind, token, names.agent, names.agent, names.user, whole=False, refused=True)
        for kind, token in tokens.items()
    ]


def _tampered(ticket: Ticket, part: int) -> str:
    """The token with one of its parts turned round."""
    parts = ticket.token.split(".")
    parts[part] = parts[part][::-1]
    return ".".join(parts)
