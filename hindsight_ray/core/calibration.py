"""From labelled pairs to a model's thresholds: where its similarities part what people part.

`duplicate_at` lies as low as it can without taking in a paraphrase, a related or an unrelated pair
(near statements, "release 41" and "release 42", are for words to tell apart, at any similarity);
`merge_at` so that nothing unrelated and at most a tenth of the related pairs pass it.
"""

import math
from collections.abc import Mapping, Sequence

from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.upkeep import Calibration, LabelledKind, Spread
from hindsight_ray.errors import InvalidInput

_RELATED_ABOVE = 0.1  # share of related pairs that may be compared by words
_MARGIN = 0.05  # of the gap that `duplicate_at` keeps from the kinds below it


def calibrated(
    space: EmbeddingSpace, similarities: Mapping[LabelledKind, Sequence[float]]
) -> Calibration:
    """The thresholds that these similarities give. Raises `InvalidInput` without both sides."""
    same = sorted(similarities.get("duplicate", ()))
    others = [
        value
        for kind in ("paraphrase", "related", "unrelated")
        for value in similarities.get(kind, ())
    ]
    if not same or not others:
        raise InvalidInput(
            "`pairs` need some of kind `duplicate`, and some that are none (`paraphrase`,"
            " `related`, `unrelated`)",
            field="pairs",
        )
    highest = max(others)
    above = [value for value in same if value > highest]
    least = above[0] if above else 1.0
    duplicate_at = min(1.0, _up(highest + max(_MARGIN * (least - highest), 1e-4)))
    merge_at = min(duplicate_at, _merge_at(similarities, duplicate_at))
    return Calibration(
        model=space.model,
        dimension=space.dimension,
        duplicate_at=duplicate_at,
        merge_at=merge_at,
        spreads=tuple(_spread(kind, values) for kind, values in similarities.items() if values),
        duplicates_below=sum(value < duplicate_at for value in same),
        others_above=sum(value >= duplicate_at for value in others),
    )


def _merge_at(similarities: Mapping[LabelledKind, Sequence[float]], duplicate_at: float) -> float:
    apart = max(similarities.get("unrelated", ()), default=-1.0)
    related = sorted(similarities.get("related", ()), reverse=True)
    passing = math.floor(_RELATED_ABOVE * len(related))
    edge = related[passing] if passing < len(related) else -1.0
    floor = max(apart, edge)
    return duplicate_at if floor <= -1.0 else _up(floor + 1e-4)


def _spread(kind: LabelledKind, values: Sequence[float]) -> Spread:
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Spread(
        kind=kind,
        pairs=len(ordered),
        least=ordered[0],
        p10=at(0.1),
        median=at(0.5),
        p90=at(0.9),
        most=ordered[-1],
    )


def _up(value: float) -> float:
    """Up to the next multiple of 0.0001, so that a threshold can be read and typed."""
    return math.ceil(value * 10_000 - 1e-9) / 10_000
