"""Agents as Ray actors share one memory, and it answers as an embedded one does."""

import json
from typing import Any

import pytest
import ray

from hindsight_ray import compose
from hindsight_ray.actors.roles import NAMESPACE
from hindsight_ray.domain import commands as c
from hindsight_ray.entry import cli
from hindsight_ray.errors import CommandReused, HomeInUse, InvalidSettings, InvalidTicket, NotFound
from tests.cluster.conftest import STARTERS, STATEMENT, Team


@ray.remote
class Planner:
    """A simulation's agent as an asynchronous actor."""

    async def work(self, token: str) -> tuple[str, str]:
        self._client = await compose.connect()
        memory = self._client.as_caller(token)
        self._run = await memory.run(goal="Restore checkout", task_type="operate", seed=7)
        choice = self._run.decide("Roll back release 41")
        call = self._run.tool(
            "deploy.rollback", arguments={"release": 41}, result="ok", causes=[choice]
        )
        said = self._run.message(to="executor", text="rolled back", causes=[call])
        await self._run.flush()
        return self._run.id, said

    async def finish(self) -> int:
        self._run.outcome(1.0, evaluator="monitor")
        await self._run.close()
        closure = self._run.closure
        await self._client.close()
        return closure.dangling


@ray.remote
class Executor:
    """A simulation's agent as a synchronous actor."""

    def work(self, token: str, run_id: str, cause: str) -> int:
        with compose.connect_sync() as client:
            with client.as_caller(token).join(run_id) as run:
                seen = run.decide("Check the error rate", causes=[cause])
                run.tool("metrics.read", arguments={}, result="0.1 %", causes=[seen])
            return 2


@pytest.mark.covers("cluster.same")
def test_agents_on_ray_record_one_run_together_and_its_outcome_is_shared_out(team: Team) -> None:
    planner = Planner.remote()
    run_id, said = ray.get(planner.work.remote(team.ticket("planner", "alice").token))
    executor = Executor.remote()
    assert ray.get(executor.work.remote(team.ticket("executor", "alice").token, run_id, said)) == 2
    assert ray.get(planner.finish.remote()) == 0

    memory = team.memory("planner", "alice")
    trajectory = memory.trajectory(run_id)
    assert [event.kind for event in trajectory.events if event.agent == "executor"] == [
        "decision",
        "tool",
    ]
    assert len(trajectory.events) == 5
    assert trajectory.gaps == trajectory.dangling == ()
    attribution = memory.attribute(run_id)
    assert sum(credit.value for credit in attribution.credits) == pytest.approx(1.0)
    report = memory.review(run_id)
    assert report.kind == "full"


@pytest.mark.covers("cluster.one")
def test_twenty_starters_at_once_get_one_deployment_and_make_one_memory(team: Team) -> None:
    """In several processes, and in several event loops of each."""
    assert len(team.started) == STARTERS
    assert len({authority for authority, _ in team.started}) == 1
    assert len({memory for _, memory in team.started}) == 1
    found = team.memory("starter", "sam").search(STATEMENT, scopes=["user:sam"])
    assert [hit.memory.content for hit in found.hits] == [STATEMENT]


def test_what_one_agent_writes_another_of_its_user_finds_and_a_stranger_does_not(
    team: Team,
) -> None:
    receipt = team.memory("planner", "carol").write(
        "Deploy with canary first", scope="user:carol", command_id=team.command()
    )
    assert receipt.result == "stored"
    found = team.memory("executor", "carol").search("deploy canary", scopes=["user:carol"])
    assert found.ids == receipt.ids
    assert team.memory("executor", "dave").search("deploy canary").ids == ()
    with pytest.raises(NotFound):
        team.memory("executor", "dave").get(receipt.ids[0])


def test_errors_arrive_as_the_type_and_with_the_details_they_were_raised_with(team: Team) -> None:
    memory = team.memory("planner", "erin")
    command = team.command()
    memory.write("Dates as YYYY-MM-DD", scope="user:erin", command_id=command)
    with pytest.raises(CommandReused) as reused:
        memory.write("Dates as DD.MM.YYYY", scope="user:erin", command_id=command)
    assert reused.value.details == {"command_id": command}
    with pytest.raises(NotFound) as absent:
        memory.trajectory("00000000-0000-4000-8000-000000000000")
    assert absent.value.details["kind"] == "run"
    with pytest.raises(InvalidTicket):
        team.client.as_caller("not.a.ticket").search("anything")


@pytest.mark.covers("home.deployed")
def test_an_embedded_open_is_refused_and_told_where_the_deployment_is(team: Team) -> None:
    with pytest.raises(HomeInUse, match="--address") as refused:
        compose.open_sync(team.home)
    assert refused.value.details["address"] == team.deployed().address


@pytest.mark.covers("home.deployed")
def test_a_command_that_names_the_home_asks_its_deployment(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ("--home", str(team.home), "--tenant", "acme", "--user", "hanna")
    assert cli.run(["write", "The depot of hanna opens at nine", *home]) == 0
    capsys.readouterr()
    assert cli.run(["search", "depot of hanna", *home, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["hits"]
    assert found[0]["memory"]["content"] == "The depot of hanna opens at nine"


def test_what_contradicts_the_running_deployment_is_refused_by_name(
    team: Team, tmp_path: Any
) -> None:
    with pytest.raises(InvalidSettings, match="recorder_hosts"):
        compose.connect_sync(recorder_hosts=7)
    with pytest.raises(InvalidSettings, match="a cluster has one deployment"):
        compose.connect_sync(home=tmp_path / "other")


@pytest.mark.covers("G2.processes")
def test_a_revoke_that_has_returned_holds_on_every_broker(team: Team) -> None:
    owner = team.memory("keeper")
    owner.write("The vault is in Basel", scope="agent:keeper", command_id=team.command())
    owner.share("agent:keeper", to="agent:auditor", actions=["read"])
    token = team.ticket("auditor").token
    asked = c.Search(query="where is the vault", scopes=("agent:keeper",))

    names = [name for name in team.deployed().crew.names() if name.startswith("broker")]
    brokers = [ray.get_actor(name, namespace=NAMESPACE) for name in names]

    def hits_on_each() -> list[int]:
        return [len(ray.get(broker.call.remote(token, asked)).hits) for broker in brokers]

    assert hits_on_each() == [1, 1]
    owner.revoke("agent:keeper", to="agent:auditor")
    assert hits_on_each() == [0, 0]
