"""Reviews: the log of them, and who makes those that nobody asked for.

Other processes do, where a deployment has them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hindsight_ray.domain.review import DueReview, Review


class Reviews(Protocol):
    """Takes reviews that are due off this process's hands."""

    async def hand(self, due: DueReview) -> None:
        """Have the review made, by whoever is there; returns once it has been made.

        What cannot be handed over now is looked for later (`service/review_due.overdue`).
        """
        ...


class ReviewLog(Protocol):
    """Reviews as they were filled in, one per run, kind and digest of the trajectory."""

    async def get(self, tenant: str, run_id: str, digest: str) -> Review | None: ...

    async def put(self, tenant: str, digest: str, review: Review, at: datetime) -> None: ...

    async def of_run(self, tenant: str, run_id: str) -> Sequence[Review]: ...
