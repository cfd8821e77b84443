"""Is this home sound, and if not, what should its owner do? Looks only; makes and mends nothing.

Each finding answers for one thing that has to be right, and names the next step where it is not.
"""

import importlib
import platform
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from hindsight_ray.adapters.home import Home, check_whole, deployment_address
from hindsight_ray.adapters.ledger.sql import SqlLedger
from hindsight_ray.adapters.policy.tickets import KEY_FILE, load_signer
from hindsight_ray.compose.embedded import database_of, world_of_home
from hindsight_ray.compose.space import embedder_of
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import Busy, HindsightError, HomeInUse, InvalidSettings, Unavailable
from hindsight_ray.service.world import World
from hindsight_ray.settings import load_settings

State = Literal["ok", "warning", "fault"]
PYTHON_MIN = (3, 11)
_FROM_BACKUP = "restore the home from a backup"
FREE_BYTES_MIN = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it stands, what was seen, and what to do if it is not right."""

    what: str
    state: State
    seen: str
    next_step: str = ""


async def examine(folder: Path) -> Sequence[Finding]:
    """Everything that can be seen of the home in `folder` from here."""
    findings, settings = _outside(folder)
    if settings is None or any(one.state == "fault" for one in findings):
        return findings
    return [*findings, *await _inside(folder, settings)]


def _outside(folder: Path) -> tuple[list[Finding], Settings | None]:
    """What can be told without opening the ledger; the settings if it may be opened."""
    findings = [_python(), _packages()]
    if not folder.is_dir():
        step = "a first `hindsight-ray write` begins it; or name another with `--home`"
        return [*findings, Finding("home", "warning", f"{folder} is not there", step)], None
    try:
        check_whole(folder)
    except HindsightError as error:
        step = "run the same `hindsight-ray restore` once more"
        return [*findings, Finding("home", "fault", error.message, step)], None
    findings += [_space(folder), _key(folder)]
    finding, settings = _settings(folder)
    findings.append(finding)
    address = deployment_address(folder)
    if address is not None:
        seen = f"a deployment uses it, reached with `--address {address}`"
        return [*findings, Finding("home", "ok", seen)], None
    return findings, settings


def _python() -> Finding:
    seen = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.version_info < PYTHON_MIN:
        return Finding("python", "fault", seen, "install Python 3.11 or newer")
    return Finding("python", "ok", seen)


def _packages() -> Finding:
    names = ("hindsight-ray", "ray", "pycasbin", "sqlalchemy", "mcp")
    try:
        return Finding("packages", "ok", ", ".join(f"{n} {metadata.version(n)}" for n in names))
    except metadata.PackageNotFoundError as error:
        step = "run `make install` again"
        return Finding("packages", "fault", f"{error.name} is not installed", step)


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    seen = f"{free // (1024 * 1024):,} MB free"
    if free < FREE_BYTES_MIN:
        return Finding("space", "warning", seen, "make room: a full disk refuses every write")
    return Finding("space", "ok", seen)


def _key(folder: Path) -> Finding:
    path = folder / KEY_FILE
    try:
        load_signer(folder)
    except HindsightError as error:
        return Finding("operator key", "fault", error.message, f"restore {path} from a copy")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        seen = f"{path} is open to others (mode {mode:04o})"
        return Finding("operator key", "fault", seen, f"chmod 600 {path}")
    return Finding("operator key", "ok", f"only its owner may read it (mode {mode:04o})")


def _settings(folder: Path) -> tuple[Finding, Settings | None]:
    try:
        settings = load_settings(folder)
    except HindsightError as error:
        return Finding("settings", "fault", error.message, "correct settings.json"), None
    changed = settings.model_dump(exclude_defaults=True)
    seen = ", ".join(f"{name}={value}" for name, value in changed.items()) or "all by default"
    return Finding("settings", "ok", seen), settings


async def _inside(folder: Path, settings: Settings) -> Sequence[Finding]:
    """What only an open ledger can tell, and a memory store elsewhere before it."""
    store = await _store(settings)
    if any(one.state == "fault" for one in store):
        return store
    try:
        missing = await _missing(folder, settings)
        if missing is not None:
            return [*store, missing]
        with Home.embedded(folder) as home:
            opened = await world_of_home(home.path, settings)
            try:
                return [*store, await _ledger(opened.world), await _embedding(opened.world)]
            finally:
                await opened.close()
    except (Unavailable, Busy, HomeInUse) as error:
        step = "the ledger is not damaged: see to that, and ask again"
        return [*store, Finding("ledger", "fault", error.message, step)]
    except InvalidSettings as error:
        step = "correct that, in settings.json or in the environment"
        return [*store, Finding("ledger", "fault", error.message, step)]
    except HindsightError as error:
        return [*store, Finding("ledger", "fault", error.message, _FROM_BACKUP)]


async def _missing(folder: Path, settings: Settings) -> Finding | None:
    """A ledger that has not been begun, though the home has: it would be begun by a look inside."""
    where = database_of(folder, settings)
    if isinstance(where, Path):
        if where.is_file():
            return None
        seen = f"{where.name} is not there, and the home's keys are"
        return Finding("ledger", "fault", seen, _FROM_BACKUP)
    if await SqlLedger.is_begun(where):
        return None
    seen = f"the database that {where.named} names is empty, and the home's keys are here"
    step = (
        "see that it is this home's; where none was begun, a first `hindsight-ray write` begins it"
    )
    return Finding("ledger", "fault", seen, step)


async def _store(settings: Settings) -> Sequence[Finding]:
    """The memory store, if it is elsewhere. Keywords are the ledger's, whatever a server does."""
    if settings.store == Settings().store:
        return ()
    weaviate = importlib.import_module("hindsight_ray.compose.weaviate")
    try:
        missed, misranked, put = await weaviate.missed(settings, embedder_of(settings).space)
    except HindsightError as error:
        step = 'see to that, or open the home with `store="embedded"`: the ledger has every vector'
        return (Finding("memory store", "fault", error.message, step),)
    seen = (
        f"Weaviate at {settings.weaviate_url} finds what it acknowledged, {put - missed} of {put}"
    )
    if misranked:
        seen += (
            f"; by words {put - misranked} of {put} until it has flushed them, which is nothing to"
            " this memory: its postings are the ledger's (`USE_INVERTED_SEARCHABLE=false` mends it)"
        )
    if missed:
        step = "start the server with `ASYNC_INDEXING=false`"
        return (Finding("memory store", "fault", seen, step),)
    return (Finding("memory store", "ok", seen),)


async def _ledger(world: World) -> Finding:
    async with world.ledger.reading() as unit:
        policy = await unit.policy.current()
        tenants = await unit.policy.tenants()
    has = f"{counted(len(tenants), 'tenant')}, {counted(len(policy.rules), 'rule')}"
    seen = f"{has} at policy revision {policy.revision}"
    if not policy.rules:
        return Finding(
            "ledger",
            "fault",
            seen,
            "an empty policy denies everything, its replacement too: restore a backup",
        )
    return Finding("ledger", "ok", seen)


async def _embedding(world: World) -> Finding:
    space = world.embedder.space
    try:
        await world.embedder.embed(["Is the model there?"], "query")
    except HindsightError as error:
        step = "searches go by words and time until it answers; see `embedding` in settings.json"
        return Finding("embedding", "warning", f"{space.model}: {error.message}", step)
    return Finding("embedding", "ok", f"{space.model}, {space.dimension} numbers a text")
