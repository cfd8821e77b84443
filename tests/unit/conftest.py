"""Unit tests are about pure code: a cluster, a connection or a pause in one is a mistake."""

import asyncio
import socket
import sys
import time
from typing import Any, NoReturn

import pytest


def _refusal(what: str) -> Any:
    def refuse(*_args: object, **_options: object) -> NoReturn:
        raise AssertionError(f"a unit test used {what}")

    return refuse


@pytest.fixture(autouse=True)
def _pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbid `ray.init`, network sockets and sleeping for the length of a test."""
    if "ray" in sys.modules:  # another folder's test module has imported it
        monkeypatch.setattr(sys.modules["ray"], "init", _refusal("ray.init"))
    else:
        monkeypatch.setitem(sys.modules, "ray", None)  # importing it fails
    monkeypatch.setattr(socket.socket, "connect", _refusal("a network connection"))
    monkeypatch.setattr(socket.socket, "connect_ex", _refusal("a network connection"))
    monkeypatch.setattr(socket.socket, "bind", _refusal("a listening socket"))
    monkeypatch.setattr(time, "sleep", _refusal("time.sleep"))
    monkeypatch.setattr(asyncio, "sleep", _yield_only)


_sleep = asyncio.sleep


async def _yield_only(delay: float, result: Any = None) -> Any:
    """Giving way with `sleep(0)` is allowed, waiting is not."""
    if delay > 0:
        raise AssertionError(f"a unit test waited {delay} s")
    return await _sleep(0, result)
