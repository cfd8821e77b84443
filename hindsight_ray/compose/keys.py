"""The operator's keys of a home, changed on record: written down, or not done."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from hindsight_ray.adapters.clock import SystemClock
from hindsight_ray.adapters.policy.tickets import OPERATOR_KEYS
from hindsight_ray.compose.embedded import ledger_of, settings_of
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.ports import Unit
from hindsight_ray.service.policy_check import OPERATOR
from hindsight_ray.service.strangers import DEPLOYMENT


async def rotate(home: Path) -> tuple[str, str]:
    """Sign with a new key from now on; the `kid` of the one before, and of the new one."""
    before = OPERATOR_KEYS.current(home)
    async with _noted(home, "RotateKey", before):
        return before, OPERATOR_KEYS.rotate(home)


async def retire(home: Path, kid: str) -> None:
    """Refuse every ticket of an old key from now on. Raises `InvalidInput`."""
    async with _noted(home, "RetireKey", kid):
        OPERATOR_KEYS.retire(home, kid)


@asynccontextmanager
async def _noted(home: Path, verb: str, kid: str) -> AsyncGenerator[None]:
    """An entry of the deployment's own audit; keys and entry change together or not at all."""
    ledger = await ledger_of(home, settings_of(home, {}))
    try:
        with OPERATOR_KEYS.as_before_unless_done(home):
            async with ledger.writing() as unit:
                await _note(unit, verb, kid)
                yield
    finally:
        await ledger.close()


async def _note(unit: Unit, verb: str, kid: str) -> None:
    now = SystemClock().now()
    await unit.policy.add_tenant(DEPLOYMENT, now)  # so that it can be asked for
    await unit.audit.append(
        AuditEntry(
            tenant=DEPLOYMENT,
            at=now,
            principal=f"agent:{OPERATOR}",
            verb=verb,
            object=f"key:{kid}",
            effect="allow",
            rule="",
            revision=(await unit.policy.standing(DEPLOYMENT, "")).revision,
        )
    )
    await unit.audit.newest(DEPLOYMENT, limit=1)  # written by now, or refused
