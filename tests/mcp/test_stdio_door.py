"""The stdio door: a process for the one caller that its command line names."""

import asyncio
import json
import pathlib
import signal

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from hindsight_ray import compose
from tests.mcp.conftest import COMMAND, Stdio


@pytest.mark.covers("mcp.stdio")
async def test_the_caller_is_the_one_that_the_command_line_named(
    stdio: Stdio, tmp_path: pathlib.Path
) -> None:
    async with stdio("--tenant", "acme", "--agent", "planner", "--user", "alice") as client:
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        memory_id = wrote.structured_content["ids"][0]
        found = await client.call_tool("memory_search", {"query": "depot"})
        assert found.structured_content["hits"][0]["memory"]["id"] == memory_id
        refused = await client.call_tool("memory_write", {"content": "x", "scope": "user:bob"})
        assert refused.is_error
        assert "AccessDenied" in refused.content[0].text
    async with compose.open(tmp_path / "home") as hindsight:
        memory = await hindsight.operator("acme").get(memory_id)
        assert (memory.source.agent, memory.source.user) == ("planner", "alice")
    async with stdio("--tenant", "acme", "--user", "bob") as client:
        found = await client.call_tool("memory_search", {"query": "depot"})
        assert found.structured_content["hits"] == []


@pytest.mark.covers("mcp.absent")
async def test_the_http_server_of_the_command_line_serves_tickets_on_loopback(
    tmp_path: pathlib.Path,
) -> None:
    home = tmp_path / "home"
    process = await asyncio.create_subprocess_exec(
        COMMAND, "--home", str(home), "mcp", "--http", "--port", "0", "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    url = json.loads(await process.stdout.readuntil(b"}\n"))["url"]
    assert url.startswith("http://127.0.0.1:")
    async with compose.open(home) as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", user="alice")
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {ticket.token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        assert wrote.structured_content["result"] == "stored"
    process.send_signal(signal.SIGINT)
    _out, err = await process.communicate()
    assert b"Traceback" not in err
