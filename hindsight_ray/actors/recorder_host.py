"""Recorder hosts: each journals the events of many agents, in groups that share one commit."""

import asyncio

from hindsight_ray.actors.allowance import Allowance
from hindsight_ray.actors.reach import failed
from hindsight_ray.actors.shell import Shell, WorldFactory
from hindsight_ray.actors.wire import unpacked_events
from hindsight_ray.domain.run import RecordAck
from hindsight_ray.errors import HindsightError

UNPACKED_BYTES_MAX = 1 << 20  # as they came: taken apart, events are some ten times as large


class RecorderHost(Shell):
    """Receives batches of events. Its world's ledger commits concurrent writers in groups.

    **Guarantees** (beside those of `Shell`)
    - `record` returns after the commit: an acknowledged batch survives the end of any process.
    - A batch sent again, here or to a successor, adds nothing.
    - An agent's recorder costs no process, thread or state here; only batches in flight do, and
      those beyond `UNPACKED_BYTES_MAX` wait as the bytes that came.
    """

    def __init__(self, build: WorldFactory) -> None:
        super().__init__(build)
        self._unpacked = Allowance(UNPACKED_BYTES_MAX)

    async def record_all(self, *sent: tuple[str, bytes]) -> list[RecordAck | HindsightError]:
        """Journal packed batches, each with its token; an answer to each.

        Raises `Unavailable` for all of them while stopping.
        """
        await self.world()
        return await asyncio.gather(*(self._answer(token, batch) for token, batch in sent))

    async def _answer(self, token: str, batch: bytes) -> RecordAck | HindsightError:
        try:
            return await self.record(token, batch)
        except HindsightError as error:
            return error
        except Exception as error:  # noqa: BLE001 - it is this batch's alone, whatever it is
            return failed(error)

    async def record(self, token: str, batch: bytes) -> RecordAck:
        """Journal one packed batch. Raises what `call` raises, `InvalidInput` for a bad batch."""
        async with self._unpacked.of(len(batch)):
            return await self.call(token, unpacked_events(batch))
