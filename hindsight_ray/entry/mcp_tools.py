"""The MCP tools: the client's verbs, each asked as whoever the call is from.

No tool shares, promotes, revokes or issues anything, and none takes a name of who asks: nothing
that a model says widens what it may do.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from hindsight_ray.core.cleaning import clean_error
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import Value, build
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.faults import named, told
from hindsight_ray.domain.memory import Memory, MemoryType, RevisionNote
from hindsight_ray.domain.numbers import Count, Portion, Whole
from hindsight_ray.domain.privacy import EVERYTHING
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.review import ReviewReport
from hindsight_ray.entry.bearer import Asking, Call
from hindsight_ray.entry.once import fresh_unless
from hindsight_ray.entry.rate import Paces, Rates
from hindsight_ray.errors import HindsightError, InvalidInput

Who = Callable[[Context[Any, Any]], Awaitable[Asking]]

_NOTHING = "Nothing is remembered about this."
MemoryId = Annotated[str, Field(description="As `memory_search` gave it.")]
RunId = Annotated[str, Field(description="A memory's `source.run`, or as you were told.")]
CommandId = Annotated[str | None, Field(description="Give it again when you retry: one effect.")]
Time = Annotated[
    str | None,
    Field(description="ISO 8601 with its zone.", json_schema_extra={"format": "date-time"}),
]
Hits = Annotated[Whole, Field(ge=1, le=c.RESULTS_MAX, description="At most so many hits.")]


class Answers(Value):
    """What several searches found, in the order of the queries."""

    answers: tuple[Found, ...]


class Notes(Value):
    """A memory's history, oldest first."""

    revisions: tuple[RevisionNote, ...]


