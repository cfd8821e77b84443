"""Whose word is a kept statement, once somebody else says it too?"""

from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory, Source


def outweighs(draft: Draft, kept: Memory) -> bool:
    """Whether the draft's word counts for more than that of the kept record's source."""
    if draft.source.weight > kept.source.weight:
        return True
    return draft.source.trusted and not kept.source.trusted


def sourced(draft: Draft, kept: Memory) -> Source:
    """The draft's source for the kept text. What was accepted stays so; nothing gets lighter."""
    return draft.source.model_copy(
        update={
            "weight": max(draft.source.weight, kept.source.weight),
            "trusted": draft.source.trusted or kept.source.trusted,
            "reviewed_by": draft.source.reviewed_by or kept.source.reviewed_by,
        }
    )


def may_reword(draft: Draft, kept: Memory) -> bool:
    """Whether the draft's text may take the kept one's place: nobody lighter, and none that was
    not accepted in the place of one that was."""
    accepted = kept.source.reviewed_by is not None and draft.source.reviewed_by is None
    weight = kept.source.weight
    return draft.source.weight > weight if accepted else draft.source.weight >= weight


def lasts(draft: Draft, kept: Memory) -> bool:
    """Whether the kept record is there for as long as the draft asks to be."""
    if kept.expires_at is None:
        return True
    return draft.expires_at is not None and draft.expires_at <= kept.expires_at


def prolonged(draft: Draft, kept: Memory) -> dict[str, object] | None:
    """What makes the kept record stay for as long as the draft asks: nothing where it does, the
    later end by whoever could have reworded it, and by nobody else: None."""
    if lasts(draft, kept):
        return {}
    if outweighs(draft, kept) or may_reword(draft, kept):
        return {"expires_at": draft.expires_at}
    return None


def twin_adds(draft: Draft, kept: Memory) -> dict[str, object] | None:
    """What one of the same words adds to the kept record: to anybody's word what confirms it, that
    somebody has accepted it. A topic, a longer life and what it rests on decide when the kept one
    is outdated, ends or is taken back: only whoever could have reworded it adds those. None where
    the kept one ends sooner all the same: then it does not stand for the other."""
    changes = prolonged(draft, kept)
    if changes is None:
        return None
    by = draft.source.reviewed_by
    accepts = by is not None and kept.source.reviewed_by is None
    if accepts:
        update = {"reviewed_by": by, "trusted": True}
        changes["source"] = kept.source.model_copy(update=update)
    if not outweighs(draft, kept) and not may_reword(draft, kept):
        return changes
    if draft.topic is not None and kept.topic is None:
        changes["topic"] = draft.topic
    if accepts or "topic" in changes:
        changes["derived_from"] = tuple(dict.fromkeys((*kept.derived_from, *draft.derived_from)))
    return changes
