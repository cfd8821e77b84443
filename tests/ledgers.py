"""The ledgers that contracts run on: a SQLite file, and a PostgreSQL database of the test's own."""

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.ledger.sql.postgres import Server
from tests.servers.postgres import Postgres

BOTH = ("sqlite", "postgresql")
Where = Path | Server


@dataclass(frozen=True, slots=True)
class Ledgers:
    """One database; opened any number of times, as processes would."""

    where: Where

    async def open(self, **choices: Any) -> SqlLedger:
        return await SqlLedger.open(self.where, **{"lock_wait_s": 5.0, **choices})

    @asynccontextmanager
    async def opened(self, **choices: Any) -> AsyncGenerator[SqlLedger]:
        ledger = await self.open(**choices)
        try:
            yield ledger
        finally:
            await ledger.close()


def ledgers_of(request: pytest.FixtureRequest, kind: str) -> Ledgers:
    """A fresh database of this kind. Without the server, the test is skipped with its reason."""
    if kind == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        return Ledgers(folder / "ledger.sqlite3")
    return Ledgers(server_database(request.getfixturevalue("postgres_server")))


def server_database(postgres: Postgres) -> Server:
    """A fresh database on the session's server."""
    return Server(new_database(postgres), "the test's own server")


def new_database(postgres: Postgres) -> str:
    """The URL of a fresh database on this server."""
    name = f"t{secrets.token_hex(8)}"
    with psycopg.connect(postgres.url(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    return postgres.url(name)


Opened = Callable[..., AbstractAsyncContextManager[SqlLedger]]
