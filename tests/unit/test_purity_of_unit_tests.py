"""The guards of this folder hold: otherwise every other promise here is empty."""

import asyncio
import importlib
import socket
import time

import pytest


def test_a_unit_test_cannot_start_a_cluster() -> None:
    with pytest.raises((ImportError, AssertionError)):
        importlib.import_module("ray").init()


def test_a_unit_test_cannot_connect_or_listen() -> None:
    with socket.socket() as one, pytest.raises(AssertionError):
        one.connect(("127.0.0.1", 9))
    with socket.socket() as one, pytest.raises(AssertionError):
        one.bind(("127.0.0.1", 0))


async def test_a_unit_test_cannot_wait() -> None:
    with pytest.raises(AssertionError):
        time.sleep(0.001)  # noqa: ASYNC251 - it is the thing forbidden
    with pytest.raises(AssertionError):
        await asyncio.sleep(0.001)
    await asyncio.sleep(0)
