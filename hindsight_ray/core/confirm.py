"""A statement that waited and is said again with confidence: it waits no longer."""

from collections.abc import Sequence
from dataclasses import replace

from hindsight_ray.core.conflict import likeness, read
from hindsight_ray.core.verdict import (
    Kept,
    Terms,
    Verdict,
    equal_readers,
    may_change,
    says_the_same,
)
from hindsight_ray.core.whose import outweighs, prolonged, sourced
from hindsight_ray.domain.draft import Draft


def confirmed(
    draft: Draft, content: str, verdict: Verdict, waiting: Sequence[Kept], terms: Terms
) -> Verdict:
    """The verdict on a statement, given records of the same readers that wait for a person.

    One that says the same becomes active with what the new one knows, and lasts as long; where the
    new one would wait too (its value is contested), it is that one again, and people decide. One
    that ends sooner, and that the new one may not make last, goes on waiting beside it.
    """
    if verdict.found_again:
        return verdict
    new = read(content)
    for kept in waiting:
        memory = kept.memory
        if not equal_readers(draft, memory) or not may_change(draft, memory):
            continue
        framed = (draft.topic, draft.steps, draft.project)
        if framed != (memory.topic, memory.steps, memory.project):
            continue
        like = likeness(new, read(memory.content), kept.similarity, terms.space)
        if like != "same" and not says_the_same(draft, content, memory):
            continue
        if verdict.outdated:
            return verdict  # it is stored, in the place of another value
        longer = prolonged(draft, memory)
        if longer is None:
            continue
        if verdict.pending:
            found = Verdict(why=f"{memory.id} says the same, and waits", otherwise=verdict.why)
            if not longer:
                return replace(found, duplicate_of=memory)
            return replace(found, merged=memory.model_copy(update=longer))
        takes = draft.source.weight >= memory.source.weight or outweighs(draft, memory)
        changes = {
            "status": "active",
            "confidence": max(memory.confidence, draft.confidence),
            "source": sourced(draft, memory) if takes else memory.source,
            **longer,
        }
        return Verdict(
            merged=memory.model_copy(update=changes), why=f"it confirms {memory.id}, which waited"
        )
    return verdict
