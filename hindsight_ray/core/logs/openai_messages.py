"""Reads OpenAI-style message lists with tool calls, bare or in the τ-bench shape.

A file holds a list of items, one item, a list of message lists, or one message list. An item is an
object with its messages under `traj` or `messages`, and perhaps `task_id`, `trial`, `reward` and
`info`. Each message is one event at its position: an assistant's turn is a `decision` of that
agent (inferred from what came before), a tool's answer a `tool` event (observed from its call), a
user's a `user` event, a system's a `state`. A message may say when it was, as `timestamp`,
`created_at`, `created` or `time`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight_ray.core.logs.names import UNNAMED
from hindsight_ray.core.logs.results import call_and_result, call_words, tool_call
from hindsight_ray.core.logs.shape import (
    LogRun,
    LogStep,
    ParsedLog,
    loaded,
    parsed,
    text_of,
)
from hindsight_ray.core.logs.times import said_at
from hindsight_ray.core.values import Fields, as_list, as_object, as_text
from hindsight_ray.errors import InvalidImport, InvalidInput

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_MESSAGES = ("traj", "messages")
_TASK_TYPE = "dialogue"


def parse(text: str) -> ParsedLog:
    """The runs of the file, and the items left out. Raises `InvalidImport` for no such file."""
    return parsed(_items(loaded(text)), _run)


def _items(document: object) -> list[object]:
    if as_object(document) is not None:
        return [document]
    items = as_list(document)
    if items is None:
        raise InvalidImport("`file` must hold a list of runs, a run, or a list of messages")
    bare = bool(items) and all("role" in (as_object(one) or {}) for one in items)
    return [items] if bare else items


def _run(item: object, item_digest: str) -> LogRun:
    fields = as_object(item) or {}
    bare = as_list(item)
    messages = bare if bare is not None else _messages(item)
    if not messages:
        raise InvalidInput("`messages` must be a list with at least one message")
    reading = _Reading()
    for position, message in enumerate(messages):
        reading.take(position, message)
    return LogRun(
        digest=item_digest,
        goal=_goal(fields, messages),
        task=_task(fields),
        task_type=as_text(fields.get("task_type")) or _TASK_TYPE,
        steps=tuple(reading.steps),
        tools=tuple(sorted(reading.tools)),
        reward=reward(fields.get("reward")),
    )


def _messages(item: object) -> list[object] | None:
    fields = as_object(item)
    if fields is None:
        raise InvalidInput(f"`run` must be an object or a list, not {type(item).__name__}")
    for key in _MESSAGES:
        if key in fields:
            return as_list(fields[key])
    raise InvalidInput("`run` has its messages neither under `traj` nor under `messages`")


def reward(value: object) -> float | None:
    """A reward from -1 to 1; None if there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return 1.0 if value else 0.0
    if not isinstance(value, int | float) or not -1 <= value <= 1:
        raise InvalidInput(f"`reward` {value!r} must be a number from -1 to 1")
    return float(value)


def _task(fields: Fields) -> str:
    """What τ-bench says the task was, by which trials of one task are known to be comparable.

    It instructs the user that was played; no agent saw it, so no text of the run may say it.
    """
    info = as_object(fields.get("info")) or {}
    return as_text((as_object(info.get("task")) or {}).get("instruction"))


def _goal(fields: Fields, messages: Sequence[object]) -> str:
    """The goal that the log names, else what the agents were told first: the user's first words."""
    if as_text(fields.get("goal")):
        return as_text(fields.get("goal"))
    for message in map(as_object, messages):
        if message is not None and message.get("role") == "user":
            said = text_of(message.get("content")).strip()
            if said:
                return said
    return ""


@dataclass(slots=True)
class _Call:
    """A tool call that waits for its answer."""

    at: int
    id: str
    name: str
    arguments: object


