"""Every argument of every public call, given what it must not be: named, and nothing is changed."""

import inspect
import math
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_ray.client import Hindsight, Memory, RunRecorder
from hindsight_ray.errors import InvalidInput
from tests.clients import Client, client

_ID = "018f2f6e-0000-7000-8000-000000000001"
_NO_TEXT: tuple[Any, ...] = (b"x", 5, True, [], {}, object(), "\ud800", "a\0b")
_PAST = datetime(2001, 1, 1, tzinfo=UTC)
_NO_TIME = (datetime(2030, 1, 1), date(2030, 1, 1), "yesterday", "5", 5, 5.0, True, [], b"x")  # noqa: DTZ001
_LISTS = ("global", b"x", 5, True, [b"x"], [5], [None], ["\ud800"])

# What each kind of argument must not be.
HOSTILE: dict[str, tuple[Any, ...]] = {
    "text": (*_NO_TEXT, "", " \n", "x" * 100_000),
    "maybe empty": (*_NO_TEXT, "x" * 100_000),
    "cut": _NO_TEXT,  # may be empty; longer ones are cut to their limit, and said to be
    "whole file": (b"x", 5, True, [], {}),
    "name": (*_NO_TEXT, "", " ", "a b", "x" * 129, "-x"),
    "id": (*_NO_TEXT, "", "x", _ID.upper(), f"{_ID} "),
    "scope": (*_NO_TEXT, "", "everywhere", "user:", "user:a b", "User:a", "user:a:b"),
    "principal": (*_NO_TEXT, "", "alice", "user:", "global"),
    "object": (*_NO_TEXT, "", "everywhere", "user:"),
    "choice": (*_NO_TEXT, "", "nonsense"),
    "portion": (True, "0.5", b"1", math.nan, math.inf, -0.1, 1.1, 10**400, [], object()),
    "score": (True, "0.5", math.nan, -math.inf, -1.1, 10**400, [], object()),
    "limit": (True, "5", 1.5, math.nan, math.inf, 0, -1, 10**30, [], object()),
    "count": (True, "5", 1.5, math.nan, -1, 10**30, [], object()),
    "seed": (True, "5", 1.5, math.inf, 10**30, -(10**30), []),
    "truth": (1, 0, "yes", "true", [], object()),
    "time": _NO_TIME,
    "end": (*_NO_TIME, _PAST),
    "texts": (*_LISTS, [""]),
    "choices": (*_LISTS, ["nonsense"], []),
    "scopes": (*_LISTS, ["everywhere"], []),
    "narrowing": (*_LISTS, ["everywhere"]),
    "names": (*_LISTS, ["a b"]),
    "ids": (*_LISTS, ["x"], []),
    "used": (*_LISTS, ["x"]),
    "causes": ("x", b"x", 5, True, [b"x"], [5], [None], ["\ud800"], ["x"]),
    "queries": (*_LISTS[1:], "x", [""], []),
    "values": ("x", b"x", 5, ["x"], [5]),
    "fields": ("x", 5, [1], {"": "x"}, {"a": 5}, {5: "a"}, {"a": "\0"}),
    "ticket": (b"x", 5, True, None, []),
}

