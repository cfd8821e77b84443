"""Serve an application for as long as the memory behind it is there, and end in words."""

import socket
from concurrent.futures import Future

import uvicorn

from hindsight_ray.errors import Unavailable


async def serve_while_there(
    server: uvicorn.Server, listener: socket.socket, gone: "Future[None] | None"
) -> None:
    """Serve until interrupted. Raises `Unavailable` once the deployment has ended."""
    if gone is not None:
        gone.add_done_callback(lambda _: setattr(server, "should_exit", True))
    await server.serve(sockets=[listener])
    if gone is not None and gone.done():
        raise Unavailable(
            "the deployment has ended, so serving has, too; start both again, with `hindsight-ray"
            " up` first"
        )
