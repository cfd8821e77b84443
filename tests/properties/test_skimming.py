"""What a look at the words rules out is what taking a statement apart rules out."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hindsight_ray.core import claims, conflict, slots
from hindsight_ray.core.claims import clash, meet, same_claim
from hindsight_ray.core.conflict import likeness, read, unlike
from hindsight_ray.core.nearest import worth_reading
from hindsight_ray.core.verdict import Kept, Terms, comparable, judge
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.rows import EmbeddingSpace, Stated
from tests.records import memory_of
from tests.worlds import START

_SPACE = EmbeddingSpace("none", 2, 0.95, 0.85)
_OF = [
    "billing", "the parties", "parties", "party", "C++", "X-1,5", "Ünits", "ＡＢ", "team 5",
    "team five", "缓存", "our", "isn't", "1,000 rows", "the cat's bowls", "boxes", "box", "ﬁle",
]  # fmt: skip
_VALUES = [
    "Dana", "5", "five", "-5", "3 days", "3 hours", "red", "blue", "on", "off", "Monday", "10:30",
    "1,000", "enabled", "disabled", "两", "2 replicas", "before noon", "after noon",
]  # fmt: skip
_FORMS = [
    "The owner of {s} is {v}", "{s}'s owner is {v}", "{v} is the owner of {s}", "{s} is {v}",
    "{s} has {v}", "Please keep {s} {v}.", "Do not keep {s} {v}", "keeps {s}, {v}",
    "{s} is not {v}", "{v} is what {s} is", "the {s} takes {v}", "{s}的负责人是{v}",
    "every {v} {s} is checked", "Our {s} is {v}!", "{s} never is {v}", "in {s}, {v}",
    "lint {v} deploying {s}",
]  # fmt: skip


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two statements of a few things and values, in one form or two; or one of them anything."""
    form, of = draw(st.sampled_from(_FORMS)), draw(st.sampled_from(_OF))
    new = form.format(s=of, v=draw(st.sampled_from(_VALUES)))
    if draw(st.booleans()):
        form = draw(st.sampled_from(_FORMS))
    if draw(st.booleans()):
        of = draw(st.sampled_from(_OF))
    kept = form.format(s=of, v=draw(st.sampled_from(_VALUES)))
    return new, draw(st.one_of(st.just(kept), st.just(kept), st.text(max_size=30)))


_PAIRS = _pairs()
Row = tuple[tuple[str, str], float, tuple[str, ...], str | None]


def _lacks_nothing(text: str, words: Sequence[str], beyond: int = 0) -> bool:
    del text, words, beyond
    return False


@pytest.mark.covers("write.skimmed")
@settings(max_examples=200)
@example(("The parties are informed", "the party is not informed"))
@example(("The limit of rows is 1000", "1,000 is the limit of rows"))
@example(("The owner of team 5 is Dana", "Team five's owner is Eve"))
@example(("Every 30 days keys change", "Every 2 weeks keys change"))
@example(("Wait 3 days for boxes", "Please wait 4 days for boxes."))
@given(_PAIRS)
def test_what_a_look_rules_out_every_rule_rules_out(pair: tuple[str, str]) -> None:
    for new, kept in (pair, pair[::-1]):
        found = clash(new, kept), same_claim(new, kept)
        with pytest.MonkeyPatch.context() as whole:
            for rules in (claims, slots):
                whole.setattr(rules, "lacks", _lacks_nothing)
            assert found == (clash(new, kept), same_claim(new, kept))


@pytest.mark.covers("write.skimmed")
@settings(max_examples=200)
@example(("The parties meet", "the party does not meet"))
@example(("Ship before the review", "ship after the review"))
@given(_PAIRS)
def test_what_looks_unlike_is_neither_the_same_nor_the_opposite(pair: tuple[str, str]) -> None:
    for new, kept in (pair, pair[::-1]):
        like = likeness(read(new), read(kept), 0.5, _SPACE)
        assert not unlike(read(new), kept) or like in ("different", "unsure")


@pytest.mark.covers("write.skimmed")
def test_most_of_what_is_about_something_else_is_told_at_a_look() -> None:
    new = read("The nightly export of invoices takes 3 hours on weekdays")
    assert unlike(new, "Deploys to the staging cluster are announced in the morning")
    assert not conflict.unlike(new, "The nightly export of invoices takes no hours on weekdays")


@pytest.mark.covers("write.skimmed")
@settings(max_examples=200)
@example(("The owner of team 5 is Dana", "Team five's owner is Eve"))
@example(("Every 30 days keys change", "Every 2 weeks keys change"))
@example(("keeps billing, red", "Please keep billing blue."))
@given(_PAIRS)
def test_two_statements_that_do_not_meet_neither_agree_nor_clash(pair: tuple[str, str]) -> None:
    new, kept = pair
    if not meet(new, kept):
        assert not same_claim(new, kept)
        assert clash(new, kept) is None


def _stated(memory: Memory) -> Stated:
    return Stated(memory.content, memory.status, bool(memory.labels), lambda: memory)


def _draft(content: str, topic: str | None) -> Draft:
    source = {"kind": "agent", "weight": 0.6, "agent": "planner"}
    fields = {
        "tenant": "acme", "principal": "agent:planner", "command_id": "c", "scope": "global",
        "audience": ("global",), "content": content, "labels": ("known",), "source": source,
        "topic": topic,
    }  # fmt: skip
    return Draft.model_validate(fields)


_NEW = "The owner of billing is Dana"


def _after_six_others(kept: str, labels: tuple[str, ...]) -> list[Row]:
    """What is kept, further off than six texts about something else with these labels."""
    others = [((_NEW, f"Deploys of kind {n} wait"), 0.8, labels, None) for n in range(6)]
    return [*others, ((_NEW, kept), 0.4, ("known",), None)]


@pytest.mark.covers("write.skimmed")
@settings(max_examples=150)
@example(_after_six_others("Eve is the owner of billing", ()), False)
@example(_after_six_others("The owner, of billing is Dana", ()), False)
@example(_after_six_others("The owner, of billing is Dana", ("hidden",)), False)
@example(_after_six_others("The owner, of billing is Dana", ("known",)), False)
@given(
    st.lists(
        st.tuples(
            _PAIRS,
            st.floats(0.3, 1.0),
            st.sampled_from([(), ("known",), ("hidden",)]),
            st.sampled_from([None, "owner"]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_what_is_not_read_changes_no_verdict(rows: list[Row], has_judge: bool) -> None:
    new = rows[0][0][0]
    draft, terms = _draft(new, rows[0][3]), Terms(_SPACE, START, 60.0, has_judge=has_judge)
    near: list[tuple[Memory, float]] = []
    for place, ((_, kept), similarity, labels, topic) in enumerate(rows):
        if kept.strip() and kept.isprintable():
            fields = {"content": kept, "labels": labels, "topic": topic}
            near.append((memory_of(str(place), **fields), similarity))
    near.sort(key=lambda one: -one[1])
    readable = [one for one in near if comparable(draft, one[0])]
    whole = [Kept(memory, close, place < 5) for place, (memory, close) in enumerate(readable)]
    stated = [(_stated(memory), close) for memory, close in near]
    read_on = worth_reading(draft, new, stated, ("active",), terms)
    assert {one.memory.id for one in read_on} <= {one.memory.id for one in whole}
    assert judge(draft, new, read_on, (), terms) == judge(draft, new, whole, (), terms)
