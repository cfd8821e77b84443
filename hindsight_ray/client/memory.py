"""What a caller may ask of its memory: every verb, as a method, for the holder of one ticket."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from hindsight_ray.client.calls import Calls
from hindsight_ray.client.lists import listed, listed_or_none
from hindsight_ray.client.made import clean, made
from hindsight_ray.client.opening import Opening
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.client.upkeep import UpkeepCalls
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.chat import Retried, Spent
from hindsight_ray.domain.credit import Attribution, Credited
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.faults import named
from hindsight_ray.domain.ids import checked_uuid
from hindsight_ray.domain.memory import Layer, MemoryType, RevisionNote, Scene, Status
from hindsight_ray.domain.memory import Memory as MemoryValue
from hindsight_ray.domain.privacy import Handling, Privacy
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.review import ReviewReport
from hindsight_ray.domain.run import Outcome, Run, RunSummary, ShortTerm, Trajectory
from hindsight_ray.errors import InvalidInput

if TYPE_CHECKING:
    from hindsight_ray.core.attribution.environment import Environment

_OF_REPLAYS = frozenset(
    {"players", "policy", "budget", "seed", "among", "decision", "cache", "workers", "submit"}
)
_CREDITS = 20  # so many are asked for at a time: each may name a thousand steps
RunLike = RunRecorder | Run | str
Opened = Callable[[RunRecorder], None]  # tells the client of a recorder, to be shipped at its end


class Memory(UpkeepCalls):
    """The memory as one caller sees it.

    Writes take `command_id`: give the same again after a failure, and there is one effect.
    """

    def __init__(
        self, calls: Calls, caller: Callable[[], Awaitable[Caller]], opened: Opened
    ) -> None:
        super().__init__(calls)
        self._caller = caller
        self._opened = opened

    # Runs

    def run(
        self,
        goal: str,
        *,
        task_type: str = "task",
        tools: Iterable[str] = (),
        scope: str | None = None,
        intent: str = "",
        project: str | None = None,
        seed: int | None = None,
        command_id: str | None = None,
    ) -> Opening[RunRecorder]:
        """Begin a run: `async with memory.run(goal=...) as run`. `scope` defaults to the user's."""
        fields = {
            "goal": goal,
            "task_type": task_type,
            "tools": listed(tools, "tools"),
            "scope": scope,
            "intent": intent,
            "project": project,
            "seed": seed,
        }

        async def begin() -> RunRecorder:
            begun: Run = await self._commanded(c.StartRun, command_id, fields)
            return await self._recorder(begun, began=True)

        return Opening(begin)

    def join(self, run_id: RunLike) -> Opening[RunRecorder]:
        """Take part in a run of somebody else: `run = await memory.join(run_id)`.

        Needs `write` in the run's scope. A run begun for a user is open to all that act for this
        user; any other to the owner of its scope and to whom that is shared with, for `write`.
        """

        async def enter() -> RunRecorder:
            joined: Run = await self._ask(c.JoinRun, run_id=_run_id(run_id, "run_id"))
            return await self._recorder(joined, began=False)

        return Opening(enter)

    async def outcome(
        self,
        run: RunLike,
        value: float,
        *,
        success: bool | None = None,
        evaluator: str = "caller",
    ) -> Outcome:
        """Score a run from -1 to 1. Who asserted it comes from the ticket."""
        return await self._ask(
            c.AssertOutcome,
            run_id=_run_id(run),
            value=value,
            success=success,
            evaluator=evaluator,
        )

    async def trajectory(self, run: RunLike) -> Trajectory:
        """A run with its events in order, its outcomes and what is missing from it."""
        return await self._ask(c.ReadRun, run_id=_run_id(run))

    async def runs(
        self, *, limit: int = 20, task_type: str | None = None, before: RunLike | None = None
    ) -> tuple[RunSummary, ...]:
        """The newest runs that this caller may read, older than `before` if one is given."""
        last = None if before is None else _run_id(before, "before")
        return await self._ask(c.ListRuns, limit=limit, task_type=task_type, before=last)

    async def note(self, text: str, *, command_id: str | None = None) -> ShortTerm:
        """Add a line to the short-term window of the ticket's session."""
        return await self._commanded(c.Note, command_id, {"text": text})

    async def window(self) -> ShortTerm:
        """The short-term window of the ticket's session, oldest line first."""
        return await self._ask(c.Window)

    async def review(self, run: RunLike) -> ReviewReport:
        """Review a run now, whatever its length."""
        return await self._ask(c.ReviewRun, run_id=_run_id(run))

    async def retry_reviews(
        self, run: RunLike | None = None, *, limit: int = 20, list_only: bool = False
    ) -> Retried:
        """Take up again, oldest first, reviews that a model was to make and did not."""
        run_id = None if run is None else _run_id(run)
        return await self._ask(c.RetryReviews, run_id=run_id, limit=limit, list_only=list_only)

    async def spending(self, run: RunLike | None = None, *, since: datetime | None = None) -> Spent:
        """What asking models has cost: of a run, or of the tenant for who administers it."""
        run_id = None if run is None else _run_id(run)
        return await self._ask(c.ReadSpending, run_id=run_id, since=since)

    async def attribute(
        self,
        run: RunLike,
        *,
        method: str | None = None,
        environment: "Environment | None" = None,
        **options: Any,
    ) -> Attribution:
        """Share a run's outcome among what led to it: by `provenance`, or, where an `environment`
        is given and no method is named, in stages that replay the most suspect decisions.

        `provenance`, `blame`, `spectrum` read what was recorded; `judge` asks a model. `shapley`,
        `banzhaf`, `owen` and `ablation` replay the run in its `environment`, `staged` replays its
        suspects; `client/replaying.py` and `client/staged.py` name the options.
        """
        if method is None:
            method = "provenance" if environment is None else "staged"
        if environment is None and method in ("provenance", "blame", "spectrum", "judge"):
            _refuse_of_replays(options)
            return await self._ask(c.Attribute, run_id=_run_id(run), method=method, **options)
        from hindsight_ray.client import replaying, staged  # noqa: PLC0415 - what few clients need

        if method == staged.METHOD:
            return await staged.staged(self._calls, _run_id(run), environment, **options)
        replay: Any = replaying.by_replay
        return await replay(self._calls, _run_id(run), method, environment, **options)

    async def credits(self, run: RunLike) -> tuple[Credited, ...]:
        """What was found about a run by replays and comparisons, by whom and when, newest last."""
        found: tuple[Credited, ...] = ()
        while True:
            page: tuple[Credited, ...] = await self._ask(
                c.ReadCredits, run_id=_run_id(run), skip=len(found), limit=_CREDITS
            )
            found = (*page, *found)
            if len(page) < _CREDITS:
                return found

    # Memories

    async def write(
        self,
        content: str,
        *,
        scope: str | None = None,
        type: MemoryType = "fact",  # noqa: A002 - the field's own name
        layer: Layer = "semantic",
        steps: Iterable[str] = (),
        scene: Scene | None = None,
        topic: str | None = None,
        confidence: float = 0.8,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        labels: Iterable[str] = (),
        project: str | None = None,
        expires_at: datetime | None = None,
        source: Literal["user", "agent", "tool"] = "agent",
        run: RunLike | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Keep a statement; the receipt says what became of it and why."""
        fields = {
            "content": content,
            "scope": scope,
            "type": type,
            "layer": layer,
            "steps": listed(steps, "steps"),
            "scene": scene,
            "topic": topic,
            "confidence": confidence,
            "importance": importance,
            "tags": listed(tags, "tags"),
            "labels": listed(labels, "labels"),
            "project": project,
            "expires_at": expires_at,
            "source": source,
            "run_id": None if run is None else _run_id(run),
        }
        return await self._commanded(c.Write, command_id, fields)

    async def search(
        self,
        query: str,
        *,
        run: RunLike | None = None,
        k: int = 5,
        scopes: Sequence[str] | None = None,
        types: Sequence[MemoryType] | None = None,
        layers: Sequence[Layer] | None = None,
        task_type: str | None = None,
        tools: Iterable[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        statuses: Sequence[Status] | None = None,
        at_least: int | None = None,
    ) -> Found:
        """Find at most `k` memories. With `run`, its hits are noted as offered there."""
        found: Found = await self._ask(
            c.Search,
            query=query,
            k=k,
            scopes=listed_or_none(scopes, "scopes"),
            types=listed_or_none(types, "types"),
            layers=listed_or_none(layers, "layers"),
            task_type=task_type,
            tools=listed(tools, "tools"),
            since=since,
            until=until,
            statuses=listed_or_none(statuses, "statuses"),
            run_id=None if run is None else _run_id(run),
            at_least=at_least,
        )
        if isinstance(run, RunRecorder):
            run.offer(found)
        return found

    async def search_many(
        self, searches: Iterable[str | c.Search], *, run: RunLike | None = None
    ) -> tuple[Found, ...]:
        """Several searches in one call, answered in order at one policy revision.

        With `run`, the hits of all of them are noted as offered there.
        """
        run_id = None if run is None else _run_id(run)
        asked = tuple(_search(one, run_id) for one in listed(searches, "searches"))
        answers: tuple[Found, ...] = await self._ask(c.SearchMany, searches=asked)
        if isinstance(run, RunRecorder):
            for found in answers:
                run.offer(found)
        return answers

    async def get(self, memory_id: str) -> MemoryValue:
        """One memory at its current revision. Raises `NotFound`."""
        return await self._ask(c.Get, memory_id=memory_id)

    async def history(self, memory_id: str) -> tuple[RevisionNote, ...]:
        """Who changed a memory, when and why."""
        return await self._ask(c.History, memory_id=memory_id)

    async def explain(self, memory_id: str) -> c.Explanation:
        """What a memory rests on, as far as this caller may see it."""
        return await self._ask(c.Explain, memory_id=memory_id)

    async def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        tags: Iterable[str] | None = None,
        expires_at: datetime | None = None,
        if_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Change a memory; None leaves a field. Raises `RevisionConflict` past `if_revision`."""
        fields = {
            "memory_id": memory_id,
            "content": content,
            "importance": importance,
            "confidence": confidence,
            "tags": listed_or_none(tags, "tags"),
            "expires_at": expires_at,
            "if_revision": if_revision,
        }
        return await self._commanded(c.Update, command_id, fields)

    async def forget(self, memory_id: str, *, command_id: str | None = None) -> Receipt:
        """Take a memory out of every answer; a tombstone stays."""
        return await self._commanded(c.Forget, command_id, {"memory_id": memory_id})

    async def promote(
        self, memory_id: str, *, scope: str, command_id: str | None = None
    ) -> Receipt:
        """Copy a memory to another scope, dropping scopes from its audience on purpose."""
        fields = {"memory_id": memory_id, "scope": scope}
        return await self._commanded(c.Promote, command_id, fields)

    # What needs the operator's rights

    async def privacy(
        self, *, secrets: Handling | None = None, personal: Handling | None = None
    ) -> Privacy:
        """Say what the tenant masks, refuses or keeps; what is None stays as it is."""
        fields = {"secrets": secrets, "personal": personal}
        return await self._calls.ask(made(c.SetPrivacy, fields))

    async def erase(self, user: str) -> Erased:
        """Erase a user: every text of theirs and what rests on it; the answer is the proof."""
        return await self._calls.ask(made(c.Erase, {"user": user}))

    async def import_runs(
        self,
        text: str,
        *,
        format: Literal["openai-messages", "who-and-when"],  # noqa: A002 - the field's own name
        scope: str = "global",
        trusted: bool = True,
    ) -> c.ImportReport:
        """Record the runs of a log file as if they had happened here. Again, it adds nothing."""
        return await self._ask(c.ImportRuns, format=format, text=text, scope=scope, trusted=trusted)

    async def _recorder(self, run: Run, *, began: bool) -> RunRecorder:
        caller = await self._caller()
        recorder = RunRecorder(self._calls, run, name=caller.recorded_as, began=began)
        self._opened(recorder)
        return recorder


def _run_id(run: RunLike, name: str = "run") -> str:
    if isinstance(run, RunRecorder):
        return run.id
    if isinstance(run, Run):
        return run.run_id
    if isinstance(run, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers have no checker
        try:
            return checked_uuid(run)
        except InvalidInput as error:
            raise clean(named(error, name)) from None
    raise InvalidInput(f"`{name}` must be a run or its id, not {type(run).__name__}", field=name)


def _search(asked: str | c.Search, run_id: str | None) -> c.Search:
    if isinstance(asked, str):
        try:
            return made(c.Search, {"query": asked, "run_id": run_id})
        except InvalidInput as error:
            raise named(error, "searches") from None
    if not isinstance(asked, c.Search):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"`searches` must hold queries, not {type(asked).__name__}", field="searches"
        )
    return asked if run_id is None else asked.model_copy(update={"run_id": run_id})


def _refuse_of_replays(options: Mapping[str, object]) -> None:
    """What only replays take is refused by what they need, not as a word that nobody knows."""
    said = next((name for name in options if name in _OF_REPLAYS), None)
    if said is not None:
        raise InvalidInput(
            f"`{said}` is for replays: give the `environment` that the run was made in; without"
            ' one, `method="spectrum"` compares the runs of a task',
            field=said,
        )
