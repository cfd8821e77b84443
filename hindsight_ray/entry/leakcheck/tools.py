"""The MCP tools, asked by somebody else: through the tools' own code, without a network between."""

from types import SimpleNamespace
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.entry.bearer import Asking, call_of
from hindsight_ray.entry.leakcheck.check import Report, asker, faults
from hindsight_ray.entry.leakcheck.planted import Names, absent, plant
from hindsight_ray.entry.leakcheck.table import TOOLS
from hindsight_ray.entry.mcp_tools import Tools
from hindsight_ray.entry.rate import Rates

_RATES = Rates(1_000.0, 1_000.0)


async def try_tools(hindsight: Hindsight, report: Report) -> None:
    """Add to the report what the tools tell somebody else of secrets planted anew."""
    names = Names()
    planted = await plant(hindsight, report.tenant(), names)
    empty = absent(report.tenant(), planted.facts)
    tools = [name for name in dir(Tools) if name.startswith("memory_")]
    report.untried += sorted(f"tool {name}" for name in set(tools) - set(TOOLS))
    stranger = await asker(hindsight, report, planted, empty)
    for name, attempts in TOOLS.items():
        for mine, theirs in zip(attempts(planted.facts), attempts(empty), strict=True):
            here, there = stranger.tenants
            said = await _used(hindsight, await stranger.ticket(hindsight, here), name, mine)
            expected = await _used(hindsight, await stranger.ticket(hindsight, there), name, theirs)
            wrong = faults(planted, (said, repr(mine)), (expected, empty))
            report.note(stranger.kind, f"tool {name}", said, wrong)


async def _used(hindsight: Hindsight, ticket: Ticket, tool: str, arguments: dict[str, Any]) -> str:
    async def who(_context: Any) -> Asking:
        return Asking(ticket.token, ticket.caller.ticket_id)

    context: Any = SimpleNamespace(request_context=SimpleNamespace(request=None))
    try:
        value = await getattr(Tools(call_of(hindsight), who, _RATES), tool)(context, **arguments)
    except ToolError as error:
        return f"ToolError {error}"
    return f"{type(value).__name__} {value.model_dump_json()}"
