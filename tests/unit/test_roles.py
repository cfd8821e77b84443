"""Which actor answers which command."""

import pytest

from hindsight_ray.actors.roles import Crew, actor_name, role_of, stable_number
from hindsight_ray.domain import commands as c
from hindsight_ray.service import door


def test_every_verb_of_the_door_has_an_actor() -> None:
    roles = {kind: role_of(kind.model_construct()) for kind in door.VERBS}
    assert {kind for kind, role in roles.items() if role == "authority"} == {
        c.IssueTicket, c.RevokeTicket, c.LoadPolicy, c.Share, c.Revoke, c.Erase, c.SetPrivacy,
        c.DropTenant,
    }  # fmt: skip
    assert roles[c.RecordEvents] == "recorder_host"
    assert roles[c.ReviewRun] == roles[c.Attribute] == roles[c.ImportRuns] == "reviewer"
    assert roles[c.Search] == roles[c.Write] == "broker"


def test_an_agent_keeps_its_host_and_all_hosts_are_used() -> None:
    agents = [f"agent-{i}" for i in range(1_000)]
    first = [stable_number(agent, 3) for agent in agents]
    assert first == [stable_number(agent, 3) for agent in agents]
    assert {first.count(host) > 250 for host in range(3)} == {True}


def test_a_crew_names_each_of_its_actors_once_the_authority_first() -> None:
    names = Crew(brokers=2, recorder_hosts=1, reviewers=1).names()
    assert names[0] == actor_name("authority", 0)
    assert sorted(names) == ["authority-0", "broker-0", "broker-1", "models-0", "recorder_host-0",
                             "reviewer-0", "steward-0"]  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 64])
def test_a_stable_number_is_below_the_count(count: int) -> None:
    assert all(0 <= stable_number(str(i), count) < count for i in range(200))
