"""Which servers and collections are refused, and what is said of them."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from hindsight_ray.adapters.stores.weaviate import connection, schema
from hindsight_ray.adapters.stores.weaviate.connection import Server
from hindsight_ray.adapters.stores.weaviate.store import WeaviateStore
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import (
    HomeInvalid,
    InvalidSettings,
    SpaceMismatch,
    Unavailable,
)
from tests import stores
from tests.servers.process import free_ports
from tests.servers.weaviate import Weaviate
from tests.stores import FOUR


@pytest.mark.covers("store.space", "G8.pinned")
async def test_a_collection_of_another_dimension_is_refused(weaviate_server: Weaviate) -> None:
    first = stores.weaviate_store(weaviate_server, replace(FOUR, model="pinned"))
    await first.check()
    await first.close()
    other = stores.weaviate_store(weaviate_server, replace(FOUR, model="pinned", dimension=8))
    with pytest.raises(SpaceMismatch, match="'pinned' with 4"):
        await other.check()


@pytest.mark.covers("store.space")
async def test_a_collection_of_something_else_is_refused(weaviate_server: Weaviate) -> None:
    reached = await connection.connected(stores.server_of(weaviate_server))
    await reached.client.collections.create(schema.collection_name("taken"))
    await reached.close()
    store = stores.weaviate_store(weaviate_server, replace(FOUR, model="taken"))
    with pytest.raises(HomeInvalid, match="something else"):
        await store.check()


def test_the_vendors_package_leaves_a_programs_warnings_as_they_were() -> None:
    code = (
        "import warnings, hindsight_ray.compose.weaviate\n"
        "everything = ('default', None, Warning, None, 0)\n"
        "assert everything not in warnings.filters"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_models_never_share_a_collection() -> None:
    names = [
        "a/b", "a_b", "a-b", "a.b", "A/b", "a_2f_b", "a", "", "ä", "x" * 300, "x" * 299 + "y",
        "text-embedding-3-small", "text_embedding_3_small",
    ]  # fmt: skip
    made = [schema.collection_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(name.isascii() and len(name) < 250 for name in made)


@asynccontextmanager
async def answering(respond: Callable[[str], tuple[int, dict[str, str]]]) -> AsyncGenerator[str]:
    """A server of ours that answers each path with a status and a JSON document."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                status, document = respond(head.split()[1].decode())
                body = json.dumps(document).encode()
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            served.set()

    served = asyncio.Event()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        await served.wait()


async def refusal(url: str, **fields: Any) -> tuple[Unavailable, float]:
    store = WeaviateStore(Server(url, **fields), EmbeddingSpace("four", 4, 0.9, 0.8))
    begun = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        await store.check()
    await store.close()
    return caught.value, time.monotonic() - begun


@pytest.mark.covers("store.server")
async def test_a_server_that_is_away_is_named_with_the_remedy() -> None:
    (port,) = free_ports(1)
    error, seconds = await refusal(f"http://127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in error.message
    assert "weaviate_url" in error.message
    assert seconds < 10


@pytest.mark.covers("store.server")
async def test_one_port_for_http_and_grpc_is_refused_by_the_settings_name() -> None:
    with pytest.raises(InvalidSettings, match="weaviate_grpc_port"):
        await WeaviateStore.open(Server("http://127.0.0.1:8080", 8080), FOUR)


@pytest.mark.covers("store.server")
async def test_a_server_that_never_answers_is_given_up_within_ten_seconds() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        error, seconds = await refusal(f"http://127.0.0.1:{port}")
    assert str(port) in error.message
    assert seconds < 10


@pytest.mark.covers("store.server")
async def test_a_server_that_is_too_old_is_refused_by_name() -> None:
    def respond(path: str) -> tuple[int, dict[str, str]]:
        return (200, {"version": "1.33.3", "hostname": "x"}) if "meta" in path else (200, {})

    async with answering(respond) as url:
        error, _ = await refusal(url, key="k")
    assert "Weaviate 1.33.3; 1.33.4 or newer is needed" in error.message
    assert url in error.message


@pytest.mark.covers("store.server")
async def test_a_half_started_server_is_not_taken_for_a_ready_one() -> None:
    async with answering(lambda _path: (503, {})) as url:
        error, _ = await refusal(url)
    assert "is not ready" in error.message


@pytest.mark.covers("store.server")
@pytest.mark.parametrize("key", ["", "wrong"])
async def test_a_server_that_refuses_the_key_names_where_the_key_comes_from(
    weaviate_server: Weaviate, key: str
) -> None:
    error, seconds = await refusal(
        weaviate_server.url, grpc_port=weaviate_server.grpc_port, key_name="MY_KEY", key=key
    )
    assert "refuses this key; set `$MY_KEY`" in error.message
    assert seconds < 10
