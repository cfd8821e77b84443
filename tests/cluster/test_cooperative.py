"""Somebody else's environment, replayed on the cluster."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("mpe2", reason="`mpe2` is not installed; it is a development extra")

from examples.cooperative.spread import SPREAD
from examples.cooperative.story import ADVICE, MISLED, played
from hindsight_ray.adapters.tasks.local import LocalTasks
from tests.cluster.conftest import Team


@pytest.mark.covers("environment.zoo")
async def test_an_environment_of_the_zoo_is_replayed_on_ray_as_it_is_here(team: Team) -> None:
    hindsight: Any = team.client.target
    ticket = await hindsight.issue_ticket(tenant="zoo", agent=MISLED, user="keeper")
    await hindsight.as_caller(ticket).write(ADVICE, scope=f"agent:{MISLED}", type="fact")
    brief = replace(SPREAD, rounds=1, cycles=40)  # three decisions: eight coalitions
    one = await played(hindsight, seed=11, game=brief)
    judge = hindsight.operator("zoo")
    asked = {"method": "shapley", "environment": one.environment, "policy": "own"}
    there = await judge.attribute(one.run_id, **asked)
    here = await judge.attribute(one.run_id, **asked, workers=LocalTasks(), submit=False)
    assert there == here
    assert there.abstained is None
    worst = min(there.credits, key=lambda credit: credit.value)
    assert worst.target.label.startswith(MISLED)
