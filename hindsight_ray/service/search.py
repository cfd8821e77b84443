"""Find memories: read the question, ask every route under the access filter, fuse, limit, answer.

Everything is read in one transaction together with the policy, and every row is checked again as
its route returns it, before it is merged or ranked with others. The question is embedded before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_ray.core.keywords import bm25, query_terms
from hindsight_ray.core.ranking import Candidate, Ranked, is_episode, limited_by_author, ranked
from hindsight_ray.core.timewords import TimeReading, read_time
from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Search, SearchMany
from hindsight_ray.domain.hit import Route
from hindsight_ray.domain.memory import Layer, Memory, MemoryStatistics, Status
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.domain.scope import scope_class
from hindsight_ray.errors import ModelFailed, SpaceMismatch, Unavailable
from hindsight_ray.ports import Unit, Vector
from hindsight_ray.service import offered, routes
from hindsight_ray.service.admit import Admitted, admit, row_filter
from hindsight_ray.service.both import both
from hindsight_ray.service.offered import Growth
from hindsight_ray.service.recall import note_recall
from hindsight_ray.service.seen import ANSWERED, presentable, status_shown
from hindsight_ray.service.settle import tidy
from hindsight_ray.service.world import World

_NO_VECTOR: tuple[Route, ...] = ("vector",)
_NO_STATISTICS = MemoryStatistics()
_DEEPER_BY = 4  # times the routes' limits, where one author's text fills them
_CANDIDATES_MAX = 300  # beyond, no route is asked for more


async def search(world: World, caller: Caller, command: Search) -> Found:
    """At most `k` memories that the caller may read, best first, each with why.

    Raises `Unavailable` if `at_least` names a later policy revision, `NotFound` or `AccessDenied`
    for a run that the caller takes no part in. A model that fails leaves the other routes:
    `degraded` says so.
    """
    (found,) = await search_many(world, caller, SearchMany(searches=(command,)))
    return found


async def search_many(world: World, caller: Caller, command: SearchMany) -> tuple[Found, ...]:
    """Several searches at one policy revision and one state of the memory, answered in order."""
    searches = command.searches
    vectors = await _embedded(world, [one.query for one in searches])
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        everything = await row_filter(world, unit, admitted)
        answers = [
            await _answered(world, unit, await _question(unit, admitted, everything, one, vector))
            for one, vector in zip(searches, vectors, strict=True)
        ]
    await offered.grow(world, admitted, [answer.growth for answer in answers])
    tidy(world)
    for one, answer in zip(searches, answers, strict=True):
        note_recall(world, admitted, one, answer.found.hits)
    return tuple(answer.found for answer in answers)


@dataclass(frozen=True, slots=True)
class _Question:
    """A search as it is answered: by whom, over which rows, for what and for when."""

    admitted: Admitted
    rows: RowFilter
    parts: routes.Parts  # the same rows, without what their statuses hide
    command: Search
    time: TimeReading
    vector: Vector | None

    @property
    def episodes(self) -> bool:
        """Whether it asks for what happened: names a time, a type or a layer."""
        named = self.command.types or self.command.layers or self.command.since
        return self.time.says_something or bool(named or self.command.until)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What to say, and what saying it adds to the caller's runs."""

    found: Found
    growth: Growth | None


async def _embedded(world: World, queries: Sequence[str]) -> Sequence[Vector | None]:
    try:
        return list(await world.embedder.embed(queries, "query"))
    except (ModelFailed, Unavailable):
        return [None] * len(queries)


async def _question(
    unit: Unit, admitted: Admitted, everything: RowFilter, command: Search, vector: Vector | None
) -> _Question:
    if command.at_least is not None and admitted.revision < command.at_least:
        raise Unavailable(
            f"the policy is at revision {admitted.revision}, before {command.at_least};"
            " try again when the change has arrived",
            revision=admitted.revision,
        )
    time = read_time(command.query, admitted.now)
    rows = _narrowed(everything, command)
    parts = await routes.parts_of(unit, admitted, rows)
    return _Question(admitted, rows, parts, command, time, vector)


