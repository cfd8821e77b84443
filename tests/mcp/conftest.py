"""The MCP doors over a real home: HTTP in this process, stdio as a process of its own."""

import asyncio
import pathlib
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from hindsight_ray import compose
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.entry import mcp_server
from hindsight_ray.entry.bearer import call_of
from hindsight_ray.entry.listening import http_server, listening
from hindsight_ray.entry.rate import Rates

COMMAND = str(pathlib.Path(sys.executable).parent / "hindsight-ray")


@dataclass(frozen=True, slots=True)
class Served:
    """A memory with its HTTP door open."""

    hindsight: Hindsight
    url: str

    async def ticket(self, **names: str) -> Ticket:
        return await self.hindsight.issue_ticket(tenant=names.pop("tenant", "acme"), **names)

    @asynccontextmanager
    async def client(self, token: str) -> AsyncIterator[Client]:
        """The SDK's own client, sending this token with each request."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client


@pytest.fixture
async def served(tmp_path: pathlib.Path) -> AsyncIterator[Served]:
    async with compose.open(tmp_path / "home") as hindsight, listening(0) as listener:
        server = http_server(mcp_server.http_app(call_of(hindsight), Rates(10.0, 10.0)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_server.PATH}"
        yield Served(hindsight, url)
        server.should_exit = True
        await serving


Stdio = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def stdio(tmp_path: pathlib.Path) -> Stdio:
    """`async with stdio("--tenant", "acme", …) as client`: a server process for one caller."""

    @asynccontextmanager
    async def start(*arguments: str) -> AsyncIterator[Client]:
        line = ["--home", str(tmp_path / "home"), "mcp", "--stdio", *arguments]
        transport = stdio_client(StdioServerParameters(command=COMMAND, args=line))
        async with Client(transport) as client:
            yield client

    return start
