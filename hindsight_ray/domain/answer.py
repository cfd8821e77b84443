"""Answers of a search: hits that explain their score, and what was degraded."""

from datetime import datetime

from pydantic import Field

from hindsight_ray.domain.access import Revision
from hindsight_ray.domain.base import Value
from hindsight_ray.domain.hit import Hit
from hindsight_ray.domain.ids import MemoryId
from hindsight_ray.domain.injection import RenderStyle, rendered


class Found(Value):
    """At most k hits, best first, at one policy revision. `degraded` names what did not help."""

    hits: tuple[Hit, ...]
    revision: Revision
    degraded: tuple[str, ...] = ()
    hidden_by_author_limit: int = Field(default=0, ge=0)
    below_similarity_min: int = Field(default=0, ge=0)  # left out as the setting says

    @property
    def ids(self) -> tuple[MemoryId, ...]:
        return tuple(hit.memory.id for hit in self.hits)

    def render(
        self, style: RenderStyle = "prompt", *, now: datetime | None = None, ids: bool = False
    ) -> str:
        """Return the hits as text for a prompt: dated facts, preferences, experiences as advice.

        With `ids` each says by which id it is asked for.
        """
        return rendered(self.hits, style=style, now=now, ids=ids)
