"""How a batch of events travels: as JSON made in one go, checked once where it arrives.

Pickling each event as a Python object costs several times the making of the JSON, on both sides.
"""

from pydantic import TypeAdapter, ValidationError

from hindsight_ray.domain.commands import RecordEvents
from hindsight_ray.domain.faults import told
from hindsight_ray.errors import InvalidInput

_BATCH = TypeAdapter(RecordEvents)


def packed_events(command: RecordEvents) -> bytes:
    """The command as bytes."""
    return _BATCH.dump_json(command, exclude_defaults=True)


def unpacked_events(batch: bytes) -> RecordEvents:
    """The command again. Raises `InvalidInput` naming the first field that is wrong."""
    try:
        return _BATCH.validate_json(batch)
    except ValidationError as error:
        fault = told(error)
        raise InvalidInput(f"the batch of events: {fault.message}", **fault.details) from None
