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
