"""Credit by structure: the slice, equal shares, suspects, and when to abstain."""

import pytest

from hindsight_ray.core.attribution.provenance import by_agent, provenance, ruling_outcome
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import MemoryRef, SequenceGap
from hindsight_ray.errors import InvalidInput
from tests.trajectories import Story, event_id, outcome_value

MEMORY = MemoryRef(id=event_id("memory"), revision=2)
OTHER = MemoryRef(id=event_id("other memory"), revision=1)


def told(evidence: str = "observed") -> Story:
    """Two decisions that lead to the end, one that leads to a dead end, one alone."""
    story = Story(evidence=evidence)  # type: ignore[arg-type]
    story.decide("plan", agent="planner", used=[MEMORY])
    story.call("look", "releases", "all", agent="planner", causes=["plan"])
    story.decide("choose", agent="executor", causes=["look"])
    story.call("act", "rollback", "41", agent="executor", causes=["choose"])
    story.decide("aside", agent="idler", used=[OTHER])
    story.add("muse", "llm", "thinking", agent="idler", causes=["aside"])
    return story


def values(attribution: Attribution) -> dict[str, float]:
    return {credit.target.id: credit.value for credit in attribution.credits}


@pytest.mark.covers("G6.credit")
def test_with_complete_coverage_the_slice_shares_equally_and_the_rest_gets_exactly_zero() -> None:
    attribution = provenance(told().trajectory(0.5), {})
    assert attribution.abstained is None
    assert values(attribution) == {
        event_id("plan"): 0.25,
        event_id("choose"): 0.25,
        event_id("aside"): 0.0,
    }
    zero = attribution.credits[-1]
    assert (zero.low, zero.high) == (0.0, 0.0)
    first = attribution.credits[0]
    assert (first.low, first.high, first.method, first.evidence) == (
        0.0,
        0.5,
        "provenance",
        "structural",
    )
    assert first.target.label == "planner: decide plan"


@pytest.mark.parametrize("evidence", ["declared", "inferred"])
def test_where_an_edge_was_not_observed_every_decision_stays_a_player(evidence: str) -> None:
    attribution = provenance(told(evidence).trajectory(0.75), {})
    assert set(values(attribution).values()) == {0.25}
    assert attribution.coverage is not None
    assert not attribution.coverage.complete


def test_a_gap_or_a_dangling_cause_keeps_every_decision_a_player() -> None:
    gap = SequenceGap(agent="idler", incarnation="one", first=2, last=4)
    attribution = provenance(told().trajectory(0.75, gaps=(gap,)), {})
    assert set(values(attribution).values()) == {0.25}
    assert attribution.coverage is not None
    assert attribution.coverage.gaps == 3

    story = told()
    story.add("late", "state", "noted", causes=["never arrived"])
    dangling = provenance(story.trajectory(0.75), {})
    assert set(values(dangling).values()) == {0.25}
    assert dangling.coverage is not None
    assert dangling.coverage.dangling == 1


def test_blame_is_shared_like_credit_and_its_interval_reaches_down() -> None:
    attribution = provenance(told().trajectory(-1.0), {})
    assert sum(values(attribution).values()) == -1.0
    assert (attribution.credits[0].low, attribution.credits[0].high) == (-1.0, 0.0)


def test_coverage_counts_events_slice_and_edges_by_evidence() -> None:
    story = told()
    story.say("tell", "done", to="planner", agent="executor", causes=["act"], evidence="declared")
    coverage = provenance(story.trajectory(1.0), {}).coverage
    assert coverage is not None
    assert coverage.events == 7
    assert coverage.in_slice == 5
    assert (coverage.observed_edges, coverage.declared_edges, coverage.inferred_edges) == (4, 1, 0)


def test_only_memories_of_the_slice_are_listed_and_only_those_the_reader_may_read() -> None:
    trajectory = told().trajectory(1.0)
    attribution = provenance(trajectory, {MEMORY: "release 40 is pinned", OTHER: "idle thought"})
    assert [(target.id, target.label) for target in attribution.memories] == [
        (MEMORY.id, "release 40 is pinned")
    ]
    assert provenance(trajectory, {}).memories == ()


def test_what_a_user_answered_or_what_was_noted_leaves_an_end_an_end() -> None:
    story = Story(evidence="observed")
    story.user("ask", "book a seat")
    story.decide("choose", causes=["ask"])
    story.call("book", "book", "seat=1", causes=["choose"])
    story.decide("tell", "Done", causes=["book"])
    story.user("thank", "thanks, bye", causes=["tell"])
    attribution = provenance(story.trajectory(1.0), {})
    assert set(values(attribution).values()) == {0.5}
    assert attribution.coverage is not None
    assert attribution.coverage.in_slice == 4


