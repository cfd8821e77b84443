"""Reading what models answer: everything that can be saved is, the rest fails under a name."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.answers import Names, read_answer
from hindsight_ray.core.filled import Filling
from hindsight_ray.core.shapes import SHAPES, ExtractAnswer, JudgeAnswer, ReviewAnswer, WindowAnswer
from hindsight_ray.errors import ModelFailed
from tests.trajectories import Story, event_id
from tests.unit.model_answers import FAILED, OBJECT, READ

NAMES = Names({"e1": event_id("one"), "e2": event_id("two")})


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize("answer", READ.values(), ids=READ.keys())
def test_what_can_be_saved_is_saved(answer: str) -> None:
    read = read_answer(answer, ReviewAnswer)
    assert [one.advice for one in read.value.lessons] == ["You should ask"]
    assert {name for one in read.value.lessons for name in one.events} == {"e1"}


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize(("answer", "failure"), FAILED.values(), ids=FAILED.keys())
def test_what_cannot_be_saved_fails_under_its_name(answer: str, failure: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        read_answer(answer, ReviewAnswer)
    assert failed.value.details["failure"] == failure


def test_a_repair_is_named_and_a_good_answer_needs_none() -> None:
    assert read_answer(OBJECT, ReviewAnswer).repairs == ()
    assert "taken out of a fence" in read_answer(READ["fence"], ReviewAnswer).repairs
    lost = read_answer(READ["one bad item among good"], ReviewAnswer).lost
    assert len(lost) == 3
    assert all(one.startswith("an item of `lessons` left out: ") for one in lost)


def test_a_list_answers_where_the_shape_has_one_list() -> None:
    item = (
        '[{"type": "fact", "content": "c", "events": ["e1"], "confidence": 1, "new": true,'
        ' "actionable": true, "lasting": true, "reason": "r"}]'
    )
    assert len(read_answer(item, ExtractAnswer).value.items) == 1


def test_a_shape_that_lacks_what_it_needs_is_unfit() -> None:
    with pytest.raises(ModelFailed) as failed:
        read_answer('{"summary": {}}', WindowAnswer)
    assert failed.value.details["failure"] == "unfit"


def test_an_empty_object_says_nothing_where_nothing_need_be_said() -> None:
    assert read_answer("{}", JudgeAnswer).value.pairs == []
    with pytest.raises(ModelFailed):
        read_answer("{}", WindowAnswer)


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20)
    | st.sampled_from(["e1", "e2", "e3", "path", "lessons", "You should", "properties", "type"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["path", "lessons", "advice", "events", "arguments", "properties", "items"])
        | st.text(max_size=5),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


def _mangled(draw: st.DrawFn) -> str:

    text = draw(st.sampled_from([OBJECT, *READ.values()]) | _json.map(json.dumps))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        if draw(st.booleans()):
            text = text[:at] + text[at + draw(st.integers(0, 8)) :]
        else:
            text = text[:at] + draw(st.text(max_size=4) | st.sampled_from('{}[]",:\\')) + text[at:]
    return text


@pytest.mark.covers("model.answers")
@settings(max_examples=200)
@given(st.composite(_mangled)() | st.text(max_size=60), st.sampled_from(sorted(SHAPES)))
def test_the_reader_raises_nothing_but_its_own_failure(text: str, shape: str) -> None:
    try:
        read = read_answer(text, SHAPES[shape])
    except ModelFailed as failed:
        outcome = str(failed.details["failure"])
    else:
        outcome = type(read.value).__name__
    assert outcome in {"empty", "refusal", "unparsable", "echoed schema", "unfit", shape}


@pytest.mark.covers("model.review")
@settings(max_examples=200)
@given(st.composite(_mangled)())
def test_no_unknown_event_is_ever_accepted(text: str) -> None:
    try:
        read = read_answer(text, ReviewAnswer)
    except ModelFailed:
        return
    story = Story()
    story.decide("one")
    story.decide("two")
    filling = Filling.of(story.events)
    filling.reviewed(read.value, NAMES, "review@1 x")
    claims = [one for part in filling.claims.values() for one in part]
    for said in (*claims, *filling.lessons):
        assert said.events
        assert set(said.events) <= {event_id("one"), event_id("two")}


def test_an_event_may_be_named_in_full_or_in_short_and_no_other_way() -> None:
    assert NAMES.of(["E1", "`e2`", event_id("one")]) == ((event_id("one"), event_id("two")), None)
    assert NAMES.of(["e1", "e3"]) == ((), "e3")
    assert NAMES.of([event_id("three")]) == ((), event_id("three"))


ITEM = {
    "type": "fact", "content": "c", "events": ["e1"], "confidence": 0.9, "new": True,
    "actionable": True, "lasting": True, "reason": "r",
}  # fmt: skip


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"confidence": "80%"}, {"confidence": 0.8}),
        ({"confidence": 85}, {"confidence": 0.85}),
        ({"confidence": "8/10"}, {"confidence": 0.8}),
        ({"confidence": "low"}, {"confidence": 0.3}),
        ({"confidence": "I would say so"}, {"confidence": 0.5}),  # doubt: a person decides
        ({"confidence": -3}, {"confidence": 0.5}),
        ({"importance": 7}, {"importance": 0.7}),
        ({"importance": "very"}, {"importance": 0.5}),  # as if nothing had been said
        ({"type": " Fact "}, {"type": "fact"}),
        ({"agent": ["planner"]}, {"agent": "planner"}),
        ({"agent": "null"}, {"agent": None}),
        ({"topic": "N/A"}, {"topic": None}),
        ({"topic": "x" * 200}, {"topic": None}),
        ({"events": [{"id": "e1"}, {"event": "e2"}]}, {"events": ["e1", "e2"]}),
        ({"events": 1}, {"events": ["1"]}),
        ({"events": [f"e{n}" for n in range(40)]}, {"events": [f"e{n}" for n in range(24)]}),
        ({"events": None, "evidence": "e1、e2"}, {"events": ["e1", "e2"]}),
        ({"steps": "1. look\n2. ask"}, {"steps": ["1. look", "2. ask"]}),
        ({"steps": [{"step": "look"}, 2]}, {"steps": ["look", "2"]}),
    ],
)  # fmt: skip
def test_a_field_that_is_nearly_right_is_read_as_it_was_meant(
    said: dict[str, object], meant: dict[str, object]
) -> None:
    (item,) = read_answer(json.dumps({"items": [ITEM | said]}), ExtractAnswer).value.items
    assert {name: getattr(item, name) for name in meant} == meant


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize(
    "answer",
    [
        '{"pair": "p1", "relation": "Same"}',
        '{"p1": {"relation": "same"}}',
        '[{"pair": "p1", "relation": "same"}]',
        '{"pairs": {"1": {"pair": "p1", "relation": "same"}}}',
    ],
)
def test_one_item_or_items_by_name_are_read_where_a_list_of_them_belongs(answer: str) -> None:
    (said,) = read_answer(answer, JudgeAnswer).value.pairs
    assert (said.pair, said.relation) == ("p1", "same")


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize(
    "lessons", ['["ask (e1)"]', '[{"advice": "You should ask"}]', "[7, 8]", '"ask first"']
)
def test_a_list_of_which_no_item_fits_has_not_been_read(lessons: str) -> None:
    """Else whatever was said would be gone, and the answer taken for one that says nothing."""
    with pytest.raises(ModelFailed) as failed:
        read_answer(f'{{"path": "p", "lessons": {lessons}}}', ReviewAnswer)
    assert failed.value.details["failure"] == "unfit"


@pytest.mark.parametrize("nothing", ["null", "[]", '"none"', '"N/A"', '"无"'])
def test_a_list_that_says_nothing_is_empty(nothing: str) -> None:
    assert read_answer(f'{{"path": "p", "lessons": {nothing}}}', ReviewAnswer).value.lessons == []


def test_a_repair_that_leaves_nothing_of_what_was_said_is_none() -> None:
    with pytest.raises(ModelFailed) as failed:
        read_answer("{path the run went well lessons}", ReviewAnswer)
    assert failed.value.details["failure"] == "unparsable"
    assert read_answer('{"path": "", "lessons": [],}', ReviewAnswer).value.lessons == []


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ("E1", ("one",)), ("1", ("one",)), ("event e2", ("two",)), ("#e1", ("one",)),
        ("e1-e2", ("one", "two")), ("e1 至 e2", ("one", "two")), (event_id("two"), ("two",)),
        ("e3", None), ("e1-e3", None), ("e2-e1", None), ("first", None), ("", None),
    ],
)  # fmt: skip
def test_a_citation_names_what_was_shown_or_nothing(said: str, ids: tuple[str, ...] | None) -> None:
    found, unknown = NAMES.of([said])
    assert found == tuple(map(event_id, ids or ()))
    assert unknown == (said if ids is None else None)


@pytest.mark.covers("model.answers")
@pytest.mark.parametrize(
    "answer", ["{" * 100_000, "<think>" * 14_000, '{"a":[' * 16_000, "[{]}" * 25_000]
)
def test_an_answer_of_brackets_alone_is_left_and_not_laboured_on(answer: str) -> None:
    """Each took ten seconds and more, in which nobody else was answered."""
    with pytest.raises(ModelFailed) as failed:
        read_answer(answer, ReviewAnswer)
    assert failed.value.details["failure"] == "unparsable"
