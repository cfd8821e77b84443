"""Whatever a lighter word says, a heavier one stays as it was said."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.confirm import confirmed
from hindsight_ray.core.verdict import Kept, Terms, judge
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Memory, Source, SourceKind
from hindsight_ray.domain.rows import EmbeddingSpace

NOW = datetime(2026, 3, 2, tzinfo=UTC)
TERMS = Terms(EmbeddingSpace("m", 4, duplicate_at=0.95, merge_at=0.85), NOW, 24 * 3600)
LONG = "Deploys to production require written approval from the platform lead on weekdays"
TEXTS = (
    LONG,
    LONG.replace("approval", "formal approval"),
    LONG.replace("require", "do not require"),
    "The owner of billing is Dana",
    "Billing has Dana as its owner",
    "The owner of billing is Eve",
    "The owner of billing is not Dana",
)
OTHERS = [MemoryRef(id=f"5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a7{n}", revision=1) for n in "23"]

said = st.fixed_dictionaries(
    {
        "content": st.sampled_from(TEXTS),
        "topic": st.sampled_from([None, None, "a", "b"]),
        "expires_at": st.sampled_from([None, NOW + timedelta(hours=1), NOW + timedelta(days=9)]),
        "tags": st.sampled_from([(), ("x",), ("y", "z")]),
        "importance": st.sampled_from([0.0, 0.5, 1.0]),
        "confidence": st.sampled_from([0.1, 0.8, 1.0]),
        "derived_from": st.sampled_from([(), (OTHERS[0],), tuple(OTHERS)]),
    }
)
pairs = st.sampled_from(
    [
        (one, other)
        for one, weight in SOURCE_WEIGHTS.items()
        for other, more in SOURCE_WEIGHTS.items()
        if weight < more
    ]
)
people = st.sampled_from([None, "alice", "bob"])
accepted = st.tuples(*[st.sampled_from([None, None, "user:carol"])] * 2)
WHERE = {"tenant": "acme", "scope": "user:alice", "audience": ("user:alice",)}


def _source(kind: SourceKind, user: str | None, reviewed_by: str | None) -> Source:
    fields = {"kind": kind, "weight": SOURCE_WEIGHTS[kind], "agent": "a", "user": user}
    return Source.model_validate(fields | {"reviewed_by": reviewed_by})


def _unreviewed(source: Source) -> Source:
    return source.model_copy(update={"reviewed_by": None})


@pytest.mark.covers("write.whose")
@pytest.mark.parametrize("status", ["active", "pending"])
@settings(max_examples=150)
@given(new=said, old=said, kinds=pairs, user=people, by=accepted)
def test_a_lighter_word_takes_and_changes_nothing_of_a_heavier_one(
    *,
    status: str,
    new: dict[str, object],
    old: dict[str, object],
    kinds: tuple[SourceKind, SourceKind],
    user: str | None,
    by: tuple[str | None, str | None],
) -> None:
    author = {"principal": "agent:a", "command_id": "c", "source": _source(kinds[0], user, by[0])}
    draft = Draft.model_validate(WHERE | new | author)
    state = {
        "id": "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71", "revision": 1, "type": "fact",
        "status": status, "embedding_model": "m", "source": _source(kinds[1], "alice", by[1]),
        "created_at": NOW - timedelta(hours=1), "updated_at": NOW - timedelta(hours=1),
    }  # fmt: skip
    kept = Memory.model_validate(WHERE | old | state)
    near, on_topic = [Kept(kept, 0.99)], [kept] if draft.topic == kept.topic else []
    found = judge(draft, draft.content, near if status == "active" else [], on_topic, TERMS)
    if status == "pending":
        found = confirmed(draft, draft.content, found, near, TERMS)
    assert (found.outdated, found.set_aside, found.taken_over) == ((), (), None)
    if found.merged is None:
        return
    may_grow = {"status", "confidence", "source"}
    assert found.merged.model_dump(exclude=may_grow) == kept.model_dump(exclude=may_grow)
    assert found.merged.confidence >= kept.confidence
    assert found.merged.status in (status, "active")
    assert _unreviewed(found.merged.source) == _unreviewed(kept.source)
    assert found.merged.source.reviewed_by in (by[1], by[1] or by[0])
