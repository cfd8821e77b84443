"""What a value of the domain refuses: more than it keeps, numbers past every store, no text."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from hindsight_ray.domain.base import Value, build
from hindsight_ray.domain.commands import Search, StartRun
from hindsight_ray.domain.event import Event, MemoryRef, ToolCall
from hindsight_ray.domain.memory import Scene
from hindsight_ray.domain.run import Run, WorkingState
from hindsight_ray.domain.text import Content, Line, LongText, Query, Short, Summary, checked_time
from hindsight_ray.errors import InvalidInput

ONE = "00000000-0000-5000-8000-000000000001"
TWO = "00000000-0000-5000-8000-000000000002"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVENT = {
    "event_id": ONE,
    "run_id": TWO,
    "agent": "planner",
    "incarnation": "one",
    "seq": 0,
    "timestamp": NOW,
    "kind": "decision",
    "summary": "roll back",
}
RUN = {
    "run_id": ONE,
    "tenant": "ops",
    "scope": "global",
    "audience": ("global",),
    "goal": "g",
    "task_type": "t",
    "goal_digest": "",
    "started_at": NOW,
}
MANY = tuple(f"tool {n}" for n in range(201))


def refused(kind: type[Value], fields: Mapping[str, Any]) -> str:
    with pytest.raises(InvalidInput) as caught:
        build(kind, fields)
    return str(caught.value)


@pytest.mark.parametrize(
    "state",
    [
        {str(n): "" for n in range(101)},
        {"a\x00": "b"},
        {"\ud800": "b"},
        {"": "b"},
        {"k" * 201: "b"},
        {"a": "\x00"},
        {"a": "\ud800"},
        {"a": "b" * 1_001},
    ],
)
def test_a_working_state_keeps_a_hundred_short_names_with_a_summary_each(
    state: dict[str, str],
) -> None:
    kept = {str(n): "b" * 1_000 for n in range(100)}
    assert build(WorkingState, {"state": kept}).state == kept
    refused(WorkingState, {"state": state})


@pytest.mark.parametrize("digest", ["a" * 129, "a\x00", "a\n", "\ud800", "é", b"a"])
def test_a_digest_is_at_most_128_printable_ascii_characters(digest: object) -> None:
    fine = "~" + "0" * 64
    call = {"name": "deploy", "arguments_digest": fine, "result_digest": "x" * 128}
    build(Event, {**EVENT, "tool": build(ToolCall, call), "state_digest": fine})
    assert "arguments_digest" in refused(ToolCall, {**call, "arguments_digest": digest})
    assert "result_digest" in refused(ToolCall, {**call, "result_digest": digest})
    assert "state_digest" in refused(Event, {**EVENT, "state_digest": digest})


@pytest.mark.parametrize(
    ("field", "worst"),
    [
        ("incarnation", ""),
        ("incarnation", "a\x00"),
        ("incarnation", "a" * 65),
        ("seq", 2**53 + 1),
        ("seed", 2**63),
        ("seed", -(2**63) - 1),
        ("seed", 10**400),
        ("tokens", 2**53 + 1),
    ],
)
def test_an_event_refuses_numbers_and_names_that_no_store_keeps(field: str, worst: object) -> None:
    build(Event, {**EVENT, "seq": 2**53, "seed": -(2**63), "tokens": 2**53})
    assert f"`{field}`" in refused(Event, {**EVENT, field: worst})


@pytest.mark.parametrize("revision", [-1, 2**31 + 1, 10**30])
def test_a_memory_is_named_at_a_revision_that_it_can_have(revision: int) -> None:
    build(MemoryRef, {"id": ONE, "revision": 0})
    assert "`revision`" in refused(MemoryRef, {"id": ONE, "revision": revision})


def test_an_event_cannot_be_its_own_cause() -> None:
    build(Event, {**EVENT, "causes": (TWO,)})
    assert "name itself" in refused(Event, {**EVENT, "causes": (TWO, ONE)})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (StartRun, {"command_id": "c", "goal": "g"}),
        (Run, RUN),
        (Scene, {"task_type": "t"}),
        (Search, {"query": "q"}),
    ],
)
def test_at_most_two_hundred_tools_are_named(kind: type[Value], fields: dict[str, Any]) -> None:
    build(kind, {**fields, "tools": MANY[:200]})
    assert "`tools`" in refused(kind, {**fields, "tools": MANY})


def test_a_run_refuses_a_seed_beyond_64_bits() -> None:
    assert "`seed`" in refused(StartRun, {"command_id": "c", "goal": "g", "seed": 2**63})
    assert "`seed`" in refused(Run, {**RUN, "seed": 2**63})


@pytest.mark.parametrize(("year", "hours"), [(9999, -14), (1, 14)])
def test_a_time_that_utc_cannot_express_is_invalid(year: int, hours: int) -> None:
    month, day, hour = (12, 31, 23) if year > 1 else (1, 1, 0)
    moment = datetime(year, month, day, hour, tzinfo=timezone(timedelta(hours=hours)))
    with pytest.raises(InvalidInput, match="9999"):
        checked_time(moment)
    assert "9999" in refused(Event, {**EVENT, "timestamp": moment})


@pytest.mark.parametrize("kind", [Content, Line, LongText, Query, Short, Summary])
def test_bytes_are_no_text(kind: Any) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    assert adapter.validate_python("said") == "said"
    assert adapter.validate_json('"said"') == "said"
    with pytest.raises(ValidationError):
        adapter.validate_python(b"said")
    with pytest.raises(ValidationError):
        adapter.validate_python(5)
