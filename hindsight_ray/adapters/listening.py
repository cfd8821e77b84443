"""Whether anybody listens at an address, and whether somebody is awake there."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

_WAIT_S = 1.0
_ANSWER_S = 3.0  # a busy machine takes its time
# What a server of gRPC answers at once, whoever asks: the start of HTTP/2, without settings.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


def listens(address: str) -> bool:
    """Whether `host:port` takes connections now. False for what names no host and port.

    The operating system takes them for a process that is stopped, too.
    """
    with _connected(address) as probe:
        return probe is not None


def answers(address: str) -> bool:
    """Whether somebody at `host:port` reacts when spoken to, as a server of gRPC does.

    One that wants another language (TLS) hangs up, which a stopped process does not.
    """
    with _connected(address) as probe:
        if probe is None:
            return False
        probe.settimeout(_ANSWER_S)
        try:
            probe.sendall(_GREETING)
            probe.recv(1)
        except TimeoutError:
            return False
        except OSError:
            return True
        return True


@contextmanager
def _connected(address: str) -> Generator[socket.socket | None]:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.settimeout(_WAIT_S)
        try:
            there = bool(host) and port.isdigit() and probe.connect_ex((host, int(port))) == 0
        except (OSError, OverflowError):
            there = False
        yield probe if there else None
