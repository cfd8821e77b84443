"""The same histories where rows lie on PostgreSQL and vectors in Weaviate: fewer, and shorter.

`HINDSIGHT_SERVER_SEEDS` and `HINDSIGHT_SERVER_STEPS` play more.
"""

import os

import pytest

from hindsight_ray.adapters.ledger.sql.server import Server
from hindsight_ray.adapters.models.hashed import HashedEmbedder
from tests import stores
from tests.ledgers import new_database
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate
from tests.simulation.history import Servers, play

SEEDS = int(os.environ.get("HINDSIGHT_SERVER_SEEDS", "3"))
STEPS = int(os.environ.get("HINDSIGHT_SERVER_STEPS", "100"))


@pytest.mark.covers("G1.oracle")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(1, 1 + SEEDS))
async def test_everybody_sees_on_servers_exactly_what_the_model_says(
    postgres_server: Postgres, weaviate_server: Weaviate, seed: int
) -> None:
    space = HashedEmbedder().space
    servers = Servers(
        Server(new_database(postgres_server), "the test's own server"),
        lambda: stores.weaviate_store(weaviate_server, space),
    )
    counts = await play(seed, STEPS, servers)
    assert sum(number for what, number in counts.items() if what.startswith("step")) == STEPS
