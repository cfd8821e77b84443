"""Whether anybody listens at an address, asked without saying a word to them."""

import socket

_WAIT_S = 1.0


def listens(address: str) -> bool:
    """Whether `host:port` takes connections now. False for what names no host and port."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return False
    with socket.socket() as probe:
        probe.settimeout(_WAIT_S)
        try:
            return probe.connect_ex((host, int(port))) == 0
        except (OSError, OverflowError):
            return False
