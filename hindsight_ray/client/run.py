"""An agent's hold on a run: what it says of its steps (`steps.py`) is shipped and acknowledged.

Only `flush` and leaving the run acknowledge.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from hindsight_ray.client.buffer import EventBuffer
from hindsight_ray.client.calls import Calls
from hindsight_ray.client.made import made
from hindsight_ray.client.shipping import Shipper
from hindsight_ray.client.steps import Steps
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.run import Flushed, Outcome, RecordAck, Run, RunClosure, WorkingState
from hindsight_ray.errors import HindsightError


class RunRecorder(Steps):
    """One agent's part in one run. Leaving it flushes; whoever began the run also ends it."""

    def __init__(self, calls: Calls, run: Run, *, name: str, began: bool) -> None:
        settings = calls.settings
        self._began = began
        self._closure: RunClosure | None = None
        self._shipper = Shipper(calls.loop, self._send, batch=settings.batch_events)
        buffer = EventBuffer(
            limit=settings.buffer_events,
            when_full=settings.buffer_full,
            wake=self._shipper.wake,
            may_wait=lambda: not calls.loop.is_here,
        )
        self._shipper.buffer = buffer
        super().__init__(calls, run, name=name, buffer=buffer)

    @property
    def closure(self) -> RunClosure | None:
        """What ending the run found, once this recorder has ended it."""
        return self._closure

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
            made(c.Search, {"query": query, "run_id": self.id, **filters})
        )
        self.offer(found)
        return found

    async def set_working(
        self, *, goal: str = "", subtask: str = "", state: Mapping[str, str] | None = None
    ) -> WorkingState:
        """Replace this agent's working state in the run."""
        given: Any = {} if state is None else state
        kept = made(WorkingState, {"goal": goal, "subtask": subtask, "state": given})
        return await self._calls.ask(made(c.SetWorking, {"run_id": self.id, "state": kept}))

    async def working(self) -> WorkingState:
        """This agent's working state in the run."""
        return await self._calls.ask(made(c.GetWorking, {"run_id": self.id}))

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
