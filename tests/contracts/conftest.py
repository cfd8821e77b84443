"""Every ledger there is, one after the other, for tests that hold on each."""

from collections.abc import AsyncGenerator

import pytest

from hindsight_ray.ports import Ledger
from tests.ledgers import BOTH, Ledgers, ledgers_of


@pytest.fixture(params=BOTH)
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    return ledgers_of(request, request.param)


@pytest.fixture
async def ledger(ledgers: Ledgers) -> AsyncGenerator[Ledger]:
    async with ledgers.opened() as opened:
        yield opened
