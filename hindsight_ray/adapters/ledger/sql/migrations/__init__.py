"""From which version to which: the steps that bring an older ledger to the schema of this release.

A new ledger is made from the models at once, which a test holds equal to the last step. The steps
run in the transaction that notes the new version, so that a ledger is at one version or another.
Alembic is imported when there is a step to take.
"""

from pathlib import Path

from sqlalchemy.engine import Connection

VERSIONS = Path(__file__).parent


def bring_up(connection: Connection, version: int, *, folder: Path = VERSIONS) -> int:
    """Take every step after `version`; the version that is reached."""
    from alembic.operations import Operations  # noqa: PLC0415 - 0.2 s, for old ledgers alone
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    scripts = ScriptDirectory(str(folder))
    steps = {int(step.revision): step.module for step in scripts.walk_revisions()}
    with Operations.context(MigrationContext.configure(connection)):
        for number in sorted(step for step in steps if step > version):
            steps[number].upgrade()
    return max(steps, default=version)
