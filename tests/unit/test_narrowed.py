"""A ticket narrowed to scopes leaves out what is asked of the whole tenant."""

from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.errors import AccessDenied
from tests.worlds import world

OF_THE_TENANT: tuple[c.Command, ...] = (
    build(c.IssueTicket, {"request": {"tenant": "acme", "agent": "planner"}}),
    build(c.RevokeTicket, {"ticket_id": "0" * 32}),
    build(c.LoadPolicy, {"text": ""}),
    build(c.ReadPolicy, {}),
    build(c.SetPrivacy, {"personal": "keep"}),
    build(c.Erase, {"user": "alice"}),
    build(c.ReadAudit, {}),
    build(c.ReadSeal, {}),
    build(c.VerifyAudit, {}),
    build(c.Sees, {"agent": "planner"}),
    build(c.Maintain, {}),
    build(c.ImportRuns, {"format": "openai-messages", "text": "[]", "scope": "global"}),
)


@pytest.mark.covers("G5.narrowed")
async def test_an_operators_ticket_for_the_scope_global_does_nothing_to_the_tenant(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as home:
        scopes = frozenset({"global", "user:alice"})
        narrow = await home.ticket(agent="operator", scopes=scopes)
        for command in OF_THE_TENANT:
            with pytest.raises(AccessDenied):
                await home.ask(narrow, command)
        named = await home.ticket(
            agent="operator", scopes=scopes, actions=frozenset({"administer", "audit", "read"})
        )
        assert len(await home.ask(named, build(c.ReadAudit, {}))) >= len(OF_THE_TENANT)  # type: ignore[arg-type]
        request = {
            "tenant": "acme",
            "agent": "planner",
            "scopes": ("global",),
            "actions": ("read",),
        }
        made = await home.ask(named, build(c.IssueTicket, {"request": request}))
        assert isinstance(made, Ticket)
        with pytest.raises(AccessDenied):  # wider than its own
            await home.ask(named, OF_THE_TENANT[0])
        await home.ask(narrow, build(c.Search, {"query": "anything"}))
