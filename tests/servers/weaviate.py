"""A Weaviate of our own: started so that what is acknowledged is found at once.

It listens on the loopback address alone where it can be told to: for HTTP, Raft and gossip. For
gRPC and for the data of a cluster it listens on every address of the machine and knows no setting
for that; there it asks for the key, and for a password that is drawn at every start.
"""

import os
import secrets
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import ServerMissing, ServerProcess, free_ports

ROOT = Path(__file__).resolve().parents[2]
VERSION = "v1.35.2"
_PROGRAM = "weaviate-server"


@dataclass(frozen=True, slots=True)
class Weaviate:
    """A running server: how to reach it, and its process."""

    url: str
    grpc_port: int
    api_key: str
    process: ServerProcess


def program() -> Path:
    """The server's binary. Raises `ServerMissing` saying how to get one."""
    given = os.environ.get("HINDSIGHT_WEAVIATE_SERVER")
    for path in (given, ROOT / ".servers" / "bin" / _PROGRAM, shutil.which(_PROGRAM)):
        if path is not None and Path(path).is_file():
            return Path(path)
    raise ServerMissing(f"no {_PROGRAM} {VERSION}: `make servers` builds it (needs Go 1.25)")


def start(folder: Path) -> Weaviate:
    """Start a server with its data in `folder`."""
    binary = program()
    folder.mkdir(parents=True, exist_ok=True)
    port, grpc, gossip, data, raft, raft_rpc = free_ports(6)
    key = secrets.token_hex(16)
    url = f"http://127.0.0.1:{port}"
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "PERSISTENCE_DATA_PATH": str(folder / "data"),
        "GRPC_PORT": str(grpc),
        "CLUSTER_HOSTNAME": "node1",
        "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
        "CLUSTER_BIND_ADDR": "127.0.0.1",
        "CLUSTER_GOSSIP_BIND_PORT": str(gossip),
        "CLUSTER_DATA_BIND_PORT": str(data),
        "RAFT_PORT": str(raft),
        "RAFT_INTERNAL_RPC_PORT": str(raft_rpc),
        "RAFT_JOIN": f"node1:{raft}",
        "RAFT_BOOTSTRAP_EXPECT": "1",
        "CLUSTER_BASIC_AUTH_USERNAME": "node",
        "CLUSTER_BASIC_AUTH_PASSWORD": secrets.token_hex(16),
        "GO_PROFILING_DISABLE": "true",
        "DEFAULT_VECTORIZER_MODULE": "none",
        "ENABLE_MODULES": "",
        "API_BASED_MODULES_DISABLED": "true",
        "DISABLE_TELEMETRY": "true",
        "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
        "AUTHENTICATION_APIKEY_ENABLED": "true",
        "AUTHENTICATION_APIKEY_ALLOWED_KEYS": key,
        "AUTHENTICATION_APIKEY_USERS": "hindsight",
        "AUTHORIZATION_ADMINLIST_ENABLED": "true",
        "AUTHORIZATION_ADMINLIST_USERS": "hindsight",
        "ASYNC_INDEXING": "false",
        "AUTOSCHEMA_ENABLED": "false",
        "QUERY_DEFAULTS_LIMIT": "25",
        "LOG_LEVEL": "warning",
        "GOMAXPROCS": str(os.cpu_count() or 2),
    }
    command = [str(binary), "--host", "127.0.0.1", "--port", str(port), "--scheme", "http"]
    process = ServerProcess(
        command,
        log=folder / "weaviate.log",
        ready=lambda: _answers(f"{url}/v1/.well-known/ready"),
        environment=environment,
    )
    process.start()
    return Weaviate(url, grpc, key, process)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1.0) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
