"""Names of things, and the rule that every name keeps.

Ids that people choose match `[A-Za-z0-9][A-Za-z0-9._@-]{0,127}` after NFC; ids that the product
makes are UUIDs in canonical text. Both are checked where a value is built, so that nothing deeper
has to doubt a name.
"""

import re
import unicodedata
from typing import Annotated, NewType

from pydantic import AfterValidator, Strict

from hindsight_ray.domain.faults import shown
from hindsight_ray.domain.quick import Quick
from hindsight_ray.errors import InvalidInput

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}\Z")

TenantName = NewType("TenantName", str)
AgentName = NewType("AgentName", str)
UserName = NewType("UserName", str)
SessionName = NewType("SessionName", str)
TicketName = NewType("TicketName", str)
CommandName = NewType("CommandName", str)
Label = NewType("Label", str)
RunUuid = NewType("RunUuid", str)
EventUuid = NewType("EventUuid", str)
MemoryUuid = NewType("MemoryUuid", str)


def checked_name(text: str) -> str:
    """Return `text` in NFC if it is a valid id, else raise `InvalidInput` naming the rule."""
    name = unicodedata.normalize("NFC", text)
    if not _NAME.match(name):
        raise InvalidInput(
            f"`id` {shown(text)} must start with a letter or digit and hold at most 128 of"
            " letters, digits, `.`, `_`, `@` and `-`",
            value=text,
        )
    return name


def checked_uuid(text: str) -> str:
    """Return `text` if it is a UUID in canonical lower-case form, else raise `InvalidInput`."""
    if not _UUID.match(text):
        raise InvalidInput(
            f"`id` {shown(text)} must be a UUID in lower case, as it was printed", value=text
        )
    return text


# Strict, because bytes are no name, whatever they would decode to. NFC leaves ASCII as it is.
_NAME_AT_ONCE = Quick(r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$", checked_name)
_UUID_AT_ONCE = Quick(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$", checked_uuid)
TenantId = Annotated[TenantName, Strict(), AfterValidator(checked_name)]
AgentId = Annotated[AgentName, _NAME_AT_ONCE]
UserId = Annotated[UserName, Strict(), AfterValidator(checked_name)]
SessionId = Annotated[SessionName, Strict(), AfterValidator(checked_name)]
TicketId = Annotated[TicketName, Strict(), AfterValidator(checked_name)]
CommandId = Annotated[CommandName, Strict(), AfterValidator(checked_name)]
LabelName = Annotated[Label, Strict(), AfterValidator(checked_name)]
RunId = Annotated[RunUuid, _UUID_AT_ONCE]
EventId = Annotated[EventUuid, _UUID_AT_ONCE]
MemoryId = Annotated[MemoryUuid, _UUID_AT_ONCE]
