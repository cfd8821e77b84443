"""Which lines of a policy came and went, and where the new ones stand between the old.

Pure, so that it can be read beside its promise: what is left and what came, sorted by place, are
exactly the new lines in their order.
"""

from collections.abc import Sequence
from itertools import pairwise

Line = tuple[int, str]  # a place in the order, and the line
Moved = tuple[str, int, bool, str]  # kind, place, whether it came, the line


def placed_anew(
    known: Sequence[Line], wanted: Sequence[str], gap: int
) -> tuple[list[Line], list[Line]] | None:
    """(what went, what came) to get from `known` to `wanted`.

    None where that takes more than removing and inserting: lines that changed their order, a line
    given twice, or no room left between two.
    """
    where = {record: position for position, record in known}
    if len(where) != len(known) or len(set(wanted)) != len(wanted):
        return None
    kept = [where[record] for record in wanted if record in where]
    if any(left > right for left, right in pairwise(kept)):
        return None
    come = _between(wanted, where, gap)
    staying = set(wanted)
    gone = [line for line in known if line[1] not in staying]
    return None if come is None else (gone, come)


def _between(wanted: Sequence[str], where: dict[str, int], gap: int) -> list[Line] | None:
    """Places for the new lines among those that stay; None where there is no room."""
    come: list[Line] = []
    waiting: list[str] = []
    left = 0
    for record in wanted:
        right = where.get(record)
        if right is None:
            waiting.append(record)
            continue
        step = (right - left) // (len(waiting) + 1)
        if waiting and step < 1:
            return None
        come += [(left + step * (1 + n), one) for n, one in enumerate(waiting)]
        waiting, left = [], right
    come += [(left + gap * (1 + n), one) for n, one in enumerate(waiting)]
    return come
