"""What a receipt tells its reader of records that were there before and that it may not be shown.

Whoever says again what waits, or what came from outside and nobody has accepted, changes it as
anybody would; they are told what they would be if it were not there, and no id of it.
"""

import re
from collections.abc import Iterable

from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.seen import showed

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def hidden_among(unit: Unit, reader: Admitted, names: Iterable[str]) -> frozenset[str]:
    """Those of these memories that the reader may not be shown as they are now."""
    known = await unit.memories.current(reader.caller.tenant, sorted(set(names)))
    return frozenset(name for name, memory in known.items() if not showed(reader, memory))


async def unnamed(unit: Unit, reader: Admitted, receipt: Receipt) -> Receipt:
    """The receipt without ids of hidden records in its reasons; its own ids are its reader's."""
    named = set(_ID.findall(receipt.why)).difference(receipt.ids)
    hidden = await hidden_among(unit, reader, named) if named else frozenset[str]()
    if not hidden:
        return receipt
    why = _ID.sub(lambda one: "another" if one[0] in hidden else one[0], receipt.why)
    return receipt.model_copy(update={"why": why})
