"""The MCP door: the tools over stdio or streamable HTTP.

Over stdio the caller is whoever the command line named. Over HTTP every single request is the
caller of the ticket that it carries itself: there are no sessions, so nothing of an earlier request
can lend its rights to a later one.
"""

from collections.abc import Awaitable, Callable
from importlib import metadata
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from hindsight_ray.entry.bearer import Asking, BearerTicket, Call, asking_of
from hindsight_ray.entry.listening import HOSTS, ORIGINS, REQUEST_BYTES_MAX
from hindsight_ray.entry.mcp_tools import Tools, every_tool
from hindsight_ray.entry.rate import Rates

PATH = "/mcp"
INSTRUCTIONS = (
    "Shared memory. Search before you act; write what will still be true and useful later, one"
    " statement each. You see and change only what your ticket allows."
)


def stdio_server(call: Call, asking: Callable[[], Awaitable[Asking]], rates: Rates) -> MCPServer:
    """A server whose every call is from the one caller that the command line named."""

    async def who(_context: Context[Any, Any]) -> Asking:
        return await asking()

    return _server(Tools(call, who, rates))


def http_app(call: Call, rates: Rates) -> Starlette:
    """The streamable HTTP application, for loopback. Knows no caller but those of tickets."""
    app = _server(Tools(call, _who_of_request, rates)).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=REQUEST_BYTES_MAX,
        transport_security=TransportSecuritySettings(
            allowed_hosts=list(HOSTS), allowed_origins=list(ORIGINS)
        ),
    )
    app.add_middleware(BearerTicket, call=call)
    return app


async def _who_of_request(context: Context[Any, Any]) -> Asking:
    request = context.request_context.request
    return asking_of({} if request is None else request.scope)


def _server(tools: Tools) -> MCPServer:
    return MCPServer(
        "hindsight-ray",
        version=metadata.version("hindsight-ray"),
        instructions=INSTRUCTIONS,
        tools=every_tool(tools),
        subscriptions=False,  # nothing here changes of itself
        log_level="ERROR",
    )
