"""Both stores let through exactly what Casbin, the compiled access and the explanation allow.

Records of every audience of one scope or two, with every set of labels, some of them from outside:
put once into each store. Then policies and callers at random, and each store is asked for all.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hindsight_ray.adapters.models.hashed import DIMENSION, HashedEmbedder
from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.audience import readable_keys
from hindsight_ray.domain.access import Policy
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.memory import Memory, Source
from hindsight_ray.domain.rows import RowFilter
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.seen import shows
from hindsight_ray.service.settle import changing
from tests import stores
from tests.properties.test_access import CASBIN, LABELS, SCOPES, _callers, _policies
from tests.records import memory_of, put
from tests.servers.weaviate import Weaviate
from tests.worlds import START, TENANT, Staged, world

ALL = 1_000
VECTOR = np.ones(DIMENSION, dtype=np.float32) / np.sqrt(np.float32(DIMENSION))


def _records() -> list[Memory]:
    audiences = [(scope,) for scope in SCOPES] + list(combinations(SCOPES, 2))
    found: list[Memory] = []
    for number, audience in enumerate(audiences):
        labels = [label for place, label in enumerate(LABELS) if number >> place & 1]
        outside = number % 5 == 0
        source = Source(kind="tool" if outside else "user", weight=0.5, trusted=not outside)
        fields: dict[str, object] = {
            "audience": audience,
            "labels": tuple(labels),
            "source": source,
        }
        fields["embedding_model"] = HashedEmbedder().space.model
        found.append(memory_of(f"m{number}", scope=audience[0], **fields))
    return found


RECORDS = _records()


@dataclass(frozen=True)
class Both:
    homes: tuple[Staged, Staged]

    async def let_through(self, caller: Caller, policy: Policy) -> list[set[str]]:
        """By each store, under the filter that this caller gets."""
        access = compile_access(PolicyIndex.of(policy), caller, START)
        found: list[set[str]] = []
        for home in self.homes:
            async with home.world.ledger.reading() as unit:
                catalogue = await unit.keys.all(TENANT)
                keys = None if access.reads_everything else readable_keys(catalogue, access)
                rows = RowFilter(caller.tenant, START, keys, access.denied_labels)
                near = await home.world.store.nearest(unit, rows, VECTOR, limit=ALL)
            found.append({str(one.ref.id) for one in near})
        return found


@pytest.fixture
async def both(tmp_path: Path, weaviate_server: Weaviate) -> AsyncGenerator[Both]:
    space = HashedEmbedder().space
    async with AsyncExitStack() as held:
        homes: list[Staged] = []
        for store in (None, stores.weaviate_store(weaviate_server, space)):
            home = await held.enter_async_context(world(tmp_path / f"{len(homes)}", store=store))
            async with changing(home.world, "put") as unit:
                for record in RECORDS:
                    await put(unit, record, VECTOR)
            homes.append(home)
        yield Both((homes[0], homes[1]))


@pytest.mark.covers("G5.agree")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=_policies, caller=_callers)
async def test_what_a_store_lets_through_is_what_the_policy_allows(
    both: Both, policy: Policy, caller: Caller
) -> None:
    access = compile_access(PolicyIndex.of(policy), caller, START)
    targets = (*SCOPES, *(f"label:{label}" for label in LABELS))
    enforced = {
        target: await CASBIN.enforce(policy, caller, "read", target, START) for target in targets
    }
    for target, allowed in enforced.items():
        assert access.decide("read", target).allowed == allowed, target
    admitted = Admitted(caller, access, START)
    expected: set[str] = set()
    for record in RECORDS if caller.tenant == TENANT else ():
        asked = (*record.audience, *(f"label:{label}" for label in record.labels))
        reads = all(enforced[target] for target in asked)
        assert admitted.may_read(record.audience, record.labels) == reads
        assert reads or not shows(admitted, record)
        if shows(admitted, record):
            expected.add(str(record.id))
    embedded, server = await both.let_through(caller, policy)
    assert embedded == expected
    assert server == expected
