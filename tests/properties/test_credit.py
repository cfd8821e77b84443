"""What holds of credit for every trajectory."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.attribution.provenance import provenance
from hindsight_ray.core.attribution.shares import equal_shares
from hindsight_ray.domain.run import Trajectory
from tests.trajectories import Story, outcome_value, run_value

KINDS = ("decision", "tool", "message", "llm", "user", "state")
AGENTS = ("ann", "ben", "cat")
scores = st.floats(min_value=-1.0, max_value=1.0, allow_nan=False)


@st.composite
def trajectories(draw: st.DrawFn, *, observed: bool = False) -> Trajectory:
    """Any small trajectory whose causes lie in the past."""
    story = Story()
    for n in range(draw(st.integers(min_value=1, max_value=12))):
        kind = draw(st.sampled_from(KINDS))
        agent = draw(st.sampled_from(AGENTS))
        causes = draw(st.lists(st.integers(min_value=0, max_value=n - 1), max_size=3, unique=True)
                      if n else st.just([]))  # fmt: skip
        evidence = "observed" if observed else draw(
            st.sampled_from(("observed", "declared", "inferred"))
        )  # fmt: skip
        error = "no" if kind == "tool" and draw(st.booleans()) else None
        more = {"agent": agent, "causes": [str(cause) for cause in causes], "evidence": evidence}
        if kind == "tool":
            story.call(str(n), "t", n, error=error, **more)
        else:
            story.add(str(n), kind, f"step {n}", **more)  # type: ignore[arg-type]
    return story.trajectory(draw(scores))


@given(outcome=scores | st.floats(allow_nan=False, allow_infinity=False), count=st.integers(1, 400))
def test_equal_shares_sum_to_the_outcome_exactly_in_any_order(outcome: float, count: int) -> None:
    shares = equal_shares(outcome, count)
    shuffled = random.Random(count).sample(shares, count)
    assert sum(shares) == outcome
    assert sum(shuffled) == outcome
    assert math.fsum(shares) == outcome
    assert max(shares) - min(shares) <= math.ulp(outcome)


@pytest.mark.covers("G7.sum")
@settings(max_examples=150)
@given(trajectory=trajectories())
def test_credits_sum_to_the_outcome_where_nothing_abstains(trajectory: Trajectory) -> None:
    attribution = provenance(trajectory, {})
    assert (attribution.abstained is None) == bool(attribution.credits)
    if attribution.abstained is None:
        assert sum(credit.value for credit in attribution.credits) == attribution.outcome
        for credit in attribution.credits:
            assert credit.low <= credit.value <= credit.high


@pytest.mark.covers("G7.names")
@settings(max_examples=100)
@given(trajectory=trajectories())
def test_renaming_agents_renames_credit(trajectory: Trajectory) -> None:
    names = {"ann": "zoe", "ben": "yan", "cat": "xia"}
    events = tuple(
        event.model_copy(update={"agent": names[event.agent]}) for event in trajectory.events
    )
    before = provenance(trajectory, {})
    after = provenance(
        trajectory.model_copy(update={"events": events, "run": run_value(names.values())}), {}
    )
    assert [(c.target.id, c.value, c.low, c.high) for c in before.credits] == [
        (c.target.id, c.value, c.low, c.high) for c in after.credits
    ]
    renamed = [
        f"{names[credit.target.label.split(':')[0]]}:{credit.target.label.split(':')[1]}"
        for credit in before.credits
    ]
    assert [credit.target.label for credit in after.credits] == renamed
    assert before.abstained == after.abstained


@settings(max_examples=150)
@given(
    trajectory=trajectories(observed=True),
    kind=st.sampled_from(KINDS),
    at=st.integers(min_value=0, max_value=12),
)
def test_an_unrelated_event_changes_no_credit_where_coverage_is_complete(
    trajectory: Trajectory, kind: str, at: int
) -> None:
    story = Story(evidence="observed")
    story.add("stranger", kind, "unrelated", agent="dan")  # type: ignore[arg-type]
    events = list(trajectory.events)
    events.insert(min(at, len(events)), story.events[0])
    before = provenance(trajectory, {})
    after = provenance(trajectory.model_copy(update={"events": tuple(events)}), {})
    stranger = story.events[0].event_id
    if before.abstained is not None:
        assert after.credits == ()
        return
    others = [credit for credit in after.credits if credit.target.id != stranger]
    assert others == list(before.credits)
    assert all(
        credit.value == credit.low == credit.high == 0.0
        for credit in after.credits
        if credit.target.id == stranger
    )


@settings(max_examples=100)
@given(trajectory=trajectories(), factor=st.sampled_from((1.0, -1.0)))
def test_turning_the_outcome_turns_every_credit(trajectory: Trajectory, factor: float) -> None:
    value = trajectory.outcomes[0].value
    turned = trajectory.model_copy(update={"outcomes": (outcome_value(value * factor),)})
    before, after = provenance(trajectory, {}), provenance(turned, {})
    assert [credit.value * factor for credit in before.credits] == [
        credit.value for credit in after.credits
    ]
