"""Who makes the reviews that nobody asked for: other processes, where a deployment has them."""

from typing import Protocol

from hindsight_ray.domain.review import DueReview


class Reviews(Protocol):
    """Takes reviews that are due off this process's hands."""

    async def hand(self, due: DueReview) -> None:
        """Have the review made, by whoever is there; returns once it has been made.

        What cannot be handed over now is looked for later (`service/review_due.overdue`).
        """
        ...
