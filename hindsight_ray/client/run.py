"""An agent's hold on a run: records what it does, costs its thread microseconds.

Recording calls are plain functions that return the event's id; they may be called from any thread.
Only `flush` and leaving the run acknowledge.
"""

import unicodedata
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from hindsight_ray.client.buffer import EventBuffer
from hindsight_ray.client.calls import Calls
from hindsight_ray.client.lists import listed
from hindsight_ray.client.shipping import Shipper
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
from hindsight_ray.domain.ids import EventUuid
from hindsight_ray.domain.run import Flushed, Outcome, RecordAck, Run, RunClosure, WorkingState
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX, cut_text
from hindsight_ray.errors import HindsightError, InvalidInput

_OFFERED_MAX = 10_000  # remembered per run, so that `used=` can name the revision that was seen
_ERROR_STATUS_MIN = 400

Causes = str | Iterable[str]
Used = Found | Iterable[str | MemoryRef]


class RunRecorder:
    """One agent's part in one run. Leaving it flushes; whoever began the run also ends it."""

    def __init__(self, calls: Calls, run: Run, *, name: str, began: bool) -> None:
        settings = calls.settings
        self._calls = calls
        self._run = run
        self._name = name
        self._began = began
        self._incarnation = calls.ids.token()
        self._shipper = Shipper(calls.loop, self._send, batch=settings.batch_events)
        self._buffer = EventBuffer(
            limit=settings.buffer_events,
            when_full=settings.buffer_full,
            wake=self._shipper.wake,
            may_wait=lambda: not calls.loop.is_here,
        )
        self._shipper.buffer = self._buffer
        self._snapshot: Snapshot | None = None
        self._offered: OrderedDict[str, MemoryRef] = OrderedDict()
        self._new_offers: list[MemoryRef] = []
        self._outcomes: list[c.AssertOutcome] = []
        self._asserted = 0
        self._truncated = 0
        self._closure: RunClosure | None = None

    @property
    def id(self) -> str:
        return self._run.run_id

    @property
    def value(self) -> Run:
        """The run as it was when this recorder was opened."""
        return self._run

    @property
    def closure(self) -> RunClosure | None:
        """What ending the run found, once this recorder has ended it."""
        return self._closure

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
        """Record a tool call: digests of arguments and result, and a summary of what came back.

        It failed if there is an `error` or a `status_code` of 400 or more.
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
        return self._record(
            "tool",
            shown,
            truncated=cut,
            tool=build(ToolCall, call),
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
        self._snapshot = build(Snapshot, {**before.model_dump(), **changed})

    def outcome(
        self, value: float, *, success: bool | None = None, evaluator: str = "caller"
    ) -> None:
        """Score the run from -1 to 1: asserted at the next flush, after the events so far."""
        self._outcomes.append(
            build(
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

    # What makes it durable.

    async def flush(self) -> Flushed:
        """Return once all events and outcomes so far are durable.

        Raises the error of whatever could not be shipped; it is kept and can be flushed again.
        """
        return await self._calls.loop.run(self._flush())

    async def close(self) -> Flushed:
        """Flush and leave; end the run if this recorder began it. Events come no more."""
        self._buffer.seal()
        try:
            flushed = await self._calls.loop.run(self._left())
        except BaseException:
            self._buffer.unseal()
            raise
        if flushed.dropped:
            warnings.warn(
                f"run {self.id}: {'; '.join(flushed.warnings)}", RuntimeWarning, stacklevel=2
            )
        return flushed

    async def search(self, query: str, **filters: Any) -> Found:
        """`memory.search` with this run."""
        found: Found = await self._calls.ask(
            build(c.Search, {"query": query, "run_id": self.id, **filters})
        )
        self.offer(found)
        return found

    async def set_working(
        self, *, goal: str = "", subtask: str = "", state: Mapping[str, str] | None = None
    ) -> WorkingState:
        """Replace this agent's working state in the run."""
        given: Any = {} if state is None else state
        kept = build(WorkingState, {"goal": goal, "subtask": subtask, "state": given})
        return await self._calls.ask(build(c.SetWorking, {"run_id": self.id, "state": kept}))

    async def working(self) -> WorkingState:
        """This agent's working state in the run."""
        return await self._calls.ask(build(c.GetWorking, {"run_id": self.id}))

    @property
    def unshipped(self) -> int:
        """How many events are buffered and not durable yet."""
        return len(self._buffer)

    async def abandon(self) -> None:
        """Ship what is buffered, then stop shipping: the client is closed while a run is open."""
        await self._calls.loop.run(self._abandoned())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
            return
        try:
            await self.close()
        except HindsightError as failure:  # the error of the work itself goes first
            error.add_note(f"besides, run {self.id} could not be left: {failure}")

    async def _abandoned(self) -> None:
        self._buffer.seal()
        try:
            await self._shipper.drain()
        finally:
            await self._shipper.stop()

    async def _left(self) -> Flushed:
        flushed = await self._flush()
        if self._began and self._closure is None:
            ending = c.CloseRun(run_id=self._run.run_id)
            self._closure = await self._shipper.tried(partial(self._calls.ask, ending))
        return flushed

    async def _flush(self) -> Flushed:
        await self._shipper.drain()
        while self._outcomes:
            first = self._outcomes[0]
            answer: Outcome = await self._shipper.tried(partial(self._calls.ask, first))
            del answer, self._outcomes[0]
            self._asserted += 1
        return Flushed(
            stored=self._shipper.stored,
            repeated=self._shipper.repeated,
            dropped=self._buffer.dropped,
            truncated=self._truncated,
            outcomes=self._asserted,
            gaps=tuple(gap for gap in self._shipper.gaps if gap.incarnation == self._incarnation),
        )

    async def _send(self, events: tuple[Event, ...]) -> RecordAck:
        return await self._calls.ask(c.RecordEvents(run_id=self._run.run_id, events=events))

    def _own(self, kind: EventKind, text: str, **fields: Any) -> EventUuid:
        shown, cut = _own_text(text)
        return self._record(kind, shown, truncated=cut, **fields)

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
        event = build(Event, fields)
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
            raise InvalidInput(
                f"`used` names memory {memory!r}, which this run was not offered; search with"
                " `run=run`, or give a `MemoryRef` with the revision that was seen",
                field="used",
            )
        return ref


_MAX = SUMMARY_CHARACTERS_MAX


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