class Tools:
    """The tools. `who` tells from a call's context whose call it is, or raises."""

    def __init__(self, call: Call, who: Who, rates: Rates) -> None:
        self._call = call
        self._who = who
        self._paces = Paces(rates)

    async def memory_search(
        self,
        context: Context[Any, Any],
        *,
        query: Annotated[str, Field(description="What you want to know, in plain words.")],
        k: Hits = 5,
        scopes: Annotated[list[str] | None, Field(description="Only of these scopes.")] = None,
        types: Annotated[list[MemoryType] | None, Field(description="Only of these.")] = None,
        task_type: Annotated[str | None, Field(description="Narrows experiences.")] = None,
        tools: Annotated[
            tuple[str, ...], Field(description="Tools at hand; narrows experiences.")
        ] = (),
        since: Time = None,
        until: Time = None,
        run_id: Annotated[str | None, Field(description="The run this is for, if any.")] = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find what is remembered, as far as you may read it: dated, with ids, best first."""
        fields = {
            "query": query, "k": k, "scopes": scopes, "types": types, "task_type": task_type,
            "tools": tools, "since": since, "until": until, "run_id": run_id,
        }  # fmt: skip
        found: Found = await self._answer(context, c.Search, fields)
        return _result(_text(found), found)

    async def memory_search_many(
        self,
        context: Context[Any, Any],
        *,
        queries: Annotated[
            list[str],
            Field(min_length=1, max_length=50, description="Several questions, in plain words."),
        ],
        k: Hits = 5,
        run_id: Annotated[str | None, Field(description="The run this is for, if any.")] = None,
    ) -> Annotated[CallToolResult, Answers]:
        """Find memories for several questions in one call, answered in order."""
        try:
            searches = tuple(
                build(c.Search, {"query": one, "k": k, "run_id": run_id}) for one in queries
            )
        except InvalidInput as error:
            raise _refusal(named(error, "queries")) from None
        found: tuple[Found, ...] = await self._answer(context, c.SearchMany, {"searches": searches})
        texts = [f"{query}\n{_text(one)}" for query, one in zip(queries, found, strict=True)]
        return _result("\n\n".join(texts), Answers(answers=found))

    async def memory_get(self, context: Context[Any, Any], *, memory_id: MemoryId) -> Memory:
        """One memory as it is now: its text, scope, source, steps and revision."""
        return await self._answer(context, c.Get, {"memory_id": memory_id})

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
        confidence: Portion = 0.8,
        importance: Portion = 0.5,
        tags: Annotated[tuple[str, ...], Field(max_length=32)] = (),
        steps: Annotated[tuple[str, ...], Field(max_length=50, description="Of a procedure.")] = (),
        source: Annotated[
            Literal["user", "agent", "tool"], Field(description="Who said it.")
        ] = "agent",
        expires_at: Time = None,
        command_id: CommandId = None,
    ) -> Receipt:
        """Keep a statement for later. Answers what became of it: stored, duplicate, pending …"""
        fields = {
            "content": content, "scope": scope, "type": type, "topic": topic, "tags": tags,
            "confidence": confidence, "importance": importance, "steps": steps,
            "source": source, "expires_at": expires_at, "command_id": fresh_unless(command_id),
        }  # fmt: skip
        return await self._answer(context, c.Write, fields)

    async def memory_update(
        self,
        context: Context[Any, Any],
        *,
        memory_id: MemoryId,
        content: str | None = None,
        confidence: Portion | None = None,
        importance: Portion | None = None,
        tags: Annotated[list[str] | None, Field(description="In place of those before.")] = None,
        expires_at: Time = None,
        if_revision: Annotated[
            Count | None, Field(description="Refuse if the memory has moved on from this revision.")
        ] = None,
        command_id: CommandId = None,
    ) -> Receipt:
        """Change a memory; what is left out stays."""
        fields = {
            "memory_id": memory_id, "content": content, "confidence": confidence, "tags": tags,
            "importance": importance, "expires_at": expires_at, "if_revision": if_revision,
            "command_id": fresh_unless(command_id),
        }  # fmt: skip
        return await self._answer(context, c.Update, fields)

    async def memory_forget(
        self, context: Context[Any, Any], *, memory_id: MemoryId, command_id: CommandId = None
    ) -> Receipt:
        """Take a memory out of every answer."""
        fields = {"memory_id": memory_id, "command_id": fresh_unless(command_id)}
        return await self._answer(context, c.Forget, fields)

    async def memory_history(self, context: Context[Any, Any], *, memory_id: MemoryId) -> Notes:
        """Who changed a memory, when and why, and what it said then."""
        notes = await self._answer(context, c.History, {"memory_id": memory_id})
        return Notes(revisions=tuple(notes))

    async def memory_explain(
        self, context: Context[Any, Any], *, memory_id: MemoryId
    ) -> c.Explanation:
        """What a memory rests on: the events that it cites, and what it was derived from."""
        return await self._answer(context, c.Explain, {"memory_id": memory_id})

    async def memory_why(
        self,
        context: Context[Any, Any],
        *,
        action: Action,
        object: Annotated[str, Field(description="A scope, or a memory's id.")],  # noqa: A002 - the vocabulary's word
    ) -> c.WhyAnswer:
        """Why you may or may not do something: the rule and its revision. For auditors."""
        return await self._answer(context, c.Why, {"action": action, "object": object})

    async def memory_review(self, context: Context[Any, Any], *, run_id: RunId) -> ReviewReport:
        """Look back at a run now, and keep what it teaches."""
        return await self._answer(context, c.ReviewRun, {"run_id": run_id})

    async def memory_attribute(
        self,
        context: Context[Any, Any],
        *,
        run_id: RunId,
        method: Annotated[
            Literal["provenance", "blame", "spectrum", "judge"],
            Field(description="By its structure, its failures, its like, or a model's opinion."),
        ] = "provenance",
    ) -> Attribution:
        """Share a run's outcome among the decisions that led to it, or say why not."""
        return await self._answer(context, c.Attribute, {"run_id": run_id, "method": method})

    async def _answer(
        self,
        context: Context[Any, Any],
        kind: type[c.Command],
        fields: Mapping[str, Any],
    ) -> Any:
        """Ask the door as whoever this call is from; our refusals become the tool's."""
        try:
            asking = await self._who(context)
            self._paces.take(asking.ticket_id, kind, time.monotonic())
            command = build(kind, fields)
            self._paces.take_rest(asking.ticket_id, command, time.monotonic())
            return await self._call(asking.token, command)
        except HindsightError as error:
            raise _refusal(error) from None


class ClearTool(Tool):
    """A tool whose refusal of an argument names it and the rule, in this package's words."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """As the SDK runs it, but for arguments that are wrong."""
        try:
            _refuse_unknown(arguments, self.parameters["properties"])
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise _refusal(told(error)) from None
        except HindsightError as error:
            raise _refusal(error) from None
        return await super().run(arguments, context, convert_result)


def every_tool(tools: Tools) -> list[Tool]:
    """The tools as a server offers them."""
    reading = (
        tools.memory_search, tools.memory_search_many, tools.memory_get, tools.memory_history,
        tools.memory_explain, tools.memory_why, tools.memory_attribute,
    )  # fmt: skip
    adding = (tools.memory_write, tools.memory_review)
    changing = (tools.memory_update, tools.memory_forget)
    return [
        *(_tool(one, read_only=True, destructive=False) for one in reading),
        *(_tool(one, read_only=False, destructive=False) for one in adding),
        *(_tool(one, read_only=False, destructive=True) for one in changing),
    ]


def _tool(function: Callable[..., Any], *, read_only: bool, destructive: bool) -> Tool:
    hints = ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, open_world_hint=False
    )
    tool = ClearTool.from_function(function, annotations=hints)
    tool.parameters["additionalProperties"] = False
    return tool


def _refusal(error: HindsightError) -> ToolError:
    """What it quotes of a call is masked, also where no tenant's own word was asked for."""
    error = clean_error(error, EVERYTHING)
    return ToolError(f"{type(error).__name__}: {error.message}")


def _refuse_unknown(given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """An argument that no tool has (a tenant, say) is refused, not passed over in silence."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidInput(
            f"`{unknown[0]}` is no argument of this tool, which takes"
            f" {', '.join(f'`{one}`' for one in known)}",
            field=unknown[0],
        )


def _text(found: Found) -> str:
    return found.render(ids=True) if found.hits else _NOTHING


def _result(text: str, value: Value) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=value.model_dump(mode="json"),
    )
