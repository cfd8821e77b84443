"""Reviewers: reviews, attributions and imports, which take long and would hold up a broker."""

from hindsight_ray.actors.shell import Shell


class Reviewer(Shell):
    """Answers the commands that read whole trajectories.

    **Guarantees** (beside those of `Shell`)
    - A review that is interrupted has stored whole memories or none of them; asked again, it
      finds those as duplicates and goes on.
    """
