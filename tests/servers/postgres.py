"""A PostgreSQL of our own from the system's packages, run by somebody who is not root."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import ServerFailed, ServerMissing, ServerProcess, free_ports

_NOBODY_ELSE = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server: a SQLAlchemy URL without driver options, and its process."""

    host: str
    port: int
    user: str
    password: str
    process: ServerProcess

    def url(self, database: str = "postgres") -> str:
        """`postgresql://…`; the driver is for whoever connects to choose."""
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{database}"


def programs() -> Path:
    """The folder with `initdb` and `postgres`. Raises `ServerMissing` saying how to get them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
    other = shutil.which("postgres")
    for path in (*found, *([] if other is None else [Path(other)])):
        if (path.parent / "initdb").is_file():
            return path.parent
    raise ServerMissing(
        "no PostgreSQL: `make servers` installs it where it may, else `apt-get install postgresql`"
    )


def start(folder: Path, *, durable: bool = True) -> Postgres:
    """Start a server with its data in `folder`; as root, under an unprivileged user's id.

    One that is not `durable` survives `kill -9` but no power cut, and is several times quicker.
    """
    bin_folder = programs()
    folder.mkdir(parents=True, exist_ok=True)
    data, socket_folder = folder / "data", folder / "socket"
    socket_folder.mkdir(exist_ok=True)
    password = os.urandom(12).hex()
    password_file = folder / "password"
    password_file.write_text(password)
    user = _unprivileged() if os.geteuid() == 0 else None
    if user is not None:
        for path in (folder, socket_folder, password_file):
            os.chown(path, user, user)
        _open_way(folder)
    made = subprocess.run(
        [
            str(bin_folder / "initdb"), "-D", str(data), "-U", "hindsight", "-A", "scram-sha-256",
            "--pwfile", str(password_file), "-E", "UTF8", "--locale=C", "--no-sync",
        ],
        capture_output=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd=folder,
        check=False,
    )  # fmt: skip
    if made.returncode != 0:
        raise ServerFailed(f"initdb failed:\n{made.stderr.decode(errors='replace')}")
    (port,) = free_ports(1)
    process = ServerProcess(
        [
            str(bin_folder / "postgres"), "-D", str(data), "-p", str(port),
            "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={socket_folder}",
            "-c", "max_connections=200", "-c", "shared_buffers=64MB",
            *([] if durable else ["-c", "fsync=off", "-c", "full_page_writes=off"]),
        ],
        log=folder / "postgres.log",
        ready=lambda: _answers(bin_folder, port),
        environment={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "PGDATA": str(data)},
        user=user,
    )  # fmt: skip
    process.start()
    return Postgres("127.0.0.1", port, "hindsight", password, process)


@contextmanager
def own_folder() -> Generator[Path]:
    """A folder for a server's data that is in none of root's: pytest shuts those, time and again,
    to whoever else the server runs as."""
    folder = Path(tempfile.mkdtemp(prefix="hindsight-postgres-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> int:
    for name in _NOBODY_ELSE:
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise ServerMissing("PostgreSQL refuses to run as root and there is no user `postgres`")


def _open_way(folder: Path) -> None:
    """Let the unprivileged user pass through the temporary folders above, which are root's."""
    for parent in folder.parents:
        if parent.stat().st_uid != 0 or len(parent.parts) <= 2:
            break
        parent.chmod(parent.stat().st_mode | 0o111)


def _answers(bin_folder: Path, port: int) -> bool:
    tool = bin_folder / "pg_isready"
    if tool.is_file():
        command = [str(tool), "-q", "-h", "127.0.0.1", "-p", str(port)]
        return subprocess.run(command, check=False).returncode == 0
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True
