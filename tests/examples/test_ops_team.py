"""The story that `make demo` tells: what it claims is computed from its runs, and holds."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.ops_team.shop import Call
from examples.ops_team.skills import FIND_CAUSE, REMOVE_RELEASE, by_advice

ROOT = Path(__file__).parents[2]


def _played(*options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "examples.ops_team", "--json", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return _played()


@pytest.mark.covers("demo")
@pytest.mark.timeout(320)
def test_the_second_session_does_better_because_it_recalls(figures: dict[str, Any]) -> None:
    first = figures["incidents"]["alice_first"]
    second = figures["incidents"]["alice_second"]
    assert first["recalled"] == 0
    assert second["recalled"] > 0
    assert second["minutes"] < first["minutes"]
    assert second["failed_calls"] < first["failed_calls"]
    assert second["outcome"] > first["outcome"]
    assert figures["improvement"]["minutes_saved"] == first["minutes"] - second["minutes"]


@pytest.mark.timeout(320)
def test_what_was_learned_with_one_user_serves_no_other_until_it_is_promoted(
    figures: dict[str, Any],
) -> None:
    incidents = figures["incidents"]
    assert incidents["bob_before_promotion"]["recalled"] == 0
    assert incidents["bob_before_promotion"]["minutes"] == incidents["alice_first"]["minutes"]
    assert figures["promoted"] == figures["lessons"] > 0
    assert incidents["carol_first"]["recalled"] > 0
    assert incidents["carol_first"]["minutes"] == incidents["alice_second"]["minutes"]
    assert incidents["carol_first"]["minutes"] < incidents["alice_first"]["minutes"]


@pytest.mark.timeout(320)
def test_without_the_promotion_alone_a_new_user_has_nothing_of_it(figures: dict[str, Any]) -> None:
    private = _played("--no-promotion")
    without, promoted = private["incidents"], figures["incidents"]
    assert private["promoted"] == 0
    assert without["carol_first"]["recalled"] == 0
    assert without["carol_first"]["minutes"] == without["alice_first"]["minutes"]
    assert without["carol_first"]["minutes"] > promoted["carol_first"]["minutes"]
    assert without["alice_second"]["minutes"] == promoted["alice_second"]["minutes"]


@pytest.mark.timeout(320)
def test_another_tenant_recalls_nothing(figures: dict[str, Any]) -> None:
    assert figures["incidents"]["globex"]["recalled"] == 0
    assert figures["incidents"]["globex"]["failed_calls"] > 0


@pytest.mark.timeout(320)
def test_the_refused_agent_learns_nothing_and_the_operator_learns_why(
    figures: dict[str, Any],
) -> None:
    refusal = figures["refusal"]
    assert refusal["said"].endswith("is not there for this caller")
    grounds = {one["object"]: one for one in refusal["why"]["decisions"]}
    assert grounds["user:alice"]["allowed"] is False
    assert grounds["user:alice"]["reason"] == "no rule"


@pytest.mark.timeout(320)
def test_the_credits_sum_to_the_outcome(figures: dict[str, Any]) -> None:
    total = sum(credit["value"] for credit in figures["credits"])
    assert total == pytest.approx(figures["incidents"]["alice_second"]["outcome"])


def test_without_advice_an_agent_keeps_its_own_order() -> None:
    options = list(FIND_CAUSE.options(41))
    assert by_advice(options, []) == options


def test_advice_about_another_release_still_names_the_right_call() -> None:
    advice = (
        'When deploy.rollback fails ("ChangeFreeze"), you should do:'
        " deploy.rollback(change=emergency, release=41) → release 41 is out of service"
    )
    best = by_advice(REMOVE_RELEASE.options(57), [advice])[0]
    assert best == Call("deploy.rollback", {"release": 57, "change": "emergency"})
