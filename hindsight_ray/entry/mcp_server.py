"""The MCP door: four tools over the same verbs, over stdio or streamable HTTP.

Over stdio the caller is whoever the command line named. Over HTTP every single request is the
caller of the ticket that it carries itself: there are no sessions, so nothing of an earlier request
can lend its rights to a later one. No tool shares, promotes or issues anything.
"""

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from importlib import metadata
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.memory import MemoryType
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.entry.bearer import Asking, BearerTicket, Call, asking_of
from hindsight_ray.entry.listening import HOSTS, ORIGINS, REQUEST_BYTES_MAX
from hindsight_ray.entry.rate import Paces, Rates
from hindsight_ray.errors import HindsightError, InvalidInput

PATH = "/mcp"
INSTRUCTIONS = (
    "Shared memory. Search before you act; write what will still be true and useful later, one"
    " statement each. You see and change only what your ticket allows."
)


Who = Callable[[Context[Any, Any]], Awaitable[Asking]]


class Tools:
    """The four tools. `who` tells from a call's context whose call it is, or raises."""

    def __init__(self, call: Call, who: Who, rates: Rates) -> None:
        self._call = call
        self._who = who
        self._paces = Paces(rates)

    async def memory_write(
        self,
        context: Context[Any, Any],
        *,
        content: Annotated[str, Field(description="What to remember: one statement.")],
        scope: Annotated[
            str | None,
            Field(description="`global`, `user:<id>` or `agent:<id>`; by default your user's."),
        ] = None,
        type: MemoryType = "fact",  # noqa: A002 - the vocabulary's word
        topic: Annotated[
            str | None, Field(description="For what has one value at a time: `date_format`.")
        ] = None,
        confidence: Annotated[float, Field(ge=0, le=1)] = 0.8,
        importance: Annotated[float, Field(ge=0, le=1)] = 0.5,
        tags: Annotated[tuple[str, ...], Field(max_length=32)] = (),
        steps: Annotated[tuple[str, ...], Field(max_length=50, description="Of a procedure.")] = (),
        source: Annotated[
            Literal["user", "agent", "tool"], Field(description="Who said it.")
        ] = "agent",
        expires_at: datetime | None = None,
        command_id: Annotated[
            str | None, Field(description="Give it again when you retry: one effect.")
        ] = None,
    ) -> Receipt:
        """Keep a statement for later. Answers what became of it: stored, duplicate, pending …"""
        fields = {
            "content": content, "scope": scope, "type": type, "topic": topic, "tags": tags,
            "confidence": confidence, "importance": importance, "steps": steps,
            "source": source, "expires_at": expires_at, "command_id": command_id or _fresh(),
        }  # fmt: skip
        return await self._answer(context, c.Write, fields)

    async def memory_search(
        self,
        context: Context[Any, Any],
        *,
        query: Annotated[str, Field(description="What you want to know, in plain words.")],
        k: Annotated[int, Field(ge=1, le=c.RESULTS_MAX)] = 5,
        scopes: list[str] | None = None,
        types: list[MemoryType] | None = None,
        task_type: Annotated[str | None, Field(description="Narrows experiences.")] = None,
        tools: Annotated[
            tuple[str, ...], Field(description="Tools at hand; narrows experiences.")
        ] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        run_id: Annotated[str | None, Field(description="The run this is for, if any.")] = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find what is remembered, as far as you may read it: dated, best first."""
        fields = {
            "query": query, "k": k, "scopes": scopes, "types": types, "task_type": task_type,
            "tools": tools, "since": since, "until": until, "run_id": run_id,
        }  # fmt: skip
        found: Found = await self._answer(context, c.Search, fields)
        text = found.render() if found.hits else "Nothing is remembered about this."
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=found.model_dump(mode="json"),
        )

    async def memory_update(
        self,
        context: Context[Any, Any],
        *,
        memory_id: str,
        content: str | None = None,
        confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
        importance: Annotated[float | None, Field(ge=0, le=1)] = None,
        tags: list[str] | None = None,
        expires_at: datetime | None = None,
        if_revision: Annotated[
            int | None, Field(description="Refuse if the memory has moved on from this revision.")
        ] = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Change a memory; what is left out stays."""
        fields = {
            "memory_id": memory_id, "content": content, "confidence": confidence, "tags": tags,
            "importance": importance, "expires_at": expires_at, "if_revision": if_revision,
            "command_id": command_id or _fresh(),
        }  # fmt: skip
        return await self._answer(context, c.Update, fields)

    async def memory_forget(
        self, context: Context[Any, Any], *, memory_id: str, command_id: str | None = None
    ) -> Receipt:
        """Take a memory out of every answer."""
        fields = {"memory_id": memory_id, "command_id": command_id or _fresh()}
        return await self._answer(context, c.Forget, fields)

    async def _answer(
        self,
        context: Context[Any, Any],
        kind: type[c.Command],
        fields: dict[str, Any],
    ) -> Any:
        """Ask the door as whoever this call is from; our refusals become the tool's."""
        try:
            _refuse_unknown(context, fields)
            asking = await self._who(context)
            command = build(kind, fields)
            self._paces.take(asking.ticket_id, command, time.monotonic())
            return await self._call(asking.token, command)
        except HindsightError as error:
            raise ToolError(f"{type(error).__name__}: {error.message}") from None


def _refuse_unknown(context: Context[Any, Any], known: Mapping[str, object]) -> None:
    """An argument that no tool has (a tenant, say) is refused, not passed over in silence."""
    given: Mapping[str, object] = (context.request_context.params or {}).get("arguments") or {}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidInput(f"`{unknown[0]}` is no argument of this tool", field=unknown[0])


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
    made = [
        _tool(tools.memory_write, read_only=False, destructive=False),
        _tool(tools.memory_search, read_only=True, destructive=False),
        _tool(tools.memory_update, read_only=False, destructive=True),
        _tool(tools.memory_forget, read_only=False, destructive=True),
    ]
    return MCPServer(
        "hindsight-ray",
        version=metadata.version("hindsight-ray"),
        instructions=INSTRUCTIONS,
        tools=made,
        subscriptions=False,  # nothing here changes of itself
        log_level="ERROR",
    )


def _tool(function: Callable[..., Any], *, read_only: bool, destructive: bool) -> Tool:
    hints = ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, open_world_hint=False
    )
    tool = Tool.from_function(function, annotations=hints)
    tool.parameters["additionalProperties"] = False
    return tool


def _fresh() -> str:
    return uuid.uuid4().hex
