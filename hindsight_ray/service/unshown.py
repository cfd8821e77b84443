"""What receipts and reasons tell their reader of records that it may not be shown: no id of theirs.

Whoever says again what waits, or what came from outside and nobody has accepted, changes it as
anybody would; they are told what they would be if it were not there, and no id of it. Why a memory
changed may name another one, which its readers need not be the readers of.
"""

import re
from collections.abc import Iterable, Sequence

from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.ports import Unit
from hindsight_ray.service.admit import Admitted
from hindsight_ray.service.seen import shows

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def hidden_among(unit: Unit, reader: Admitted, names: Iterable[str]) -> frozenset[str]:
    """Those of these memories that the reader may not be shown as they are now."""
    known = await unit.memories.current(reader.caller.tenant, sorted(set(names)))
    return frozenset(name for name, memory in known.items() if not shows(reader, memory))


async def unnamed(unit: Unit, reader: Admitted, receipt: Receipt) -> Receipt:
    """The receipt without ids of hidden records in its reasons; its own ids are its reader's."""
    (why,) = await reasons(unit, reader, [receipt.why], own=receipt.ids)
    return receipt if why == receipt.why else receipt.model_copy(update={"why": why})


async def reasons(
    unit: Unit, reader: Admitted, told: Sequence[str], *, own: Iterable[str] = ()
) -> list[str]:
    """These reasons without ids of hidden records, nor of any that are there no longer; `own` ids
    are the reader's to know."""
    named = {name for why in told for name in _ID.findall(why)}.difference(own)
    if not named:
        return list(told)
    hidden = await _hidden_or_gone(unit, reader, named)
    return [_ID.sub(lambda one: "another" if one[0] in hidden else one[0], why) for why in told]


async def _hidden_or_gone(unit: Unit, reader: Admitted, names: Iterable[str]) -> frozenset[str]:
    """Those of these that are memories and not shown, or were memories once: forgotten looks as
    forbidden does. Other ids are none."""
    tenant = reader.caller.tenant
    known = await unit.memories.current(tenant, sorted(names))
    shown = {name for name, memory in known.items() if shows(reader, memory)}
    return frozenset(
        [
            name
            for name in names
            if name not in shown and (name in known or await unit.memories.history(tenant, name))
        ]
    )
