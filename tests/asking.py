"""Asking the door of a staged home: one command by its kind and fields."""

from typing import Any
from uuid import uuid4

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.domain.receipt import Receipt
from tests.worlds import Staged


async def ask(home: Staged, token: str, kind: type[c.Command], **fields: Any) -> Any:
    """The answer; the command gets an id of its own where it takes one and none is given."""
    if "command_id" in kind.model_fields:
        fields.setdefault("command_id", uuid4().hex)
    return await home.ask(token, build(kind, fields))


async def wrote(home: Staged, token: str, content: str, **fields: Any) -> str:
    """The id of the memory that a statement became."""
    receipt = await ask(home, token, c.Write, content=content, **fields)
    assert isinstance(receipt, Receipt)
    return receipt.ids[0]
