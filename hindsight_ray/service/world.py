"""Everything that a service may touch, in one frozen value that `compose` fills."""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_ray.core.access import AccessSet, PolicyIndex
from hindsight_ray.core.paced import Paced
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import RecordEvents
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.rows import EmbeddingSpace, RecallEntry
from hindsight_ray.domain.run import RecordAck, Run
from hindsight_ray.domain.settings import Settings
from hindsight_ray.ports import (
    Background,
    ChatModel,
    Clock,
    Embedder,
    Erasing,
    IdSource,
    Ledger,
    MemoryStore,
    PolicyEngine,
    StoreBeside,
    Tickets,
)
from hindsight_ray.ports.reviewing import Reviews
from hindsight_ray.ports.watching import Watch
from hindsight_ray.service.together import Together

_CALLERS_KEPT = 4_096
_STRANGERS = (20, 30.0)  # entries at once, and seconds to the next: 2,880 of a process in a day
_INDEXES_KEPT = 4  # calls that began at an earlier revision still end at it; they share most parts


class AccessCache:
    """Compiled access by caller, and the policy's index at the latest revisions.

    Holds nothing that decides by itself: every entry is used only at the revision that the same
    transaction has just read from the ledger, and only until its first grant runs out.
    """

    def __init__(self) -> None:
        self._indexes: dict[int, PolicyIndex] = {}  # by revision, the latest few
        self._sets: OrderedDict[Caller, AccessSet] = OrderedDict()

    def index(self, revision: int) -> PolicyIndex | None:
        """The index of exactly this revision, or None."""
        return self._indexes.get(revision)

    def before(self, revision: int) -> PolicyIndex | None:
        """The latest index of an earlier revision, to be carried on from there."""
        earlier = [kept for kept in self._indexes if kept < revision]
        return self._indexes[max(earlier)] if earlier else None

    def keep_index(self, index: PolicyIndex) -> None:
        self._indexes[index.revision] = index
        while len(self._indexes) > _INDEXES_KEPT:
            del self._indexes[min(self._indexes)]

    def remembered(self, caller: Caller, revision: int, now: datetime) -> AccessSet | None:
        """The caller's access at exactly this revision and time, or None."""
        found = self._sets.get(caller)
        if found is None or found.revision != revision:
            return None
        if found.valid_until is not None and now >= found.valid_until:
            return None
        return found

    def keep(self, caller: Caller, access: AccessSet) -> None:
        self._sets[caller] = access
        self._sets.move_to_end(caller)
        while len(self._sets) > _CALLERS_KEPT:
            self._sets.popitem(last=False)


class KnownPrivacies:
    """What tenants keep, as it was read at the latest policy revision that this process has met."""

    def __init__(self) -> None:
        self._revision = 0
        self._kept: dict[str, tuple[int, Privacy]] = {}

    @property
    def revision(self) -> int:
        """The latest policy revision that this process has met."""
        return self._revision

    def fresh(self, tenant: str) -> Privacy | None:
        """The tenant's, if it was read at the latest revision."""
        kept = self._kept.get(tenant)
        return kept[1] if kept is not None and kept[0] == self._revision else None

    def last(self, tenant: str) -> Privacy | None:
        """The tenant's as it was read last."""
        kept = self._kept.get(tenant)
        return None if kept is None else kept[1]

    def keep(self, tenant: str, privacy: Privacy) -> None:
        if len(self._kept) >= _CALLERS_KEPT:
            self._kept.clear()
        self._kept[tenant] = (self._revision, privacy)

    def met(self, revision: int) -> None:
        """What was read before this revision is to be read again."""
        self._revision = max(self._revision, revision)


@dataclass(slots=True)
class RecallQueue:
    """Searches that have been answered and not noted yet (see `service/recall.py`)."""

    waiting: deque[RecallEntry] = field(default_factory=deque[RecallEntry])
    writing: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """An intent that the store has been told of: when, and in which of the server's lives."""

    number: int
    at_s: float
    life: int


@dataclass(slots=True)
class SettleQueue:
    """Intents that the store has been told of and that are not closed yet (`service/settle.py`)."""

    waiting: deque[Told] = field(default_factory=deque[Told])
    writing: bool = False
    failed: int = 0  # tellings in a row that came to nothing, for no fault of what was told


MakeStore = Callable[[EmbeddingSpace], StoreBeside]
"""A memory store apart over another space than the home's; connects to nothing yet."""

MakeEmbedder = Callable[[str, int | None, str | None], Embedder]
"""An embedding model by its name, its dimension and its address; loads nothing yet."""


Recording = Together[tuple[Caller, RecordEvents], tuple[Run, RecordAck]]
"""Batches of events that are recorded together (`service/record.py`)."""


@dataclass(frozen=True, slots=True)
class World:
    """The ports and settings of one home or deployment."""

    ledger: Ledger
    store: MemoryStore
    embedder: Embedder
    tickets: Tickets
    policies: PolicyEngine
    clock: Clock
    ids: IdSource
    settings: Settings
    background: Background
    access: AccessCache = field(default_factory=AccessCache)
    recalls: RecallQueue = field(default_factory=RecallQueue)
    chat: ChatModel | None = None  # None: rules alone
    privacies: KnownPrivacies = field(default_factory=KnownPrivacies)
    erasing: Erasing | None = None  # None: not where this process can erase
    settling: SettleQueue = field(default_factory=SettleQueue)
    make_embedder: MakeEmbedder | None = None  # None: another process has the models
    make_store: MakeStore | None = None  # None: the ledger holds the vectors
    strangers: Paced = field(default_factory=lambda: Paced(*_STRANGERS))  # without a ticket
    outdated: Paced = field(default_factory=lambda: Paced(*_STRANGERS))  # with one that was good
    watch: Watch | None = None  # None: nobody is told of calls
    reviews: Reviews | None = None  # None: reviews that are due are jobs of this process
    recording: Recording | None = None  # None: each batch of events is recorded alone


@dataclass(frozen=True, slots=True)
class Opened:
    """A world that is in use, and how to leave it: background jobs awaited, stores closed."""

    world: World
    close: Callable[[], Awaitable[None]]
