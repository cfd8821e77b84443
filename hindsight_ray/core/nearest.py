"""Which of the kept records that are near a statement need be read, for what it says alone?

Most of them are about something else and change no verdict, whatever the rest of their record is;
that is told by a look at what they state, and reading a record costs many times that.
"""

from collections.abc import Collection, Iterable

from hindsight_ray.core.claims import meet
from hindsight_ray.core.conflict import read
from hindsight_ray.core.lookalikes import undisguised
from hindsight_ray.core.verdict import CLAIMING, Kept, Terms, comparable, told_apart
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.rows import Stated

_JUDGED = 5  # the nearest, whose words are compared and that a judge may be asked about


def worth_reading(
    draft: Draft,
    content: str,
    near: Iterable[tuple[Stated, float]],
    decisive: Collection[str],
    terms: Terms,
) -> list[Kept]:
    """Of these, by similarity, those that the draft may be compared with and that may matter.

    What has none of the `decisive` statuses waits: the draft may confirm it, so all of that is.
    """
    found: list[Kept] = []
    passed = 0
    for stated, similarity in near:
        decides, nearest = stated.status in decisive, passed < _JUDGED
        if decides and not (
            (nearest and not told_apart(read(content), stated.content, similarity, terms))
            or _may_claim(draft, content, stated.content)
        ):
            # It takes its place among the nearest all the same, where its labels let it.
            passed += nearest and (not stated.labelled or comparable(draft, stated.memory()))
            continue
        memory = stated.memory()
        if comparable(draft, memory):
            found.append(Kept(memory, similarity, nearest))
            passed += decides
    return found


def _may_claim(draft: Draft, content: str, kept: str) -> bool:
    """Whether the two may say something of one thing. A disguised word is read in two ways."""
    return draft.type in CLAIMING and (undisguised(content) != content or meet(content, kept))
