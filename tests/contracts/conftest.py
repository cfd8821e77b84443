"""Every ledger there is, one after the other, for tests that hold on each; a store apart."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.ports import Ledger
from tests import stores, worlds
from tests.apart import HASHED
from tests.ledgers import BOTH, Ledgers, ledgers_of
from tests.servers.weaviate import Weaviate
from tests.worlds import Staged


@pytest.fixture(params=BOTH)
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    return ledgers_of(request, request.param)


@pytest.fixture
async def ledger(ledgers: Ledgers) -> AsyncGenerator[Ledger]:
    async with ledgers.opened() as opened:
        yield opened


@pytest.fixture
def store(weaviate_server: Weaviate) -> WeaviateStore:
    """On the running server; its places are those of the home that it is given to."""
    return stores.weaviate_store(weaviate_server, HASHED)


@pytest.fixture
async def staged(tmp_path: Path, store: WeaviateStore) -> AsyncGenerator[Staged]:
    """A home whose memories are in that store."""
    async with worlds.world(tmp_path, store=store) as made:
        yield made
