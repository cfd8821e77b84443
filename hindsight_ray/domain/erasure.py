"""Erasing a user: what was asked, and the proof of what is left of them."""

from typing import Literal

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.ids import MemoryId, TenantId, UserId
from hindsight_ray.domain.text import Moment


class Erasure(Value):
    """One entry of the erasure list, which is kept outside backups and carried out on restore."""

    erasure_id: str
    tenant: TenantId
    user: UserId
    at: Moment


class Remains(Value):
    """What was searched for the erased texts afterwards, and where any was found.

    `found` are places that nothing accounts for: free pages, a log, an object of the memory store.
    `held_elsewhere` are tables in which a record of somebody else's says the same words. `stated`
    is what this search could not look into, and for how long it may hold something.
    """

    where: Literal["files", "server"]
    files: tuple[str, ...]
    bytes_searched: int
    objects: int = 0  # of a memory store apart that were looked at
    texts: int  # searched for: whatever the user's records said, of at least 8 bytes
    found: tuple[str, ...] = ()
    held_elsewhere: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()


class Erased(Value):
    """The proof of an erasure.

    `memories` are the ids of the user's own and of whatever named the user in its audience;
    `retracted` those derived from them, `rederived` those that went back to what they said before.
    `rows` counts what was removed, by kind.
    """

    erasure: Erasure
    memories: tuple[MemoryId, ...]
    retracted: tuple[MemoryId, ...]
    rederived: tuple[MemoryId, ...]
    rows: dict[str, int]
    remains: Remains
