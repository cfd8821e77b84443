"""Reads failure logs of teams of agents in the Who&When shape.

An item has a `question` and a `history` of turns, a list or the text of a Python literal. Who
speaks is the turn's `name`, or its `role` without a suffix such as `(-> WebSurfer)` or `(thought)`.
Each turn is one event at its position: a terminal's is a `tool` event (observed from the turn whose
code it ran), a human's a `user` event, any other a `decision` of the speaker, inferred from the
turn before. `mistake_agent`, `mistake_step` and `mistake_reason` are kept as an annotation.
"""

import ast
import re
from collections.abc import Sequence

from hindsight_ray.core.logs.names import UNNAMED
from hindsight_ray.core.logs.results import call_and_result, call_words, tool_call
from hindsight_ray.core.logs.shape import (
    LogRemark,
    LogRun,
    LogStep,
    ParsedLog,
    loaded,
    parsed,
    text_of,
)
from hindsight_ray.core.logs.times import said_at
from hindsight_ray.core.steps import one_line, shortened
from hindsight_ray.core.values import Fields, as_list, as_object, as_text
from hindsight_ray.domain.event import EventKind
from hindsight_ray.errors import InvalidImport, InvalidInput

_TASK_TYPE = "question"
_SUFFIX = re.compile(r"\s*\((?:->\s*(?P<to>[^()]*?)\s*|[^()]*)\)\s*\Z")
_HUMANS = frozenset({"human", "user", "user proxy", "userproxy"})
_TERMINAL = re.compile(r"computer[_ ]?terminal\Z", re.IGNORECASE)
_CODE = re.compile(r"```[^\n]*\n(?P<code>.*?)(?:```|\Z)", re.DOTALL)
_FAILURE_VALUE = -1.0  # of a run that its log says failed
_SUCCESS_VALUE = 1.0
_DIGITS_MAX = 9


def parse(text: str) -> ParsedLog:
    """The runs of the file, and the items left out. Raises `InvalidImport` for no such file."""
    document = loaded(text)
    items = as_list(document)
    if items is None and as_object(document) is None:
        raise InvalidImport("`file` must hold a list of logs or one log")
    return parsed(items if items is not None else [document], _run)


def speaker(turn: Fields) -> tuple[str, str | None]:
    """Who speaks, and to whom if the role says so."""
    name = turn.get("name")
    if isinstance(name, str) and name.strip():
        return name.strip(), None
    role = turn.get("role")
    if not isinstance(role, str) or not role.strip():
        raise InvalidInput("`history` holds a turn with neither `name` nor `role`")
    suffix = _SUFFIX.search(role)
    if suffix is None:
        return role.strip(), None
    return role[: suffix.start()].strip() or UNNAMED, suffix["to"] or None


def _run(item: object, item_digest: str) -> LogRun:
    fields = as_object(item)
    if fields is None:
        raise InvalidInput(f"`log` must be an object, not {type(item).__name__}")
    question = as_text(fields.get("question"))
    if not question:
        raise InvalidInput("`question` is missing or empty")
    steps = _steps(_history(fields.get("history")))
    tools = dict.fromkeys(step.tool.name for step in steps if step.tool is not None)
    return LogRun(
        digest=item_digest,
        goal=question,
        task_type=_TASK_TYPE,
        steps=tuple(steps),
        tools=tuple(tools),
        reward=_reward(fields),
        remarks=tuple(_remarks(fields, len(steps))),
    )


def _history(history: object) -> list[Fields]:
    if isinstance(history, str):
        try:
            history = ast.literal_eval(history)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            raise InvalidInput("`history` is text, but not that of a list of turns") from None
    turns = as_list(history)
    if not turns:
        raise InvalidInput("`history` must be a list with at least one turn")
    found = [fields for fields in map(as_object, turns) if fields is not None]
    if len(found) < len(turns):
        raise InvalidInput("`history` holds a turn that is no object")
    return found


def _steps(history: Sequence[Fields]) -> list[LogStep]:
    speakers = [speaker(turn) for turn in history]
    hearer = next((name for name, _ in speakers if not _is_human(name)), UNNAMED)
    texts = [text_of(turn.get("content")) for turn in history]
    steps: list[LogStep] = []
    for position, ((name, to), text) in enumerate(zip(speakers, texts, strict=True)):
        causes = (position - 1,) if position else ()
        at = said_at(history[position])
        if _TERMINAL.match(name):
            code = _code(texts, position)
            call = shortened(call_words(name, code), 400)
            tool = tool_call(name, code, text)
            summary = call_and_result(call, text)
            step = LogStep(
                position, name, "tool", summary, causes, evidence="observed", tool=tool, at=at
            )
            steps.append(step)
            continue
        human = _is_human(name)
        kind: EventKind = "user" if human else "decision"
        agent = hearer if human else name
        steps.append(LogStep(position, agent, kind, text.strip(), causes, to=to, at=at))
    return steps


def _code(texts: Sequence[str], position: int) -> str | None:
    """The code that the terminal ran: the last turn's with any, of the three before; or None."""
    for text in reversed(texts[max(0, position - 3) : position]):
        found = _CODE.search(text)
        if found is not None:
            return one_line(found["code"])
    return None


def _is_human(name: str) -> bool:
    return name.casefold() in _HUMANS


def _reward(item: Fields) -> float | None:
    """1 or -1 where the log says whether the answer was right; nothing else is a reward."""
    for key in ("is_correct", "is_corrected"):
        right = item.get(key)
        if isinstance(right, bool):
            return _SUCCESS_VALUE if right else _FAILURE_VALUE
    return None


def _remarks(item: Fields, steps: int) -> list[LogRemark]:
    agent, step, reason = (item.get(f"mistake_{part}") for part in ("agent", "step", "reason"))
    if agent is None and step is None and reason is None:
        return []
    position = _position(step, steps)
    text = str(reason or "")
    if position is None and step is not None:
        text = f"(step {step!r} is not in the log) {text}"
    name = speaker({"role": agent})[0] if isinstance(agent, str) and agent.strip() else None
    return [LogRemark("mistake", text, agent=name, position=position)]


def _position(step: object, steps: int) -> int | None:
    if isinstance(step, str) and step.strip().isascii() and step.strip().isdigit():
        step = int(step) if len(step) <= _DIGITS_MAX else None
    if isinstance(step, int) and not isinstance(step, bool) and 0 <= step < steps:
        return step
    return None
