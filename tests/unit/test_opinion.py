"""How far a judge is believed and what its word does: pairs by hand, a judge that says anything."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_ray.core.conflict import read
from hindsight_ray.core.opinion import Opinion, Opinions, Pair, believed
from hindsight_ray.core.verdict import Kept, Terms, Verdict, judge
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import SOURCE_WEIGHTS, Memory, Source, SourceKind
from hindsight_ray.domain.rows import EmbeddingSpace

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SPACE = EmbeddingSpace(model="test", dimension=4, duplicate_at=0.95, merge_at=0.85)
KEPT = "Deployments go out on Friday afternoon"


def memory(content: str = KEPT, *, days: float = 30, kind: SourceKind = "agent") -> Memory:
    return Memory.model_validate({
        "id": "00000000-0000-5000-8000-000000000001", "revision": 1, "tenant": "acme",
        "scope": "user:alice", "audience": ("user:alice",), "content": content, "type": "fact",
        "created_at": NOW - timedelta(days=days), "updated_at": NOW - timedelta(days=days),
        "source": Source(kind=kind, weight=SOURCE_WEIGHTS[kind], user="alice"),
        "embedding_model": "test",
    })  # fmt: skip


def verdict(
    new: str, kept: Memory, opinion: Opinion | None, *, similarity: float = 0.9,
    kind: SourceKind = "agent", status: str = "active",
) -> Verdict:  # fmt: skip
    draft = Draft.model_validate({
        "tenant": "acme", "principal": "agent:planner", "command_id": "c", "scope": "user:alice",
        "audience": ("user:alice",), "content": new, "status": status,
        "source": Source(
            kind=kind, weight=SOURCE_WEIGHTS[kind], user="alice", trusted=kind != "tool"
        ),
    })  # fmt: skip
    opinions = Opinions() if opinion is None else Opinions({Pair(new, kept).key: opinion})
    terms = Terms(SPACE, NOW, 86_400, opinions)
    return judge(draft, new, [Kept(kept, similarity)], (), terms)


SAME = Opinion("same", by="judge@1 x")
CONTRARY = Opinion("contradicts", "on Friday afternoon", by="judge@1 x")


def test_a_judge_is_asked_where_rules_are_not_sure_and_nowhere_else() -> None:
    assert verdict("Releases are shipped at the end of the week", memory(), None).asks
    assert not verdict("Releases are shipped weekly", memory(), None, similarity=0.8).asks
    assert not verdict(KEPT, memory(), None).asks


@pytest.mark.covers("erase.bytes")
def test_what_is_said_of_a_contradiction_names_the_other_statement_and_quotes_none_of_it() -> None:
    reached = verdict("Deployments go out every morning", memory(), CONTRARY)
    assert memory().id in reached.why
    assert not {"friday", "afternoon"} & set(reached.why.casefold().replace("'", " ").split())


@pytest.mark.covers("write.unrelated")
@pytest.mark.parametrize(
    ("new", "kept", "part"),
    [
        ("The portal 13 is hosted in Oslo", "The portal 12 is hosted in Lima", "Lima"),
        ("The lead Dana sits in Oslo", "The lead Chen sits in Lima", "Lima"),
        ("The five queues are in Oslo", "The three queues are in Lima", "Lima"),
        ("仓库系统1号在周一备份", "订单队列66号在周五备份", "周五"),
    ],
)
def test_no_judge_retires_what_is_about_another_number_or_name(
    new: str, kept: str, part: str
) -> None:
    reached = verdict(new, memory(kept), Opinion("contradicts", part))
    assert (reached.outdated, reached.set_aside, reached.pending) == ((), (), False)


@pytest.mark.covers("write.claims")
@pytest.mark.parametrize(
    ("relation", "part", "pending", "outdated"),
    [("contradicts", "Chen", False, 1), ("different", "", False, 0), ("failed", "", True, 0)],
)
def test_a_judge_decides_what_a_form_only_suggests(
    relation: str, part: str, pending: bool, outdated: int
) -> None:
    kept = memory("Billing is led by Chen")
    assert verdict("Billing is led by Dana", kept, None).asks == (
        Pair("Billing is led by Dana", kept),
    )
    said = Opinion("different", failed="down") if relation == "failed" else None
    said = said or Opinion("contradicts" if part else "different", part)
    reached = verdict("Billing is led by Dana", kept, said)
    assert (reached.pending, len(reached.outdated)) == (pending, outdated)


@pytest.mark.covers("write.judged")
def test_a_judge_is_asked_about_one_named_thing_however_unlike_the_words() -> None:
    kept = memory("The portal 13 is hosted in Oslo")
    assert verdict("The site of the portal 13 is Lima", kept, None, similarity=0.3).asks
    assert not verdict("The site of the portal 14 is Lima", kept, None, similarity=0.3).asks
    assert not verdict("Release 13 of the cart failed at noon", kept, None, similarity=0.3).asks
    unnamed = memory("The portal is hosted in Oslo")
    assert not verdict("The portal is slow at noon", unnamed, None, similarity=0.3).asks


@pytest.mark.covers("write.judged")
def test_the_same_in_other_words_is_a_duplicate_and_a_fuller_wording_is_taken_over() -> None:
    brief = verdict("Deployments happen Friday afternoon", memory(), SAME)
    assert brief.duplicate_of is not None
    fuller = "Deployments always go out late on Friday in the afternoon hours"
    assert verdict(fuller.replace("always ", ""), memory(), SAME).merged is not None


FULLER = "Deployments go out late on Friday in the afternoon hours"


@pytest.mark.covers("poison.untouched")
@pytest.mark.parametrize("opinion", [SAME, CONTRARY])
def test_no_judge_lets_text_from_outside_change_what_somebody_said_or_accepted(
    opinion: Opinion,
) -> None:
    new = FULLER if opinion is SAME else "Deployments happen on Mondays only, before noon"
    outside = memory(kind="tool")
    outside = outside.model_copy(
        update={"source": outside.source.model_copy(update={"trusted": False})}
    )
    vouched = outside.source.model_copy(update={"reviewed_by": "user:alice"})
    for kept in (memory(kind="tool"), outside.model_copy(update={"source": vouched})):
        for kind, status in (("tool", "active"), ("tool", "quarantined")):
            found = verdict(new, kept, opinion, kind=kind, status=status)  # type: ignore[arg-type]
            assert (found.merged, found.outdated, found.set_aside) == (None, (), ())
    # What nobody vouches for either, it may; and what is quarantined, nothing that is answered.
    free = verdict(new, outside, opinion, kind="tool")
    assert free.merged is not None or free.outdated or free.set_aside
    bound = verdict(new, outside, opinion, kind="tool", status="quarantined")
    assert (bound.merged, bound.outdated, bound.set_aside) == (None, (), ())


@pytest.mark.covers("write.judged")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("Release 42 is live", "Release 41 is live"),
        ("Alice reviews Bob", "Bob reviews Alice"),
        ("Never deploy on Friday", "Deploy on Friday"),
        ("Deploy on Friday unless it snows", "Deploy on Friday"),
    ],
)
def test_no_judge_makes_one_of_statements_with_other_particulars(new: str, kept: str) -> None:
    found = verdict(new, memory(kept), SAME, similarity=0.99)
    assert found.duplicate_of is None
    assert found.merged is None


@pytest.mark.covers("write.judged")
def test_a_contradiction_that_names_its_part_outdates_the_kept_one() -> None:
    found = verdict("Deployments go out every morning", memory(), CONTRARY)
    assert [one.content for one in found.outdated] == [KEPT]
    assert "judge@1 x" in found.why


@pytest.mark.covers("write.judged")
@pytest.mark.parametrize("part", ["", "on Monday", "the", "  ", "Deployments go out at noon"])
def test_a_contradiction_without_the_part_it_contradicts_changes_nothing(part: str) -> None:
    found = verdict("Deployments go out every morning", memory(), Opinion("contradicts", part))
    assert found.outdated == ()
    assert not found.pending


@pytest.mark.covers("write.judged")
def test_unrelated_statements_never_retire_each_other() -> None:
    found = verdict("Alice prefers tea", memory(), CONTRARY, similarity=0.99)
    assert (found.outdated, found.pending, found.merged, found.duplicate_of) == (
        (),
        False,
        None,
        None,
    )


def test_a_lighter_source_waits_and_a_contradiction_of_the_same_day_waits_with_its_twin() -> None:
    new = "Deployments go out every morning"
    lighter = verdict(new, memory(kind="user"), CONTRARY)
    assert (lighter.pending, lighter.outdated) == (True, ())
    both = verdict(new, memory(days=0.5), CONTRARY)
    assert (both.pending, len(both.set_aside)) == (True, 1)


def test_where_the_judge_failed_rules_decide() -> None:
    found = verdict("Shipping is done on Fridays", memory(), Opinion("same", failed="away"))
    assert (found.asks, found.duplicate_of, found.outdated) == ((), None, ())


def test_an_opinion_is_of_one_revision() -> None:
    edited = memory().model_copy(update={"revision": 2})
    opinions = Opinions({Pair("x", memory()).key: SAME})
    assert opinions.of("x", memory()) is SAME
    assert opinions.of("x", edited) is None


_WORDS = (
    "deploy", "release", "on", "Friday", "Monday", "41", "42", "never", "not", "Alice", "Bob",
    "prefers", "tea", "coffee", "before", "after",
)  # fmt: skip
_words = st.sampled_from(_WORDS)
_statement = st.lists(_words, min_size=1, max_size=6).map(" ".join)


@pytest.mark.covers("write.judged")
@given(
    _statement, _statement, st.sampled_from(["same", "contradicts", "different"]),
    st.text(max_size=12) | _statement,
)  # fmt: skip
def test_whatever_a_judge_says_its_word_is_checked(
    new: str, kept: str, relation: str, part: str
) -> None:
    opinion = Opinion(relation, part)  # pyright: ignore[reportArgumentType]
    found = believed(opinion, read(new), memory(kept))
    if found == "same":
        assert sorted(read(new).numbers) == sorted(read(kept).numbers)
        assert read(new).negations == read(kept).negations
    if found == "contradicts":
        assert part.strip()
        assert set(read(new).stems) & set(read(kept).stems)
