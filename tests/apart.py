"""Asking a home whose memory store does not share the ledger's transaction."""

from datetime import timedelta
from typing import Any

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.commands import Search, Write
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.service import settle
from tests.worlds import TENANT, Staged

HASHED = HashedEmbedder().space
NOW = timedelta(0)  # idle for so long: whatever is open


def written(command_id: str, content: str, **fields: Any) -> Write:
    given = {"type": "fact", "confidence": 0.9} | fields
    return Write.model_validate({"command_id": command_id, "content": content} | given)


async def receipt(staged: Staged, token: str, command: Any) -> Receipt:
    answer = await staged.ask(token, command)
    assert isinstance(answer, Receipt)
    return answer


async def texts(staged: Staged, token: str, query: str, **fields: Any) -> list[str]:
    found = await staged.ask(token, Search(query=query, **fields))
    assert isinstance(found, Found)
    return [hit.memory.content for hit in found.hits]


async def closed(staged: Staged) -> None:
    await staged.jobs.finish()
    await settle.finish(staged.world)


async def counts(staged: Staged, tenant: str = TENANT) -> tuple[int, int]:
    """(open intents, objects in the store), once all is closed that can be."""
    await closed(staged)
    async with staged.world.ledger.reading() as unit:
        place = await unit.intents.place(tenant)
        waiting = await unit.intents.count()
    held = () if place is None else await staged.world.store.held(place)
    return waiting, len(held)
