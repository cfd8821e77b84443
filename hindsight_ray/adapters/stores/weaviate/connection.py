"""Reaching a Weaviate server: who it must be, and what its failures are called here.

Every call is bounded: the client itself would try for a minute. A failure is `Unavailable`, naming
the address and what to do, or `StoreRefused` where the object itself is at fault.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlsplit

import grpc
import httpx
import weaviate
from weaviate.classes.init import AdditionalConfig, Auth, Timeout
from weaviate.config import GrpcConfig
from weaviate.connect import ConnectionParams
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from hindsight_ray.errors import InvalidSettings, Unavailable

ANSWER_S_MAX = 8.0
VERSION_MIN = (1, 33, 4)
_GRPC_PORT = 50051

# It prints whole objects where it fails; what failed is raised here.
logging.getLogger("weaviate-client").setLevel(logging.CRITICAL)


class _Stream(Protocol):
    def get_extra_info(self, info: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is. The key's value comes from the environment and is shown nowhere."""

    url: str
    grpc_port: int | None = None
    key_name: str = ""  # of the environment variable that holds the key
    key: str = ""

    @property
    def address(self) -> str:
        return f"{self.url} (gRPC port {self.grpc_port or _GRPC_PORT})"


@dataclass(frozen=True, slots=True)
class Reached:
    """A server that answered: its client, and the means to ask whether it is ready."""

    server: Server
    client: weaviate.WeaviateAsyncClient
    http: httpx.AsyncClient

    async def ready(self) -> object:
        """What tells this run of the server from others: the one connection that it answered on.

        A connection ends with the process that holds it, and is kept as long as that lets it be;
        so the same one says that the server has been there all the time, whatever else was asked.
        Raises `Unavailable` unless the server says that it is ready. Asked by hand: the client
        would print why it is not.
        """
        async with bounded(self.server):
            answer = await self.http.get("/v1/.well-known/ready")
            if not answer.is_success:
                raise unavailable(self.server, "is not ready: it is starting or stopping")
            return cast(_Stream, answer.extensions["network_stream"]).get_extra_info("client_addr")

    async def close(self) -> None:
        try:
            await self.client.close()
        finally:
            await self.http.aclose()


async def connected(server: Server) -> Reached:
    """A client of a server that is ready and new enough. Raises `Unavailable` within 10 s."""
    client = weaviate.WeaviateAsyncClient(
        connection_params=_parameters(server),
        auth_client_secret=Auth.api_key(server.key) if server.key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=4, query=ANSWER_S_MAX, insert=ANSWER_S_MAX),
            grpc_config=GrpcConfig(
                channel_options=[
                    ("grpc.initial_reconnect_backoff_ms", 100),
                    ("grpc.max_reconnect_backoff_ms", 500),
                ]
            ),
        ),
        skip_init_checks=True,  # they ask a package index for its newest release
    )
    http = httpx.AsyncClient(
        base_url=server.url,
        timeout=4.0,
        trust_env=False,
        limits=httpx.Limits(max_connections=1, keepalive_expiry=None),
    )
    reached = Reached(server, client, http)
    try:
        await reached.ready()
        async with bounded(server):
            await client.connect()
            meta = cast("dict[str, object]", await client.get_meta())  # pyright: ignore[reportUnknownMemberType]
            _check_version(server, str(meta.get("version", "")))
    except BaseException:
        await reached.close()
        raise
    return reached


@asynccontextmanager
async def bounded(server: Server) -> AsyncGenerator[None]:
    """What fails in here, or takes too long, is `Unavailable`."""
    try:
        async with asyncio.timeout(ANSWER_S_MAX):
            yield
    except TimeoutError:
        raise unavailable(server, f"did not answer within {ANSWER_S_MAX:g} s") from None
    except UnexpectedStatusCodeError as error:
        if error.status_code in (401, 403):
            raise _unauthorised(server) from None
        raise unavailable(server, _first_line(error)) from error
    except (WeaviateBaseError, httpx.HTTPError, grpc.RpcError, OSError) as error:
        if "UNAUTHENTICATED" in str(error) or "PERMISSION_DENIED" in str(error):
            raise _unauthorised(server) from None
        raise unavailable(server, _first_line(error)) from error


def unavailable(server: Server, what: str) -> Unavailable:
    return Unavailable(
        f"the memory store at {server.address} {what}; see that the server runs and that"
        " `weaviate_url` and `weaviate_grpc_port` are its own",
        address=server.url,
    )


def _unauthorised(server: Server) -> Unavailable:
    wanted = f"`${server.key_name}`" if server.key_name else "`weaviate_api_key_env`"
    return Unavailable(
        f"the memory store at {server.address} refuses this key; set {wanted} to one that it"
        " allows",
        address=server.url,
    )


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    details = re.search(r'details = "([^"]*)"', text)
    return f"failed: {details.group(1) if details else text.splitlines()[0]}"[:300]


def _parameters(server: Server) -> ConnectionParams:
    parts = urlsplit(server.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidSettings(
            f"`weaviate_url` {server.url!r} must be like http://127.0.0.1:8080",
            setting="weaviate_url",
        )
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    if port == (server.grpc_port or _GRPC_PORT):
        raise InvalidSettings(
            f"`weaviate_grpc_port` is {port}, as that of `weaviate_url`: a server answers HTTP and"
            " gRPC at two ports",
            setting="weaviate_grpc_port",
        )
    return ConnectionParams.from_params(
        http_host=parts.hostname,
        http_port=port,
        http_secure=secure,
        grpc_host=parts.hostname,
        grpc_port=server.grpc_port or _GRPC_PORT,
        grpc_secure=secure,
    )


def _check_version(server: Server, version: str) -> None:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None or tuple(int(part) for part in found.groups()) < VERSION_MIN:
        wanted = ".".join(str(part) for part in VERSION_MIN)
        raise Unavailable(
            f"the memory store at {server.address} is Weaviate {version or 'of no version'};"
            f" {wanted} or newer is needed",
            address=server.url,
            version=version,
        )