def test_a_run_that_broke_off_with_a_failed_call_hangs_on_that() -> None:
    story = Story(evidence="observed")
    story.decide("choose")
    story.call("crash", "format", "disk", error="denied", causes=["choose"])
    attribution = provenance(story.trajectory(-1.0), {})
    assert values(attribution) == {event_id("choose"): -1.0}


def test_a_failed_call_that_nothing_cites_is_no_end_and_a_suspect() -> None:
    story = told()
    story.decide("wild", agent="idler")
    story.call("crash", "format", "disk", error="denied", agent="idler", causes=["wild"])
    attribution = provenance(story.trajectory(1.0), {})
    assert values(attribution)[event_id("wild")] == 0.0
    assert [target.id for target in attribution.suspects] == [event_id("crash")]


def test_only_flagged_steps_without_a_flagged_ancestor_are_suspects() -> None:
    story = Story()
    story.decide("plan")
    story.call("first", "t", 1, error="no", causes=["plan"])
    story.decide("again", causes=["first"])
    story.call("second", "t", 2, error="no", causes=["again"])
    story.call("elsewhere", "t", 3, error="no", agent="other")
    story.decide("end", causes=["second"])
    suspects = provenance(story.trajectory(-1.0), {}).suspects
    assert [target.id for target in suspects] == [event_id("first"), event_id("elsewhere")]


def test_a_decision_that_was_taken_back_is_a_suspect() -> None:
    story = Story(evidence="observed")
    story.decide("wrong")
    story.decide("back", "Retract it", causes=["wrong"])
    story.call("act", "t", 1, causes=["back"])
    assert [t.id for t in provenance(story.trajectory(1.0), {}).suspects] == [event_id("wrong")]


def reason(attribution: Attribution) -> str:
    assert attribution.credits == ()
    assert attribution.abstained is not None
    return attribution.abstained.reason


@pytest.mark.covers("G7.abstains")
def test_it_abstains_without_an_outcome_but_still_says_what_is_suspect() -> None:
    story = told()
    story.call("crash", "t", 1, error="no")
    attribution = provenance(story.trajectory(), {})
    assert "no outcome" in reason(attribution)
    assert attribution.suspects


@pytest.mark.covers("G7.abstains")
def test_it_abstains_without_decisions_and_without_edges_and_on_nothing() -> None:
    calls = Story()
    calls.call("one", "t", 1)
    calls.call("two", "t", 2, causes=["one"])
    assert "no decision" in reason(provenance(calls.trajectory(1.0), {}))
    alone = Story()
    alone.decide("one")
    alone.decide("two")
    assert "no event names a cause" in reason(provenance(alone.trajectory(1.0), {}))
    assert "no decision" in reason(provenance(Story().trajectory(1.0), {}))


@pytest.mark.covers("G7.abstains")
def test_it_abstains_at_an_outcome_of_nothing_and_says_what_may_know_more() -> None:
    why = reason(provenance(told().trajectory(0.0), {}))
    assert "nothing to share out" in why
    assert "--method blame" in why


def test_it_abstains_where_causes_run_in_a_circle() -> None:
    story = Story()
    story.decide("one", causes=["two"])
    story.decide("two", causes=["one"])
    assert "circle" in reason(provenance(story.trajectory(1.0), {}))
    with pytest.raises(InvalidInput, match="name itself"):
        Story().decide("one", causes=["one"])


def test_it_abstains_where_no_decision_led_to_the_end() -> None:
    story = Story(evidence="observed")
    story.decide("aside")
    story.call("one", "t", 1)
    story.call("two", "t", 2, causes=["one"])
    assert "no decision led" in reason(provenance(story.trajectory(1.0), {}))


def test_the_latest_outcome_of_an_evaluator_who_took_no_part_rules() -> None:
    own = outcome_value(1.0, by="agent:planner", participant=True, evaluates=False, minute=9)
    early = outcome_value(-1.0, by="agent:judge", minute=1)
    late = outcome_value(0.5, by="agent:second-judge", minute=2)
    partial_judge = outcome_value(0.9, by="agent:judging-player", participant=True, minute=3)
    assert ruling_outcome((own, early, late, partial_judge)) == late
    assert ruling_outcome((partial_judge, own)) == own
    assert ruling_outcome(()) is None


def test_credit_by_agent_sums_the_decisions_of_each() -> None:
    trajectory = told().trajectory(1.0)
    attribution = provenance(trajectory, {})
    agents = by_agent(attribution.credits, trajectory.events)
    assert [(credit.target.id, credit.value) for credit in agents] == [
        ("planner", 0.5),
        ("executor", 0.5),
        ("idler", 0.0),
    ]


@pytest.mark.parametrize("length", [3_000])
def test_a_long_chain_is_followed_to_its_beginning(length: int) -> None:
    story = Story(evidence="observed")
    story.decide("0")
    for n in range(1, length):
        story.call(str(n), "t", n, causes=[str(n - 1)])
    attribution = provenance(story.trajectory(1.0), {})
    assert values(attribution) == {event_id("0"): 1.0}
