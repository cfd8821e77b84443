"""Serve an application over HTTP on the loopback address, and on no other."""

import contextlib
import socket
from collections.abc import AsyncGenerator

import uvicorn
from starlette.types import ASGIApp

from hindsight_ray.errors import Unavailable

REQUEST_BYTES_MAX = 1024 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOSTS = (*_LOOPBACK, *(f"{host}:*" for host in _LOOPBACK))
ORIGINS = tuple(f"http://{host}{port}" for host in _LOOPBACK for port in ("", ":*"))


@contextlib.asynccontextmanager
async def listening(port: int) -> AsyncGenerator[socket.socket]:
    """A socket on the loopback address; port 0 takes a free one. Raises `Unavailable`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with contextlib.closing(listener):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()  # from here on a request waits until it is served
        except OSError as error:
            raise Unavailable(f"`--port` {port} cannot be used: {error.strerror}") from None
        yield listener


def http_server(app: ASGIApp) -> uvicorn.Server:
    """What serves the application: `await server.serve(sockets=[listener])`, until interrupted."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    return uvicorn.Server(config)
