"""Who must be able to read a record, from where it came from."""

from datetime import timedelta

import pytest

from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.audience import (
    audience_key,
    contained,
    distilled_audience,
    readable_keys,
    run_audience,
    union,
    written_audience,
)
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.caller import Caller
from hindsight_ray.errors import InvalidInput
from tests.worlds import START


def _caller(agent: str | None = None, user: str | None = None) -> Caller:
    return Caller.model_validate(
        {
            "tenant": "acme",
            "agent": agent,
            "user": user,
            "ticket_id": "t",
            "expires_at": START + timedelta(hours=1),
        }
    )


def test_a_key_depends_on_the_set_and_on_nothing_else() -> None:
    key = audience_key(["user:a", "global"])
    assert key == audience_key(("global", "user:a", "global"))
    assert key != audience_key(["global"])
    assert len(key) == 32
    assert set(key) <= set("0123456789abcdef")


def test_keys_of_audiences_that_read_alike_when_joined_differ() -> None:
    assert audience_key(["agent:a", "agent:b"]) != audience_key(["agent:aagent:b"])


@pytest.mark.covers("G1.acting")
def test_what_is_written_while_acting_carries_the_user_wherever_it_goes() -> None:
    caller = _caller("planner", "alice")
    assert written_audience("agent:planner", caller) == ("agent:planner", "user:alice")
    assert written_audience("global", caller) == ("global", "user:alice")
    assert written_audience("user:alice", caller) == ("user:alice",)


def test_what_an_agent_writes_for_nobody_or_a_user_themselves_carries_its_scope_only() -> None:
    assert written_audience("agent:planner", _caller("planner")) == ("agent:planner",)
    assert written_audience("user:alice", _caller(user="alice")) == ("user:alice",)


def test_a_run_carries_the_users_of_its_participants() -> None:
    audience = run_audience("global", ["user:bob", None, "user:alice"])
    assert audience == ("global", "user:alice", "user:bob")


@pytest.mark.covers("G1.review", "G1.offered")
def test_an_individual_experience_carries_the_run_and_what_was_offered() -> None:
    audience = distilled_audience(
        "agent:planner",
        ["user:alice"],
        [["agent:planner", "user:alice"], ["user:bob", "agent:mentor"]],
        sharing="individual",
        participants=["planner"],
    )
    assert audience == ("agent:mentor", "agent:planner", "user:alice", "user:bob")


@pytest.mark.covers("G1.review", "G1.offered")
def test_a_collaborative_experience_leaves_out_participants_but_never_users_or_others() -> None:
    audience = distilled_audience(
        "user:alice",
        ["user:alice"],
        [["agent:planner", "user:bob"], ["agent:executor"], ["agent:mentor"]],
        sharing="collaborative",
        participants=["planner", "executor"],
    )
    assert audience == ("agent:mentor", "user:alice", "user:bob")


def test_a_records_own_scope_stays_even_if_it_is_a_participants() -> None:
    audience = distilled_audience(
        "agent:planner", ["agent:planner"], [], sharing="collaborative", participants=["planner"]
    )
    assert audience == ("agent:planner",)


def test_a_user_with_a_participants_name_is_not_left_out() -> None:
    audience = distilled_audience(
        "global", [], [["user:planner"]], sharing="collaborative", participants=["planner"]
    )
    assert audience == ("global", "user:planner")


def test_a_scope_of_unknown_form_is_refused() -> None:
    with pytest.raises(InvalidInput):
        run_audience("everyone", [])


def test_a_union_is_sorted_and_without_repeats() -> None:
    assert union([["b", "a"], [], ["a", "c"]]) == ("a", "b", "c")


def test_containment_is_that_of_sets() -> None:
    assert contained(["a"], ["a", "b"])
    assert contained([], ["a"])
    assert contained(["a", "b"], ["b", "a"])
    assert not contained(["a", "c"], ["a", "b"])


def test_readable_keys_are_those_of_wholly_readable_audiences() -> None:
    index = PolicyIndex.of(parse_policy(shipped_text("default.csv")))
    access = compile_access(index, _caller("planner", "alice"), START)
    audiences = [("global",), ("agent:planner", "user:alice"), ("global", "user:bob"), ()]
    catalogue = {audience_key(one): one for one in audiences}
    assert readable_keys(catalogue, access) == {audience_key(one) for one in audiences[:2]}
