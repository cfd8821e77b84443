"""A ledger of an older release is brought up; what the models say is what migrations make."""

from collections.abc import Generator
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import SqlLedger, dialect, ledger, migrations
from hindsight_ray.adapters.ledger.sql.schema import SCHEMA_OLDEST, SCHEMA_VERSION
from hindsight_ray.errors import HomeInvalid
from tests.ledgers import BOTH, Ledgers, ledgers_of
from tests.migrating import differences
from tests.records import name_of, run_of
from tests.worlds import TENANT

_NEXT = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = "{number}", {before}

def upgrade():
    op.add_column("runs", sa.Column("colour", sa.Text, nullable=False, server_default="{number}"))
"""


@pytest.fixture(params=BOTH)
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    return ledgers_of(request, request.param)


@pytest.fixture
def connection(ledgers: Ledgers) -> Generator[Connection]:
    engine = dialect.engine_of(ledgers.where, lock_wait_s=5.0)
    with engine.connect() as opened:
        dialect.begin(opened, write=True)
        yield opened
        opened.rollback()


@pytest.mark.covers("schema.models")
def test_the_migrations_make_exactly_what_the_models_say(connection: Connection) -> None:
    assert migrations.bring_up(connection, 0) == SCHEMA_VERSION
    found = differences(connection)
    assert found == [], "raise SCHEMA_VERSION and run `python -m tests.migrating`"


def _notes(ledgers: Ledgers, version: int) -> None:
    engine = dialect.engine_of(ledgers.where, lock_wait_s=5.0)
    with engine.connect() as opened:
        dialect.begin(opened, write=True)
        sql = f"UPDATE facts SET value = '{version}' WHERE name = 'schema'"  # noqa: S608
        opened.exec_driver_sql(sql)
        opened.commit()


@pytest.mark.covers("schema.older")
async def test_a_ledger_of_an_older_release_is_brought_up_with_what_is_in_it(
    ledgers: Ledgers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledgers.opened() as opened, opened.writing() as unit:
        await unit.runs.create(run_of("r"))
    folder = tmp_path / "steps"
    (folder / "versions").mkdir(parents=True)
    later = SCHEMA_VERSION + 1
    step = _NEXT.format(number=later, before=None)
    (folder / "versions" / "next.py").write_text(step)
    monkeypatch.setattr(ledger, "SCHEMA_VERSION", later)
    monkeypatch.setattr(migrations.bring_up, "__kwdefaults__", {"folder": folder})
    async with ledgers.opened() as opened, opened.reading() as unit:
        assert await unit.runs.get(TENANT, name_of("r")) == run_of("r")
    engine = dialect.engine_of(ledgers.where, lock_wait_s=5.0)
    with engine.connect() as raw:
        dialect.begin(raw, write=False)
        assert raw.exec_driver_sql("SELECT colour FROM runs").scalars().all() == [str(later)]
    async with ledgers.opened():  # a second time there is nothing to do
        pass


@pytest.mark.covers("schema.older")
async def test_a_ledger_from_before_the_first_release_is_refused_by_name(ledgers: Ledgers) -> None:
    await (await ledgers.open()).close()
    _notes(ledgers, SCHEMA_OLDEST - 1)
    with pytest.raises(HomeInvalid, match="before the first release"):
        await ledgers.open()


@pytest.mark.covers("schema.newer")
async def test_a_ledger_of_a_newer_release_is_refused_by_name(ledgers: Ledgers) -> None:
    await (await ledgers.open()).close()
    _notes(ledgers, 999)
    with pytest.raises(HomeInvalid, match="newer release"):
        await SqlLedger.open(ledgers.where)