async def _answered(world: World, unit: Unit, question: _Question) -> _Answer:
    admitted, command = question.admitted, question.command
    (candidates, degraded, far), runs = await both(
        _looked(world, unit, question), offered.runs_of(unit, admitted, command.run_id)
    )
    best, hidden = _limited(question, candidates)
    deeper, full = 1, _full(world)
    while hidden and len(best) < command.k and full * deeper <= len(candidates) < _CANDIDATES_MAX:
        deeper *= _DEEPER_BY  # one author has filled the routes, and may fill but one place
        candidates, degraded, far = await _looked(world, unit, question, deeper)
        best, hidden = _limited(question, candidates)
    memories = await presentable(unit, admitted, [one.memory for one in best])
    answer = Found(
        hits=tuple(one.hit(memory) for one, memory in zip(best, memories, strict=True)),
        revision=Revision(admitted.revision),
        degraded=degraded,
        hidden_by_author_limit=hidden,
        below_similarity_min=far,
    )
    return _Answer(answer, await offered.growth(unit, admitted, runs, memories))


def _full(world: World) -> int:
    """How many candidates there are at least if a route has had no room for more."""
    return min(world.settings.vector_limit, world.settings.keyword_limit)


def _limited(question: _Question, candidates: Sequence[Candidate]) -> tuple[Sequence[Ranked], int]:
    admitted, episodes = question.admitted, question.episodes
    return limited_by_author(
        ranked(candidates, admitted.now, newest=question.time.newest, episodes=episodes),
        lambda memory: _shared_with(admitted.caller, memory),
        question.command.k,
        episodes=episodes,
    )


def _narrowed(everything: RowFilter, command: Search) -> RowFilter:
    """The filter that access gives, narrowed by what the command names."""
    statuses: frozenset[Status] = ANSWERED
    if command.statuses is not None:
        statuses = frozenset(command.statuses)
    return replace(
        everything,
        scopes=None if command.scopes is None else frozenset(command.scopes),
        types=None if command.types is None else frozenset(command.types),
        layers=None if command.layers is None else frozenset(command.layers),
        statuses=statuses,
        task_type=command.task_type,
        since=command.since,
        until=command.until,
    )


_Looked = tuple[list[Candidate], tuple[Route, ...], int]


async def _looked(world: World, unit: Unit, question: _Question, deeper: int = 1) -> _Looked:
    """The candidates of every route. Episodes that nobody asked for push nothing out of a route:
    where they fill one, what was distilled is looked for without them."""
    found, degraded, far = await _candidates(world, unit, question, deeper)
    episodes = [one for one in found if is_episode(one.memory)]
    enough = len(found) - len(episodes) >= question.command.k
    if question.episodes or not episodes or enough or len(found) < _full(world) * deeper:
        return found, degraded, far
    others, degraded, far = await _candidates(world, unit, _distilled(question), deeper)
    return [*others, *episodes], degraded, far


def _distilled(question: _Question) -> _Question:
    """The question, asked of what was distilled alone."""
    layers = frozenset[Layer]({"semantic"})
    return replace(
        question,
        rows=replace(question.rows, layers=layers),
        parts=tuple(replace(part, layers=layers) for part in question.parts),
    )


async def _candidates(world: World, unit: Unit, question: _Question, deeper: int = 1) -> _Looked:
    """The rows of every route, each checked again before it is merged; routes that gave none.

    `deeper` times as many of each route as the settings say. Last, how many rows are left out
    since they are too unlike the question and no other route has them.
    """
    rows, parts, settings = question.rows, question.parts, world.settings
    if not parts or rows.empty:
        return [], _NO_VECTOR if question.vector is None else (), 0
    (near, matches), recent = await both(
        both(
            _nearest(world, unit, question, settings.vector_limit * deeper),
            routes.keyword_matches(unit, parts, query_terms(question.command.query)),
        ),
        _recent(unit, question, settings.recent_limit * deeper),
    )
    similarity = near or {}
    worded = [name for name, _ in bm25(matches, limit=settings.keyword_limit * deeper)]
    known: dict[str, Memory] = {memory.id: memory for memory in recent}
    wanted = [name for name in dict.fromkeys([*similarity, *worded]) if name not in known]
    current, statistics = await both(
        unit.memories.current(rows.tenant, wanted),
        unit.stats.of(rows.tenant, [*known, *wanted]),
    )
    known.update(current)
    allowed = {name: memory for name, memory in known.items() if _passes(question, memory)}
    ranks: dict[str, dict[Route, int]] = {}
    floor = settings.search_similarity_min
    close = [name for name, like in similarity.items() if floor is None or like >= floor]
    returned: tuple[tuple[Route, Sequence[str]], ...] = (
        ("vector", close),
        ("keyword", worded),
        ("recent", [memory.id for memory in recent]),
    )
    for route, names in returned:
        for rank, name in enumerate((n for n in names if n in allowed), start=1):
            ranks.setdefault(name, {})[route] = rank
    found = [
        Candidate(allowed[name], on, similarity.get(name), statistics.get(name, _NO_STATISTICS))
        for name, on in ranks.items()
    ]
    far = len(allowed.keys() - ranks.keys())
    found += await _superseders(unit, question, found)
    return found, _NO_VECTOR if near is None else (), far


