"""How reviews that are due come from the process that noticed to the reviewers."""

import logging
from collections.abc import Awaitable, Callable

from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import Crew, actor_name, stable_number
from hindsight_ray.domain.review import DueReview
from hindsight_ray.errors import HindsightError

_log = logging.getLogger(__name__)


class RemoteReviews:
    """`Reviews` made by the pool of `Reviewer` actors, a run's by the same one where it can.

    One whose reviewer ends in the middle of it is made by another, or by its successor. If none
    answers, the steward finds the run again.
    """

    def __init__(self, crew: Crew, crew_now: Callable[[], Awaitable[Crew | None]]) -> None:
        self._crew = crew
        self._crew_now = crew_now
        self._reach = Reach()

    async def hand(self, due: DueReview) -> None:
        async def anew() -> tuple[str, ...]:
            self._crew = await self._crew_now() or self._crew
            return self._names(due)

        try:
            await self._reach.ask(
                self._names(due), lambda reviewer: reviewer.review_due.remote(due), anew=anew
            )
        except HindsightError as error:
            _log.warning("the review of run %s waits for the steward: %s", due.run_id, error)

    def _names(self, due: DueReview) -> tuple[str, ...]:
        count = self._crew.reviewers
        first = stable_number(due.run_id, count)
        return tuple(actor_name("reviewer", (first + i) % count) for i in range(count))
