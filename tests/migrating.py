"""Writes the step that brings the last migration to the models: `python -m tests.migrating`.

While a version is in the making its step is written anew: delete the file and run this again.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import dialect, ledger
from hindsight_ray.adapters.ledger.sql.migrations import VERSIONS, bring_up
from hindsight_ray.adapters.ledger.sql.schema import SCHEMA_VERSION

_PAGE = '''"""{why}"""

import sqlalchemy as sa
from alembic import op

Words = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

revision = "{revision}"
down_revision = {before}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the tables to version {revision}."""
{steps}
'''


_SHORT = {
    "sa.Text().with_variant(sa.Text(collation='C'), 'postgresql')": "Words",
    "sa.BigInteger().with_variant(sa.Integer(), 'sqlite')": "Big",
}


def differences(connection: Connection) -> list[Any]:
    """What an up-to-date database and the models do not agree on."""
    return list(compare_metadata(MigrationContext.configure(connection), ledger.metadata))


def _steps(connection: Connection) -> str:
    context = MigrationContext.configure(connection, opts={"target_metadata": ledger.metadata})
    found = produce_migrations(context, ledger.metadata)
    assert found.upgrade_ops is not None
    text = render_python_code(found.upgrade_ops)
    for shape, name in _SHORT.items():
        text = text.replace(shape, name)
    return "\n".join(line for line in text.splitlines() if "###" not in line)


def _main() -> None:
    scripts = ScriptDirectory(str(VERSIONS))
    last = max((int(step.revision) for step in scripts.walk_revisions()), default=0)
    assert last < SCHEMA_VERSION, "raise `SCHEMA_VERSION`, or delete the last step to remake it"
    with tempfile.TemporaryDirectory() as folder:
        engine = dialect.sqlite_engine(Path(folder) / "l.sqlite3", lock_wait_s=1.0)
        with engine.connect() as connection:
            dialect.begin(connection, write=True)
            bring_up(connection, 0)
            steps = _steps(connection)
    page = _PAGE.format(
        why="The tables of the first version that is kept up." if last == 0 else "?",
        revision=f"{SCHEMA_VERSION}",
        before=f'"{last}"' if last else None,
        steps="    " + steps.strip(),
    )
    file = VERSIONS / "versions" / f"v{SCHEMA_VERSION:04d}.py"
    file.write_text(page)
    sys.stdout.write(f"{file}: read it, correct it, and run `ruff format` over it\n")


if __name__ == "__main__":
    _main()