@dataclass(slots=True)
class _Reading:
    """Messages read so far."""

    steps: list[LogStep] = field(default_factory=list)
    tools: set[str] = field(default_factory=set)
    waiting: list[_Call] = field(default_factory=list)
    agent: str = UNNAMED
    fresh: list[int] = field(default_factory=list)  # positions since the last turn of an agent

    def take(self, position: int, item: object) -> None:
        message = as_object(item)
        if message is None:
            raise InvalidInput(f"`message` {position} must be an object")
        role = message.get("role")
        if role not in _ROLES:
            raise InvalidInput(f"`message` {position} has the unknown role {role!r}")
        if role == "assistant":
            self._assistant(position, message)
        elif role in ("tool", "function"):
            self._answer(position, message)
        else:
            kind = "user" if role == "user" else "state"
            said = text_of(message.get("content"))
            before = (position - 1,) if kind == "user" and self._spoken() else ()
            self.steps.append(LogStep(position, self.agent, kind, said, causes=before))
        self.steps[-1] = replace(self.steps[-1], at=said_at(message))
        if role != "assistant":
            self.fresh.append(position)

    def _spoken(self) -> bool:
        return any(step.kind == "decision" for step in self.steps)

    def _assistant(self, position: int, message: Fields) -> None:
        self.agent = as_text(message.get("name")) or UNNAMED
        calls = _calls(position, message)
        parts = [text_of(message.get("content")).strip()]
        parts += [f"calls {call_words(call.name, call.arguments)}" for call in calls]
        self.tools.update(call.name for call in calls)
        # An answer that never came is not waited for beyond the next turn: ids repeat in logs.
        self.waiting = calls
        model = as_text(message.get("model")) or None
        step = LogStep(
            position,
            self.agent,
            "decision",
            "\n".join(part for part in parts if part),
            causes=tuple(self.fresh) or ((position - 1,) if position else ()),
            model=model,
        )
        self.steps.append(step)
        self.fresh = []

    def _answer(self, position: int, message: Fields) -> None:
        result = text_of(message.get("content"))
        call = self._paired(message)
        name = call.name if call else as_text(message.get("name")) or "unnamed"
        arguments = call.arguments if call else None
        self.tools.add(name)
        step = LogStep(
            position,
            self.agent,
            "tool",
            call_and_result(call_words(name, arguments), result),
            causes=(call.at,) if call else (position - 1,) if position else (),
            evidence="observed" if call else "inferred",
            tool=tool_call(name, arguments, result),
        )
        self.steps.append(step)

    def _paired(self, message: Fields) -> _Call | None:
        """The call of this turn that the answer belongs to: by id, else by name, else in order."""
        wanted, name = as_text(message.get("tool_call_id")), as_text(message.get("name"))
        by_id = [call for call in self.waiting if wanted and call.id == wanted]
        by_name = [call for call in self.waiting if name and call.name == name]
        usable = by_id or ([] if wanted and self._all_named() else by_name or self.waiting)
        if not usable:
            return None
        found = usable[0]
        self.waiting.remove(found)
        return found

    def _all_named(self) -> bool:
        """Whether every waiting call has an id, so that an unknown id belongs to none of them."""
        return all(call.id for call in self.waiting)


def _calls(position: int, message: Fields) -> list[_Call]:
    listed = as_list(message.get("tool_calls") or [])
    if listed is None:
        raise InvalidInput(f"`tool_calls` of message {position} must be a list")
    single = message.get("function_call")
    entries = [*listed, *([{"function": single}] if single else [])]
    return [_call(position, entry) for entry in entries]


def _call(position: int, item: object) -> _Call:
    entry = as_object(item) or {}
    function = as_object(entry.get("function")) or {}
    name = as_text(function.get("name"))
    if not name:
        raise InvalidInput(f"`tool_calls` of message {position} holds a call without a name")
    return _Call(position, as_text(entry.get("id")), name, _arguments(function.get("arguments")))


def _arguments(given: object) -> object:
    """Arguments as JSON where the text is that; else as the text that a model wrote."""
    if not isinstance(given, str):
        return given if given is not None else {}
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
