"""What an agent says of its steps in a run: one call each, which costs its thread microseconds.

A base of `RunRecorder`, which sees to it that what is said here becomes durable. The calls are
plain functions that return the event's id; they may be made from any thread.
"""

import unicodedata
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from typing import Any

from hindsight_ray.client.buffer import EventBuffer
from hindsight_ray.client.calls import Calls
from hindsight_ray.client.lists import listed
from hindsight_ray.client.made import clean, made
from hindsight_ray.core.described import described
from hindsight_ray.core.digest import bounded_canonical, bounded_digest
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.base import build
from hindsight_ray.domain.event import (
    REFS_MAX,
    EdgeEvidence,
    Event,
    EventKind,
    MemoryRef,
    Snapshot,
    ToolCall,
)
from hindsight_ray.domain.faults import named
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.run import Run
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX, cut_text
from hindsight_ray.errors import InvalidInput

_OFFERED_MAX = 10_000  # remembered per run, so that `used=` can name the revision that was seen
_ERROR_STATUS_MIN = 400
_MAX = SUMMARY_CHARACTERS_MAX

Causes = str | Iterable[str]
Used = Found | Iterable[str | MemoryRef]


class Steps:
    """The steps of one agent in one run, numbered and put into its buffer."""

    def __init__(self, calls: Calls, run: Run, *, name: str, buffer: EventBuffer) -> None:
        self._calls = calls
        self._run = run
        self._name = name
        self._buffer = buffer
        self._incarnation = calls.ids.token()
        self._snapshot: Snapshot | None = None
        self._offered: OrderedDict[str, MemoryRef] = OrderedDict()
        self._new_offers: list[MemoryRef] = []
        self._outcomes: list[c.AssertOutcome] = []
        self._asserted = 0
        self._truncated = 0

    @property
    def id(self) -> str:
        return self._run.run_id

    @property
    def value(self) -> Run:
        """The run as it was when this recorder was opened."""
        return self._run

    # What an agent does. Each returns the event's id and raises `InvalidInput` at once.

    def decide(
        self,
        text: str,
        *,
        used: Used = (),
        causes: Causes = (),
        edge_evidence: EdgeEvidence = "declared",
    ) -> EventUuid:
        """Record a decision and the memories it used: ids that this run was offered, or refs."""
        return self._own(
            "decision", text, used=self._refs(used), causes=causes, edge_evidence=edge_evidence
        )

    def tool(
        self,
        name: str,
        *,
        arguments: Any = None,
        result: Any = None,
        error: BaseException | str | None = None,
        status_code: int | None = None,
        summary: str | None = None,
        causes: Causes = (),
        edge_evidence: EdgeEvidence = "declared",
    ) -> EventUuid:
        """Record a tool call: digests of arguments and result, and a `summary` in words.

        Without one it is said as `name(argument=value) → result`, as far as that is short; what
        stands under a secret's name is left out. It failed if there is an `error` or a
        `status_code` of 400 or more.
        """
        result_text, result_cut = bounded_canonical(result)
        call: dict[str, Any] = {
            "name": name,
            "arguments_digest": bounded_digest(*bounded_canonical(arguments)),
            "status_code": status_code,
            "result_digest": bounded_digest(result_text, result_cut),
        }
        if error is not None:
            shown, cut = cut_text(str(error), _MAX)
            call["error_text"] = shown
            call["error_type"] = type(error).__name__ if isinstance(error, BaseException) else ""
        else:
            shown, cut = _shown(result, result_text, result_cut)
        if error is not None or _tells_of_failure(status_code):
            call["status"] = "error"
        if summary is not None:
            shown, shortened = _own_text(summary)
            cut = shortened or (error is not None and cut)
        elif isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            shown, shortened = described(name, arguments, shown)
            cut = cut or shortened
        try:
            done = build(ToolCall, call)
        except InvalidInput as refused:
            raise clean(refused) from None
        return self._record(
            "tool",
            shown,
            truncated=cut,
            tool=done,
            causes=causes,
            edge_evidence=edge_evidence,
        )

    def message(
        self, *, to: str, text: str, causes: Causes = (), edge_evidence: EdgeEvidence = "declared"
    ) -> EventUuid:
        """Record a message to another agent."""
        return self._own("message", text, to=to, causes=causes, edge_evidence=edge_evidence)

    def llm(
        self,
        text: str,
        *,
        model: str | None = None,
        tokens: int | None = None,
        seed: int | None = None,
        used: Used = (),
        causes: Causes = (),
        edge_evidence: EdgeEvidence = "declared",
    ) -> EventUuid:
        """Record a model call by what it answered."""
        return self._own(
            "llm",
            text,
            model=model,
            tokens=tokens,
            seed=seed,
            used=self._refs(used),
            causes=causes,
            edge_evidence=edge_evidence,
        )

    def user(self, text: str, *, causes: Causes = ()) -> EventUuid:
        """Record what the user said; events from here on carry it in their snapshot."""
        event_id = self._own("user", text, causes=causes)
        self.snapshot(last_user_input=text)
        return event_id

    def state(
        self,
        text: str,
        *,
        causes: Causes = (),
        edge_evidence: EdgeEvidence = "declared",
        state_digest: str = "",
    ) -> EventUuid:
        """Record where things stand; `state_digest` lets a replay show that it stands there too."""
        more = {"causes": causes, "edge_evidence": edge_evidence, "state_digest": state_digest}
        return self._own("state", text, **more)

    def snapshot(
        self,
        *,
        goal: str | None = None,
        subtask: str | None = None,
        last_user_input: str | None = None,
    ) -> None:
        """Set what the following events carry as snapshot; None leaves a part as it is."""
        before = self._snapshot or Snapshot(goal=self._run.goal)
        given = {"goal": goal, "subtask": subtask, "last_user_input": last_user_input}
        changed = {name: _own_text(text)[0] for name, text in given.items() if text is not None}
        self._snapshot = made(Snapshot, {**before.model_dump(), **changed})

    def outcome(
        self, value: float, *, success: bool | None = None, evaluator: str = "caller"
    ) -> None:
        """Score the run from -1 to 1: asserted at the next flush, after the events so far."""
        self._outcomes.append(
            made(
                c.AssertOutcome,
                {"run_id": self.id, "value": value, "success": success, "evaluator": evaluator},
            )
        )

    def offer(self, found: Found) -> None:
        """Remember what a search gave, as offered to the next event and usable by later ones."""
        for hit in found.hits:
            ref = MemoryRef(id=hit.memory.id, revision=hit.memory.revision)
            self._offered[ref.id] = ref
            self._offered.move_to_end(ref.id)
            self._new_offers.append(ref)
        while len(self._offered) > _OFFERED_MAX:
            self._offered.popitem(last=False)

    def _own(self, kind: EventKind, text: str, **fields: Any) -> EventUuid:
        shown, cut = _own_text(text)
        try:
            return self._record(kind, shown, truncated=cut, **fields)
        except InvalidInput as error:
            if error.details.get("field") != "summary":
                raise
            raise named(error, "text") from None  # what the event keeps of it is its summary

    def _record(
        self, kind: EventKind, summary: str, *, truncated: bool, causes: Causes, **fields: Any
    ) -> EventUuid:
        fields.update(
            event_id=self._calls.ids.event_id(),
            run_id=self._run.run_id,
            agent=self._name,
            incarnation=self._incarnation,
            kind=kind,
            summary=summary,
            snapshot=self._snapshot,
            causes=(causes,) if isinstance(causes, str) else listed(causes, "causes"),
            truncated=truncated,
        )
        return self._buffer.append(partial(self._built, fields)).event_id

    def _built(self, fields: dict[str, Any], seq: int) -> Event:
        """Called under the buffer's lock, so that times, numbers and counts have one order."""
        fields["seq"] = seq
        fields["timestamp"] = self._calls.clock.now()
        offers = tuple(self._new_offers)
        if offers:
            fields["offered"] = offers[-REFS_MAX:]
        try:
            event = build(Event, fields)
        except InvalidInput as error:
            raise clean(error) from None
        if offers:
            del self._new_offers[: len(offers)]
        if event.truncated:
            self._truncated += 1
        return event

    def _refs(self, used: Used) -> tuple[MemoryRef, ...]:
        given = used.ids if isinstance(used, Found) else listed(used, "used")
        return tuple(dict.fromkeys(self._ref(one) for one in given))

    def _ref(self, memory: str | MemoryRef) -> MemoryRef:
        if isinstance(memory, MemoryRef):
            return memory
        known = isinstance(memory, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        ref = self._offered.get(memory) if known else None
        if ref is None:
            wrong = (
                f"`used` names memory {memory!r}, which this run was not offered; search with"
                " `run=run`, or give a `MemoryRef` with the revision that was seen"
            )
            raise clean(InvalidInput(wrong, field="used"))
        return ref


def _tells_of_failure(status_code: object) -> bool:
    """What is no number is left to validation."""
    return isinstance(status_code, int) and status_code >= _ERROR_STATUS_MIN


def _own_text(text: str) -> tuple[str, bool]:
    """Text that its author can correct: cut to its limit, everything else left to validation."""
    if not isinstance(text, str) or len(text) <= _MAX // 4:  # pyright: ignore[reportUnnecessaryIsInstance]
        return text, False
    normal = unicodedata.normalize("NFC", text[: _MAX * 2])
    if len(normal) <= _MAX and len(text) <= _MAX * 2:
        return normal, False
    return normal[: _MAX - 1] + "…", True


def _shown(result: Any, canonical: str, cut: bool) -> tuple[str, bool]:
    """What a tool gave, as far as a summary goes."""
    if result is None:
        return "", False
    text, shortened = cut_text(result if isinstance(result, str) else canonical, _MAX)
    return text, shortened or cut
