"""Who is told that a kept record says it finds it there for as long as they asked."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.confirm import confirmed
from hindsight_ray.core.opinion import Opinion, Opinions, Pair
from hindsight_ray.core.verdict import Kept, Terms, judge
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Memory, Source, SourceKind
from hindsight_ray.domain.rows import EmbeddingSpace

NOW = datetime(2026, 3, 2, tzinfo=UTC)
SPACE = EmbeddingSpace("m", 4, duplicate_at=0.95, merge_at=0.85)
LONG = "Deploys to production require written approval from the platform lead on weekdays"
TEXTS = (
    LONG,
    LONG.replace("approval", "formal approval"),
    "Who deploys to production asks the platform lead first",
    "The owner of billing is Dana",
    "Billing has Dana as its owner",
)
OWN = ("user:alice",)
said = st.fixed_dictionaries(
    {
        "content": st.sampled_from(TEXTS),
        "topic": st.sampled_from([None, "a"]),
        "expires_at": st.sampled_from([None, NOW + timedelta(hours=1), NOW + timedelta(days=9)]),
    }
)
kinds: st.SearchStrategy[SourceKind] = st.sampled_from(list(SOURCE_WEIGHTS))
accepted = st.sampled_from([None, "user:carol"])


def _source(kind: SourceKind, reviewed_by: str | None) -> Source:
    trusted = kind not in ("tool", "import")
    return Source(
        kind=kind,
        weight=SOURCE_WEIGHTS[kind],
        agent="a",
        trusted=trusted,
        reviewed_by=reviewed_by,
    )


@pytest.mark.covers("write.lasts")
@pytest.mark.parametrize("status", ["active", "pending"])
@settings(max_examples=150)
@given(
    new=said,
    old=said,
    readers=st.sampled_from([OWN, (*OWN, "agent:a")]),
    by=st.tuples(kinds, accepted),
    kept_by=st.tuples(kinds, accepted),
    judges=st.booleans(),
)
def test_what_is_taken_for_a_kept_statement_lasts_with_it(
    *,
    status: str,
    new: dict[str, object],
    old: dict[str, object],
    readers: tuple[str, ...],
    by: tuple[SourceKind, str | None],
    kept_by: tuple[SourceKind, str | None],
    judges: bool,
) -> None:
    where = {"tenant": "acme", "scope": "user:alice", "audience": readers}
    author = {"principal": "agent:a", "command_id": "c", "source": _source(*by)}
    draft = Draft.model_validate(where | new | author)
    kept = Memory.model_validate(
        where
        | old
        | {
            "id": "5b0f3c1e-7d55-5d0b-9b1a-3f6f0c9c2a71",
            "revision": 1,
            "type": "fact",
            "audience": OWN,
            "status": status,
            "embedding_model": "m",
            "source": _source(*kept_by),
            "created_at": NOW - timedelta(hours=1),
            "updated_at": NOW - timedelta(hours=1),
        }
    )
    same = {Pair(draft.content, kept).key: Opinion("same")} if judges else {}
    terms = Terms(SPACE, NOW, 24 * 3600, Opinions(same))
    near = [Kept(kept, 0.99)]
    on_topic = [kept] if draft.topic == kept.topic else []
    found = judge(draft, draft.content, near if status == "active" else [], on_topic, terms)
    if status == "pending":
        found = confirmed(draft, draft.content, found, near, terms)
    one = found.duplicate_of or found.merged
    if one is not None and one.expires_at is not None:
        assert draft.expires_at is not None
        assert draft.expires_at <= one.expires_at
