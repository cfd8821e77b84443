"""Commands have one effect: a repeated one is answered by its receipt, a reused id is refused."""

from typing import TypeVar

from hindsight_ray.core.digest import digest
from hindsight_ray.domain.base import Value
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Command
from hindsight_ray.errors import CommandReused
from hindsight_ray.ports import Unit

R = TypeVar("R", bound=Value)


async def replayed(
    unit: Unit, caller: Caller, command_id: str, command: Command, kind: type[R]
) -> R | None:
    """The receipt of this command if it was carried out before, else None.

    The caller must have been admitted and authorised first: a receipt is no way around a policy.
    Raises `CommandReused` if the id came with another payload.
    """
    found = await unit.commands.get(caller.tenant, caller.receipt_owner, command_id)
    if found is None:
        return None
    known, receipt = found
    if known != _payload(command):
        raise CommandReused(
            f"`command_id` {command_id!r} was used for another {type(command).__name__};"
            " give each command its own id",
            command_id=command_id,
        )
    return kind.model_validate_json(receipt)


async def keep(
    unit: Unit, caller: Caller, command_id: str, command: Command, receipt: Value
) -> None:
    """Write the receipt, in the transaction that carries the command out."""
    await unit.commands.put(
        caller.tenant,
        caller.receipt_owner,
        command_id,
        _payload(command),
        receipt.model_dump_json(),
    )


def _payload(command: Command) -> str:
    return digest({"verb": type(command).__name__, "fields": command.model_dump(mode="json")})