async def _nearest(
    world: World, unit: Unit, question: _Question, limit: int
) -> dict[str, float] | None:
    """Similarity by id, nearest first; None without the question's vector, the store,
    or the space that the question was embedded in."""
    if question.vector is None:
        return None
    try:
        near = await routes.nearest(world, unit, question.parts, question.vector, limit)
    except (SpaceMismatch, Unavailable):
        return None
    return {row.ref.id: row.similarity for row in near}


async def _recent(unit: Unit, question: _Question, limit: int) -> Sequence[Memory]:
    """The newest rows of the time that the question names; none if it names no time."""
    time = question.time
    if not time.says_something or limit < 1:
        return ()
    parts = tuple(
        replace(rows, since=_later(rows.since, time.since), until=_earlier(rows.until, time.until))
        for rows in question.parts
    )
    return await routes.recent(unit, parts, limit)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((t for t in (one, other) if t is not None), default=None)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((t for t in (one, other) if t is not None), default=None)


async def _superseders(
    unit: Unit, question: _Question, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """What superseded outdated candidates, if no route returned it: it belongs above them.

    It takes their place, and says so; they are put below it.
    """
    there = {c.memory.id for c in candidates}
    places: dict[str, Candidate] = {}
    for candidate in candidates:
        newer = candidate.memory.superseded_by
        if newer is not None and newer not in there:
            places.setdefault(newer, candidate)
    if not places:
        return []
    tenant = question.rows.tenant
    found, statistics = await both(
        unit.memories.current(tenant, list(places)), unit.stats.of(tenant, list(places))
    )
    return [
        Candidate(
            memory,
            {},
            statistics=statistics.get(name, _NO_STATISTICS),
            in_place_of=places[name].routes,
        )
        for name, memory in found.items()
        if _passes(question, memory)
    ]


def _passes(question: _Question, memory: Memory) -> bool:
    """Whether this row may be answered, whatever a store's filter let through."""
    admitted, rows = question.admitted, question.rows
    return (
        memory.tenant == rows.tenant
        and admitted.may_read(memory.audience, memory.labels)
        and (memory.expires_at is None or memory.expires_at > admitted.now)
        and memory.status in rows.statuses
        and status_shown(admitted, memory)
        and _asked_for(rows, memory)
        and _applies(question.command, memory)
    )


def _asked_for(rows: RowFilter, memory: Memory) -> bool:
    return (
        (rows.scopes is None or memory.scope in rows.scopes)
        and (rows.types is None or memory.type in rows.types)
        and (rows.layers is None or memory.layer in rows.layers)
        and (rows.since is None or memory.created_at >= rows.since)
        and (rows.until is None or memory.created_at < rows.until)
    )


def _applies(command: Search, memory: Memory) -> bool:
    """The coarse rules of experiences: the same task type, and tools in common if both name any."""
    if memory.type != "experience" or memory.scene is None:
        return True
    scene = memory.scene
    if command.task_type is not None and scene.task_type != command.task_type:
        return False
    return not (command.tools and scene.tools) or not set(command.tools).isdisjoint(scene.tools)


def _shared_with(caller: Caller, memory: Memory) -> bool:
    """Whether the caller reads this scope by grant rather than by owning it or acting for it."""
    own = (caller.principal, caller.acting_scope)
    return scope_class(memory.scope) == "global" or memory.scope not in own
