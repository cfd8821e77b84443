"""How is a lesson said? One sentence to "you" that fits one memory and names the way out.

The tool's name and the summary of the call that worked are kept as they were recorded, so that
whoever finds the advice, a model or a simple policy, can make the same call. Only where that
summary is too long does the difference between the failed and the working call stand for it.
"""

from collections.abc import Iterator

from hindsight_ray.core.differences import difference
from hindsight_ray.core.fixes import Fix
from hindsight_ray.core.steps import (
    RESULT_SIGN,
    call_shown,
    call_text,
    error_of,
    failed,
    one_line,
    shortened,
)
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.text import CONTENT_CHARACTERS_MAX

_TOOL_CHARACTERS = 60
_ERROR_CHARACTERS_MIN = 32


def for_failure(fix: Fix) -> str | None:
    """What to do when this tool fails so, in at most 200 characters; None if they cannot say it."""
    tool = shortened(_name(fix.failures[-1]), _TOOL_CHARACTERS)
    error = error_of(fix.failures[-1])
    if fix.same_arguments and fix.told_by is None:
        return _fitted(tool, error, "try the same call again: it worked after failing")
    ask = ""
    if fix.told_by is not None:
        said = shortened(fix.told_by.summary, 60)
        ask = f"ask {shortened(fix.told_by.agent, 30)} (“{said}”), then "
    head = len(_fitted(tool, "", ask)) + _ERROR_CHARACTERS_MIN
    way = _way(fix, CONTENT_CHARACTERS_MAX - head)
    return None if way is None else _fitted(tool, error, ask + way)


def for_repeat(first: Event, again: Event) -> str:
    call = shortened(call_text(again), 90)
    if first.agent == again.agent:
        return _cut(
            f"When you have the result of {call}, you should reuse it:"
            " asking again brought the same"
        )
    return _cut(
        f"When {shortened(first.agent, 30)} has called {call}, you should ask for that result;"
        " the same call brought the same"
    )


def for_loop(loop: list[Event]) -> str:
    if all(map(failed, loop)):
        step, end = shortened(call_text(loop[0]), 90), "it failed the same way"
    else:
        step, end = shortened(call_text(loop[0]), 70), "it brought the same, and the run went badly"
    return _cut(
        f"When “{step}” brings nothing new a second time, you should change the plan:"
        f" {len(loop)} times {end}"
    )


def for_retraction(wrong: Event, instead: Event) -> str:
    return _cut(
        f"When you are about to “{shortened(wrong.summary, 70)}”, you should rather:"
        f" {shortened(instead.summary, 70)}"
    )


def _fitted(tool: str, error: str, way: str) -> str:
    """The sentence, with the error cut to what the way out leaves room for."""
    tail = f", you should {way}"
    room = CONTENT_CHARACTERS_MAX - len(f'When {tool} fails ("")') - len(tail)
    said = f'("{shortened(error, room)}")' if error and room > 3 else "so"
    return _cut(f"When {tool} fails {said}{tail}")


def _way(fix: Fix, room: int) -> str | None:
    """The working call: its summary as recorded, else the call alone, else what was changed."""
    head = "do: " if fix.same_tool else f"use {shortened(_name(fix.success), _TOOL_CHARACTERS)}: "
    room -= len(head)
    for text in _sayings(fix):
        if 0 < len(text) <= room:
            return head + text
    call = one_line(call_text(fix.success))
    if fix.same_tool:
        change = difference(call_text(fix.failures[-1]), call)
        if change and len(change) + 4 <= room:
            return f"call it {change}"
    return head + shortened(call, room) if len(call) <= 2 * room else None


def _sayings(fix: Fix) -> Iterator[str]:
    """Ways to say the working call, the fullest first.

    Where the summary shows only what came back, the decision behind the call says what was done.
    """
    summary = one_line(fix.success.summary)
    if call_shown(fix.success):
        yield summary
        yield one_line(call_shown(fix.success))
        return
    decided = one_line(fix.chosen.summary) if fix.chosen is not None else ""
    if decided:
        yield f"{decided}{RESULT_SIGN}{summary}" if summary else decided
    yield summary
    yield decided


def _name(event: Event) -> str:
    return event.tool.name if event.tool is not None else event.kind


def _cut(text: str) -> str:
    return shortened(text, CONTENT_CHARACTERS_MAX)
