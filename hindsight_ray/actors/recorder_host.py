"""Recorder hosts: each journals the events of many agents, in groups that share one commit."""

from hindsight_ray.actors.shell import Shell
from hindsight_ray.actors.wire import unpacked_events
from hindsight_ray.domain.run import RecordAck


class RecorderHost(Shell):
    """Receives batches of events. Its world's ledger commits concurrent writers in groups.

    **Guarantees** (beside those of `Shell`)
    - `record` returns after the commit: an acknowledged batch survives the end of any process.
    - A batch sent again, here or to a successor, adds nothing.
    - An agent's recorder costs no process, thread or state here; only batches in flight do.
    """

    async def record(self, token: str, batch: bytes) -> RecordAck:
        """Journal one packed batch. Raises what `call` raises, `InvalidInput` for a bad batch."""
        return await self.call(token, unpacked_events(batch))
