"""What the structure of a trajectory says: who caused whom, what failed, what was done twice.

Apart from reviews and attribution because both rest on it, and neither may read more than this.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hindsight_ray.core.digest import bounded_canonical, bounded_digest
from hindsight_ray.domain.event import Event

RESULT_SIGN = " → "  # in a tool event's summary: the call, this, the result
_SIGNS = (RESULT_SIGN, " -> ", " => ")
_NOTHING = bounded_digest(*bounded_canonical(None))  # arguments or a result that nobody gave
_OF_A_PART = "~"  # before the digest of a value too large to be looked at whole
_RETRACTS = re.compile(r"\s*(retract|withdraw|take back|撤回|收回)", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z0-9_@-]+(?:\.[A-Za-z0-9_@-]+)*|[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Steps:
    """Events in order, with the edges between them; causes that are not there are left out."""

    events: tuple[Event, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Event]:
        return {event.event_id: event for event in self.events}

    @cached_property
    def position(self) -> Mapping[str, int]:
        return {event.event_id: n for n, event in enumerate(self.events)}

    @cached_property
    def causes(self) -> Mapping[str, tuple[str, ...]]:
        """Known causes of each event, without repeats."""
        return {
            event.event_id: tuple(dict.fromkeys(c for c in event.causes if c in self.by_id))
            for event in self.events
        }

    @cached_property
    def effects(self) -> Mapping[str, tuple[str, ...]]:
        """The events that cite each event."""
        found: dict[str, list[str]] = {event.event_id: [] for event in self.events}
        for effect, causes in self.causes.items():
            for cause in causes:
                found[cause].append(effect)
        return {cause: tuple(effects) for cause, effects in found.items()}

    @cached_property
    def retracted(self) -> Mapping[str, str]:
        """Events that were taken back, each with the event that did it.

        A `state` or `decision` event whose summary begins with "retract", "withdraw", "take back"
        or 撤回 takes back the events it cites.
        """
        return {
            cause: event.event_id
            for event in self.events
            if event.kind in ("state", "decision") and _RETRACTS.match(event.summary)
            for cause in self.causes[event.event_id]
        }

    @cached_property
    def edges_recorded(self) -> bool:
        """Whether somebody observed or declared an edge; inferred ones prove nothing."""
        return any(
            self.causes[event.event_id] and event.edge_evidence != "inferred"
            for event in self.events
        )

    def ancestors(self, ids: Iterable[str]) -> frozenset[str]:
        """These events and everything they rest on."""
        seen: set[str] = set()
        waiting = list(ids)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting.extend(self.causes[one])
        return frozenset(seen)

    def led_to(self, cause: str, effect: str) -> bool:
        """Whether a recorded path, no edge of it inferred, leads from `cause` to `effect`."""
        seen: set[str] = set()
        waiting = [effect]
        while waiting:
            one = waiting.pop()
            if one == cause:
                return True
            if one in seen or self.by_id[one].edge_evidence == "inferred":
                continue
            seen.add(one)
            waiting.extend(self.causes[one])
        return False

    def has_cycle(self) -> bool:
        """Whether some event rests on itself."""
        missing = {one: len(causes) for one, causes in self.causes.items()}
        ready = [one for one, count in missing.items() if count == 0]
        done = 0
        while ready:
            one = ready.pop()
            done += 1
            for effect in self.effects[one]:
                missing[effect] -= 1
                if missing[effect] == 0:
                    ready.append(effect)
        return done < len(self.events)


def failed(event: Event) -> bool:
    """Whether this is a tool call that came back with an error."""
    return event.tool is not None and event.tool.status == "error"


def succeeded(event: Event) -> bool:
    """Whether this is a tool call that worked."""
    return event.tool is not None and event.tool.status == "ok"


def known_arguments(event: Event) -> str:
    """The digest of a call's arguments, or "" where they were not recorded whole."""
    return _whole(event.tool.arguments_digest) if event.tool is not None else ""


def known_result(event: Event) -> str:
    """The digest of what a call brought, or "" where that was not recorded whole."""
    return _whole(event.tool.result_digest) if event.tool is not None else ""


def _whole(digest: str) -> str:
    """The digest, or "" where it proves nothing equal: of nothing, or of a part only."""
    return "" if digest == _NOTHING or digest.startswith(_OF_A_PART) else digest


def step_key(event: Event) -> tuple[str, ...] | None:
    """What makes two steps of one agent the same, or None for what is no step (user, state).

    A tool call is the same with the same tool and arguments, or words where those are not known;
    any other step with the same words.
    """
    if event.tool is not None:
        arguments = known_arguments(event) or normal(event.summary)
        return (event.agent, "tool", event.tool.name, arguments)
    if event.kind in ("user", "state") or not event.summary.strip():
        return None
    return (event.agent, event.kind, event.to or "", normal(event.summary))


def same_result(first: Event, second: Event) -> bool:
    """Whether two tool calls are known to have brought the same."""
    one, other = first.tool, second.tool
    if one is None or other is None or one.status != other.status:
        return False
    if one.status == "error":
        return bool(one.error_text) and one.error_text == other.error_text
    return bool(known_result(first)) and known_result(first) == known_result(second)


def call_shown(event: Event) -> str:
    """The call, where a tool event's summary shows it before a result sign; else ""."""
    ends = [at for sign in _SIGNS if (at := event.summary.find(sign)) > 0]
    return event.summary[: min(ends)] if ends else ""


def call_text(event: Event) -> str:
    """What a step says of itself: a tool event's call without the result, else its summary."""
    return call_shown(event) or event.summary


def call_and_end(event: Event) -> tuple[str, str]:
    """A tool event's call with its tool's name, and what came back: each once, for people."""
    if event.tool is None:
        return call_text(event), ""
    name, said = event.tool.name, one_line(event.summary)
    call = one_line(call_shown(event))
    end = said[len(call) :].lstrip()[2:].lstrip() if call else ""
    if not call:
        call, end = (said, "") if said.startswith(name) else (name, said)
    elif not call.startswith(name):
        call = f"{name}: {call}"
    if failed(event):
        error = error_of(event)
        end = "" if error in call else error
    return call, end


def error_of(event: Event) -> str:
    """What a failed call said, in one line."""
    if event.tool is None:
        return ""
    said = event.tool.error_text or event.tool.error_type or event.summary
    return one_line(said)


def one_line(text: str) -> str:
    return " ".join(text.split())


def shortened(text: str, limit: int) -> str:
    """`text` in one line of at most `limit` characters, cut with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


def normal(text: str) -> str:
    return " ".join(text.casefold().split())


def words(text: str) -> list[str]:
    """Words and single CJK characters, lower case, for comparing texts by what they share."""
    return [word.casefold() for word in _WORDS.findall(text)]


def overlap(first: str, second: str) -> float:
    """Share of words in common (Jaccard), 0 to 1; 0 where one has none."""
    one, other = set(words(first)), set(words(second))
    return len(one & other) / len(one | other) if one and other else 0.0


def agents_of(events: Sequence[Event]) -> tuple[str, ...]:
    """The agents that recorded these events, in order of appearance."""
    return tuple(dict.fromkeys(str(event.agent) for event in events))
