"""Reviewers: reviews, attributions and imports, which take long and would hold up a broker."""

import asyncio

from hindsight_ray.actors.shell import Shell, WorldFactory
from hindsight_ray.domain.review import DueReview
from hindsight_ray.service import review_due

DUE_AT_ONCE = 4  # each reads a whole run, and may wait for a model


class Reviewer(Shell):
    """Answers the commands that read whole trajectories, and makes the reviews that are due.

    **Guarantees** (beside those of `Shell`)
    - A review that is interrupted has stored whole memories or none of them; made again, here or
      by another, it finds those as duplicates and goes on.
    - Of reviews that are due, at most `DUE_AT_ONCE` run at a time in each of the pool.
    """

    def __init__(self, build: WorldFactory) -> None:
        super().__init__(build)
        self._room = asyncio.Semaphore(DUE_AT_ONCE)

    async def review_due(self, due: DueReview) -> None:
        """Make a review that nobody asked for. Tells nothing to whoever sends it."""
        with self._in_hand():
            async with self._room:
                await review_due.made(await self.world(), due)
