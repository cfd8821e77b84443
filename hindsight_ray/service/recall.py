"""What an answered search leaves behind: access statistics and a line in the recall log.

Written after the answer, many searches in one transaction, so that a search costs no commit. A
failure here fails no search; it is logged.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from hindsight_ray.core.redaction import redacted
from hindsight_ray.domain.commands import Search
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.hit import Hit
from hindsight_ray.domain.rows import RecallEntry
from hindsight_ray.errors import HindsightError
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.world import RecallQueue, World

WAITING_MAX = 10_000
TOGETHER_MAX = 256
_TOP_SCORES = 3
_log = logging.getLogger(__name__)


def note_recall(world: World, admitted: Admitted, command: Search, hits: Sequence[Hit]) -> None:
    """Queue what this search leaves behind and see that it gets written."""
    queue = world.recalls
    if len(queue.waiting) >= WAITING_MAX:
        _log.warning("the recall log is behind by %d searches; one is not noted", WAITING_MAX)
        return
    caller = admitted.caller
    queue.waiting.append(
        RecallEntry(
            tenant=caller.tenant,
            at=admitted.now,
            principal=caller.principal,
            user=caller.user,
            session=caller.session,
            run_id=command.run_id,
            query=command.query,  # masked when it is written, after the answer
            top_scores=tuple(hit.score for hit in hits[:_TOP_SCORES]),
            offered=tuple(
                MemoryRef(id=hit.memory.id, revision=hit.memory.revision) for hit in hits
            ),
            revision=admitted.revision,
        )
    )
    if queue.writing:
        return
    job = _write(world, queue)
    try:
        world.background(job)
        queue.writing = True
    except HindsightError as error:  # too many jobs: a later search takes these along
        job.close()
        _log.warning("%d searches wait to be noted: %s", len(queue.waiting), error)


async def _write(world: World, queue: RecallQueue) -> None:
    """Write until nothing waits: searches that come meanwhile share the next transaction."""
    try:
        while queue.waiting:
            together = min(len(queue.waiting), TOGETHER_MAX)
            entries = [queue.waiting.popleft() for _ in range(together)]
            try:
                await _write_all(world, entries)
            except HindsightError as error:
                _log.warning("%d searches could not be noted: %s", len(entries), error)
    finally:
        queue.writing = False


async def _write_all(world: World, entries: Sequence[RecallEntry]) -> None:
    """Two calls however many there are: searches go on meanwhile, and whoever writes waits."""
    masked = [replace(entry, query=redacted(entry.query)[0]) for entry in entries]
    # In one order, so that no two processes wait for each other's rows.
    accesses = sorted((one.tenant, ref.id, one.at) for one in entries for ref in one.offered)
    async with world.ledger.writing() as unit:
        await unit.recalls.append(masked)
        await unit.stats.touch(accesses)
