"""Actors end at any moment, as `kill -9` does it; what was acknowledged is there, once.

Over a SQLite home; `test_on_servers` does the same over PostgreSQL and Weaviate.
"""

import pytest

from hindsight_ray import compose
from hindsight_ray.errors import HomeInUse, InvalidTicket
from tests.cluster.conftest import Team
from tests.cluster.storms import Storm, whole
from tests.stores import kills

_ROUNDS_PER_STORM = 5


@pytest.mark.covers("G3.kill", "G3.restart")
@pytest.mark.timeout(120 + 60 * kills())
def test_kills_amid_work_lose_nothing_acknowledged_and_double_nothing(team: Team) -> None:
    crew = team.deployed().crew
    for first in range(0, kills(), _ROUNDS_PER_STORM):
        storm = Storm(team.client, f"heidi{first}", crew.brokers, crew.recorder_hosts)
        with storm.blowing():
            for turn in range(first, min(kills(), first + _ROUNDS_PER_STORM)):
                for names in storm.victims(turn, at_once=kills() <= 3):
                    storm.struck(team.kill, team.restarted, names)
        told = storm.told()
        assert whole(told), told


@pytest.mark.covers("G3.restart", "home.returning")
def test_a_killed_authority_keeps_revocations_and_the_home(team: Team) -> None:
    ended = team.ticket("ended")
    team.client.operator("acme").revoke_ticket(ended.caller.ticket_id)
    killed = team.kill("authority-0")
    for _ in range(20):  # while nobody holds the home's lock, and when its successor does
        with pytest.raises(HomeInUse):
            compose.open_sync(team.home)
    team.restarted("authority-0", killed)
    with pytest.raises(InvalidTicket, match="not valid here"):
        team.client.as_caller(ended).search("key")
    with pytest.raises(HomeInUse):
        compose.open_sync(team.home)
