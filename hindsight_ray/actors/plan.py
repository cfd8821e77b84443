"""What a deployment is made of, as a value that travels: Ray rebuilds every actor from it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hindsight_ray.actors.models import ChatFactory, EmbedderFactory
from hindsight_ray.actors.roles import Crew
from hindsight_ray.actors.shell import WorldFactory
from hindsight_ray.domain.settings import Settings

Release = Callable[[], None]
Seize = Callable[[], Release]  # takes the home for this deployment; raises `HomeInUse`


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a deployment lives and how its processes are built.

    `node_id` is the one node of the cluster that has the home's file: its actors are pinned there.
    """

    home: str
    address: str
    node_id: str
    settings: Settings
    seize: Seize
    authority_world: WorldFactory
    broker_world: WorldFactory
    recorder_world: WorldFactory
    embedder: EmbedderFactory
    chat: ChatFactory | None = None

    @property
    def crew(self) -> Crew:
        settings = self.settings
        return Crew(settings.brokers, settings.recorder_hosts, settings.reviewers)

    @property
    def pinned(self) -> bool:
        """Whether the ledger is a file, which only the processes of its own node may use."""
        return self.settings.ledger == "sqlite"

    def with_crew(self, crew: Crew) -> "Plan":
        numbers = {
            "brokers": crew.brokers,
            "recorder_hosts": crew.recorder_hosts,
            "reviewers": crew.reviewers,
        }
        return replace(self, settings=self.settings.model_copy(update=numbers))

    def deployed(self) -> "Deployed":
        """What others may know of it."""
        return Deployed(self.home, self.address, self.node_id, self.settings, self.crew)


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment as it tells of itself: its home, node, settings, crew and process ids."""

    home: str
    address: str
    node_id: str
    settings: Settings
    crew: Crew
    actors: tuple["ActorState", ...] = ()

    @property
    def pids(self) -> tuple[tuple[str, int], ...]:
        """Each actor's name and process id; 0 while it restarts."""
        return tuple((one.name, one.pid) for one in self.actors)

    def with_actors(self, actors: Iterable["ActorState"]) -> "Deployed":
        return replace(self, actors=tuple(actors))


@dataclass(frozen=True, slots=True)
class ActorState:
    """What an actor says of itself; zeros while it does not answer."""

    name: str
    pid: int = 0
    node_id: str = ""
    running: int = 0  # commands in hand
    answered: int = 0  # commands since its process began
    failed: int = 0  # of those, with an error of any kind
    revision: int = 0  # of the policy, as its ledger has it now
