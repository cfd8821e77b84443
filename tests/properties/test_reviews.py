"""What holds of reviews and importers whatever they are given."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.anomaly import anomalies, telling
from hindsight_ray.core.lessons import rule_review
from hindsight_ray.core.logs.formats import PARSERS
from hindsight_ray.core.logs.shape import recorded
from hindsight_ray.core.review_check import checked_review
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import InvalidImport, InvalidInput
from tests.trajectories import START, Story

words = st.text(alphabet='ab =1"{}:,\n→错', max_size=40) | st.sampled_from(
    ["release=40", "release=41", "you should", "retract it", "", "great job", "x" * 300]
)


@st.composite
def stories(draw: st.DrawFn) -> Trajectory:
    """Any small run, calls and failures mostly, with causes in the past."""
    story = Story()
    for n in range(draw(st.integers(min_value=0, max_value=14))):
        causes = [str(one) for one in draw(st.sets(st.integers(0, n - 1), max_size=2))] if n else []
        agent = draw(st.sampled_from(("ann", "ben")))
        evidence = draw(st.sampled_from(("observed", "declared", "inferred")))
        kind = draw(st.sampled_from(("tool", "tool", "decision", "message", "user", "state")))
        more = {"agent": agent, "causes": causes, "evidence": evidence}
        if kind == "tool":
            error = draw(words) if draw(st.booleans()) else None
            tool = draw(st.sampled_from(("t", "u" * 200)))
            story.call(str(n), tool, draw(words), error=error, result=draw(words), **more)
        else:
            story.add(str(n), kind, draw(words), **more)  # type: ignore[arg-type]
    return story.trajectory()


@pytest.mark.covers("review.rules", "G6.experience")
@settings(max_examples=200)
@given(trajectory=stories())
def test_whatever_the_rule_reviewer_writes_passes_the_strict_check(trajectory: Trajectory) -> None:
    review = rule_review(trajectory, kind="full", trigger="run end")
    checked = checked_review(review, [event.event_id for event in trajectory.events])
    assert all("praise" in reason for reason in checked.rejected)
    for lesson in checked.review.lessons:
        assert len(lesson.advice) <= 200
        assert lesson.advice.startswith("When ")
    assert review == rule_review(trajectory, kind="full", trigger="run end")


@settings(max_examples=100)
@given(trajectory=stories(), at=st.integers(0, 14))
def test_no_failure_or_complaint_that_completes_an_anomaly_is_missed_by_its_batch(
    trajectory: Trajectory, at: int
) -> None:
    batch = trajectory.events[at:]
    ids = {event.event_id for event in batch}
    completed = [
        one
        for one in anomalies(trajectory.events, repeated_step_limit=3)
        if one.completed_by in ids and one.trigger != "repeated step"
    ]
    assert not completed or telling(batch, repeated_step_limit=3)


documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ("role", "content", "tool_calls", "function", "name", "arguments", "traj", "messages",
             "reward", "question", "history", "mistake_step", "mistake_agent", "tool_call_id")
        ),
        inner | st.sampled_from(("user", "assistant", "tool", "system", "human", "a (-> b)")),
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.covers("import.formats")
@settings(max_examples=200)
@given(document=documents, format_=st.sampled_from(sorted(PARSERS)))
def test_any_document_is_read_or_refused_and_nothing_else(document: object, format_: str) -> None:
    text = json.dumps(document)
    try:
        parsed = PARSERS[format_](text)
    except InvalidImport:
        return
    positions = [position for position, _ in (*parsed.runs, *parsed.refused)]
    assert len(positions) == len(set(positions))
    for _, log in parsed.runs:
        try:
            made = recorded(log, tenant="acme", scope=GLOBAL, vouched_by=None, now=START)
        except InvalidInput:
            continue
        assert len(made.events) == len(log.steps)
        ids = {event.event_id for event in made.events}
        assert all(set(event.causes) <= ids for event in made.events)


@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    for parse in PARSERS.values():
        with contextlib.suppress(InvalidImport):
            parse(text)