KINDS = {
    "action": "choice", "actions": "choices", "agent": "name", "api_base": "text",
    "before": "id", "causes": "causes", "command_id": "name", "confidence": "portion",
    "content": "text", "decision": "choice", "dimension": "limit", "edge_evidence": "choice",
    "begin": "truth", "effect": "choice", "principal": "principal",
    "evaluator": "text", "expires_at": "end", "format": "choice", "goal": "text",
    "if_revision": "count", "importance": "portion", "intent": "maybe empty", "k": "limit",
    "labels": "names", "last_user_input": "cut", "layer": "choice",
    "layers": "choices", "lifetime_s": "limit", "limit": "limit", "list_only": "truth",
    "memory_id": "id", "memory_ids": "ids", "method": "choice", "model": "text", "n": "limit",
    "name": "text", "object": "object", "pairs": "values", "personal": "choice",
    "project": "text", "query": "text", "run": "id", "run_id": "id", "scene": "fields",
    "scope": "scope", "scopes": "scopes", "seals": "values", "searches": "queries",
    "secrets": "choice", "seed": "seed", "session": "name", "since": "time", "skip": "count",
    "slice_": "limit",
    "source": "choice", "status_code": "seed", "statuses": "choices", "state": "fields",
    "state_digest": "maybe empty", "steps": "texts", "subtask": "maybe empty",
    "success": "truth", "summary": "cut", "tags": "texts", "task_type": "text",
    "tenant": "name", "text": "text", "ticket": "ticket", "ticket_id": "name", "to": "principal",
    "tokens": "count", "tools": "texts", "topic": "text", "trusted": "truth", "type": "choice",
    "types": "choices", "until": "end", "used": "used", "user": "name", "value": "score",
    "verdict": "choice", "why": "maybe empty", "at_least": "count",
}  # fmt: skip
# Where a name means something else in one call.
ELSEWHERE = {
    "policy.text": "whole file", "import_runs.text": "whole file", "search.until": "time",
    "issue_ticket.scopes": "narrowing", "issue_ticket.actions": "used", "message.to": "name",
    "decide.text": "cut", "message.text": "cut", "llm.text": "cut", "user.text": "cut",
    "state.text": "cut", "snapshot.goal": "cut",
    "snapshot.subtask": "cut", "set_working.goal": "maybe empty",
    "expires_at": "end",
}  # fmt: skip
# What a call is given beside the one that is wrong.
NEEDED: dict[str, Any] = {
    "action": "read", "command_id": None, "content": "The depot opens at nine",
    "decision": "accept", "evaluator": "caller", "format": "openai-messages", "goal": "g",
    "memory_id": _ID, "memory_ids": [_ID], "model": "hashed", "name": "deploy",
    "object": "global", "pairs": [{"a": "x", "b": "y", "kind": "unrelated"}] * 4,
    "project": "apollo", "query": "depot", "run": _ID, "run_id": _ID, "scope": "user:alice",
    "searches": ["depot"], "tenant": "acme", "text": "x", "ticket": "x",
    "ticket_id": "0" * 32, "to": "user:bob", "user": "alice", "value": 0.5, "verdict": "good",
}  # fmt: skip
# Objects of the caller's own, what only passes values on, and what takes no argument.
UNTRIED = frozenset({
    "recorder.offer", "memory.ask", "recorder.tool.arguments", "recorder.tool.result",
    "recorder.tool.error", "memory.attribute.environment",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Open:
    """A client with memories of alice's agent, of the operator and of alice, and an open run."""

    client: Client
    memory: Memory
    operator: Memory
    owner: Memory
    run: RunRecorder
    written: str
    home: Path

    def counts(self) -> dict[str, int]:
        """How many rows there are of everything."""
        with closing(sqlite3.connect(next(self.home.rglob("*.sqlite3")))) as ledger:
            names = [
                name
                for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type='table'")
            ]
            return {
                name: ledger.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
                for name in names
            }


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncGenerator[Open]:
    async with client(tmp_path) as home:
        memory = await home.memory(agent="planner", user="alice", session="s1")
        async with memory.run(goal="g") as run:
            run.state("first")
            await run.flush()
            owner = await home.memory(user="alice")
            wrote = await owner.write("The depot opens at nine")
            yield Open(
                home, memory, home.hindsight.operator("acme"), owner, run, wrote.ids[0], tmp_path
            )


def _calls() -> Iterable[tuple[str, Any]]:
    for prefix, kind in (("memory", Memory), ("recorder", RunRecorder), ("hindsight", Hindsight)):
        for name, function in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{prefix}.{name}", function


def _arguments() -> dict[str, str]:
    """Each argument of each public call, with its kind."""
    found: dict[str, str] = {}
    for call, function in _calls():
        for name, one in list(inspect.signature(function).parameters.items())[1:]:
            place = f"{call}.{name}"
            if call in UNTRIED or place in UNTRIED or one.kind is one.VAR_KEYWORD:
                continue
            found[place] = ELSEWHERE.get(f"{call.split('.')[1]}.{name}") or KINDS[name]
    return found


ARGUMENTS = _arguments()


@pytest.mark.covers("inputs.hostile")
@pytest.mark.parametrize("call", sorted({place.rpartition(".")[0] for place in ARGUMENTS}))
async def test_what_an_argument_must_not_be_is_refused_by_its_name(opened: Open, call: str) -> None:
    before = opened.counts()
    for place, kind in ARGUMENTS.items():
        of, _, name = place.rpartition(".")
        for wrong in HOSTILE[kind] if of == call else ():
            with pytest.raises(InvalidInput) as refused:
                await _carried(*_given(opened, call, name, wrong))
            told = refused.value.message
            assert f"`{name.rstrip('_')}" in told, (name, wrong, told)
            assert len(told) < 500
            assert "\n" not in told
            told.encode("utf-8")
    assert opened.counts() == before
    assert opened.run.unshipped == 0


def _given(
    opened: Open, place: str, name: str, wrong: object
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The call, by somebody who may make it, and its arguments, one of them wrong."""
    holder, _, call = place.partition(".")
    owner: Any = {"memory": opened.memory, "recorder": opened.run}.get(
        holder, opened.client.hindsight
    )
    if call in ("policy", "reembed", "calibrate", "maintain", "import_runs", "revoke_ticket"):
        owner = opened.operator
    if call in ("share", "revoke", "update"):
        owner = opened.owner
    function = getattr(owner, call)
    given = {**_needed(function, call), name: wrong}
    if call == "update" and name != "memory_id":
        given["memory_id"] = opened.written
    return function, given


def _needed(function: Callable[..., Any], call: str) -> dict[str, Any]:
    """What the call cannot do without."""
    needed = {
        name: NEEDED[name]
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    if call == "message":
        needed["to"] = "executor"
    return needed


async def _carried(function: Callable[..., Any], given: dict[str, Any]) -> None:
    answer = function(**given)
    if isinstance(answer, Memory):
        answer = answer.whoami()
    if inspect.isawaitable(answer) or hasattr(answer, "__await__"):
        await answer


async def test_numbers_of_a_simulation_s_own_library_are_numbers(opened: Open) -> None:
    opened.run.llm("Wait for the tide", tokens=np.int64(12), seed=np.int32(7))  # type: ignore[arg-type]
    opened.run.outcome(np.float32(0.5), success=np.bool_(True))  # type: ignore[arg-type]
    await opened.run.flush()
    trajectory = await opened.memory.trajectory(opened.run)
    assert trajectory.outcomes[0].value == 0.5
    assert trajectory.events[-1].tokens == 12
    assert (await opened.memory.search("tide", k=np.int64(3))).hits  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`value`"):
        opened.run.outcome(np.float32(3.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="`value`"):
        opened.run.outcome(np.array([0.5, 0.5]))  # type: ignore[arg-type]


@pytest.mark.covers("inputs.hostile")
async def test_what_is_right_is_taken_by_the_same_calls(opened: Open) -> None:
    """The table's own arguments are good ones: else every refusal above would show nothing."""
    for call in ("search", "write", "search_many", "note", "pending", "runs"):
        function = getattr(opened.memory, call)
        await _carried(function, _needed(function, call))
    for call in ("decide", "tool", "message", "llm", "state"):
        function = getattr(opened.run, call)
        await _carried(function, _needed(function, call))
    assert opened.run.unshipped == 5
