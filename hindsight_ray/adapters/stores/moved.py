"""The refusal of a store whose home is in another embedding space by now."""

from hindsight_ray.errors import SpaceMismatch


def moved(model: str | None, now: str | None, **details: object) -> SpaceMismatch:
    """`model` is what the store compares in, `now` what the home is in."""
    return SpaceMismatch(
        f"`embedding` {model!r} is not this home's any more, which is {now!r}; open it again",
        pinned_model=now,
        **details,
    )
