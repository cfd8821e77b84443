"""Copies of a whole memory in a folder: made beside whatever uses it, put back into a new one."""

import asyncio
import hashlib
import secrets
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hindsight_ray.adapters.erasure_lists import copied_lists
from hindsight_ray.adapters.home import Home
from hindsight_ray.adapters.ledger.sql.copying import MANIFEST
from hindsight_ray.adapters.policy.audit_key import AUDIT_KEYS
from hindsight_ray.adapters.policy.tickets import OPERATOR_KEYS
from hindsight_ray.adapters.putting_back import Draft, not_empty
from hindsight_ray.compose.embedded import ledger_of, settings_of, world_of_home
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import (
    HomeInvalid,
    InvalidImport,
    InvalidSettings,
    StorageFailed,
    Unavailable,
)
from hindsight_ray.settings import keep_settings, load_settings

_LEDGER = "ledger"
_HOME = "home"


async def backup(home: Path, folder: Path) -> Mapping[str, int]:
    """Copy the memory of `home` into `folder`, which must not be there; rows of each kind.

    One snapshot of the ledger, which holds the vectors too, and the home's keys and settings: keep
    it as safe as the home. Reads only, so that a deployment or processes may go on meanwhile. What
    was erased is listed outside of homes, and erased again when a copy is put back.
    """
    with _written_to(folder):
        return await _copied(home, folder, await asyncio.to_thread(_draft, home, folder))


async def _copied(home: Path, folder: Path, draft: Path) -> Mapping[str, int]:
    """Fill the draft and let it take its name; nothing is left of one that fails."""
    try:
        ledger = await ledger_of(home, settings_of(home, {}))
        try:
            rows = await ledger.copy_out(draft / _LEDGER)
        finally:
            await ledger.close()
        await asyncio.to_thread(_copy_keys, home, draft / _HOME)
        await asyncio.to_thread(copied_lists, home, draft / _HOME, beside=home)
        keep_settings(draft / _HOME, load_settings(home))
        await asyncio.to_thread(_named, draft, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
    return rows


async def restore(folder: Path, home: Path, given: Mapping[str, object]) -> Mapping[str, int]:
    """Put a copy back into `home`, which must not be there, on the ledger and store of `given`.

    The same ledger need not be of the same kind. The memory store, where it is apart, is told of
    every memory before this returns. Raises `InvalidImport`, `HomeInvalid`, `HomeInUse`.

    A copy that cannot be put back leaves nothing behind: it becomes a home only once it is whole.
    What fails after that, as a store that is away, leaves a home that goes on when it is opened.
    Whoever is killed in the middle leaves what cannot be opened; asking again goes on from there.
    """
    copy = await asyncio.to_thread(_digest_of, folder)
    draft = await asyncio.to_thread(Draft.begin, home)
    try:
        with _written_to(home):
            if draft.whole() is None:
                await asyncio.to_thread(draft.clear)
                await _fill(draft, folder, copy, load_settings(folder / _HOME, given))
            whole = await asyncio.to_thread(draft.become_home)
    finally:
        await asyncio.to_thread(draft.leave)
    if whole.copy != copy:
        raise not_empty(home, "an earlier `restore` into it has been brought to its end")
    held = Home.embedded(home)
    try:
        opened = await world_of_home(home, load_settings(home))
        await opened.close()  # tells the store what it has to be told, and erases again
    except Unavailable as error:
        raise Unavailable(
            f"the copy is put back, and the home goes on once it is opened: {error.message}",
            **error.details,
        ) from error
    finally:
        held.release()
    return whole.rows


async def _fill(draft: Draft, folder: Path, copy: str, settings: Settings) -> None:
    """Put everything but the store's part into the draft, and say that nothing is missing."""
    path = draft.path
    await asyncio.to_thread(_copy_keys, folder / _HOME, path)
    await asyncio.to_thread(copied_lists, folder / _HOME, path, beside=folder)
    keep_settings(path, settings)
    ledger = await ledger_of(path, settings)
    try:
        rows = await ledger.copy_in(folder / _LEDGER, f"{draft.name} of {copy}")
        await asyncio.to_thread(draft.finish, copy, rows)
        await ledger.forget_once()
    finally:
        await ledger.close()


def _draft(home: Path, folder: Path) -> Path:
    """The folder to copy into, which takes its name once it is whole."""
    if not (home / OPERATOR_KEYS.private).is_file():
        raise HomeInvalid(f"`home` {str(home)!r} is not there; name the home of a memory")
    if folder.exists():
        raise _there_already(folder)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")  # others may copy there, too
    (draft / _HOME).mkdir(parents=True)
    (draft / _LEDGER).mkdir()
    draft.chmod(0o700)  # keys and texts are in it
    return draft


def _named(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError as error:
        if folder.exists():  # somebody else's copy was whole first
            raise _there_already(folder) from None
        raise StorageFailed(
            f"`folder` {str(folder)!r} cannot be made: {error.strerror}", path=str(folder)
        ) from error


@contextmanager
def _written_to(place: Path) -> Generator[None]:
    """What the system refuses to write there is `StorageFailed`."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"{str(place)!r} cannot be written: {error.strerror}; see to its disk, and ask again",
            path=str(place),
        ) from error


def _there_already(folder: Path) -> InvalidSettings:
    return InvalidSettings(f"`folder` {str(folder)!r} is there already; name a new one")


def _digest_of(folder: Path) -> str:
    """What tells this copy from others. Raises `InvalidImport` where there is none."""
    if not (folder / _LEDGER).is_dir() or not (folder / _HOME).is_dir():
        raise InvalidImport(f"`folder` {str(folder)!r} is no copy of a memory", path=str(folder))
    manifest = folder / _LEDGER / MANIFEST
    return hashlib.sha256(manifest.read_bytes() if manifest.is_file() else b"").hexdigest()


def _copy_keys(source: Path, target: Path) -> None:
    for pair in (OPERATOR_KEYS, AUDIT_KEYS):
        for name in (pair.private, pair.public):
            if (source / name).is_file():
                shutil.copy2(source / name, target / name)
