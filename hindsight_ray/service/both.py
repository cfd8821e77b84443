"""Two reads of one unit under way at once: the ledger's thread goes from one to the next without
waiting for this one in between. What they see is the same snapshot either way.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Awaitable[A], other: Awaitable[B]) -> tuple[A, B]:
    """Both answers. If either fails, the failure of the first of them, once both have ended."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second
