"""What a deployment is made of, as a value that travels: Ray rebuilds every actor from it."""

from collections.abc import Callable
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
    pids: tuple[tuple[str, int], ...] = ()  # actor name, process id; 0 while it restarts

    def with_pids(self, pids: dict[str, int]) -> "Deployed":
        return replace(self, pids=tuple(pids.items()))
