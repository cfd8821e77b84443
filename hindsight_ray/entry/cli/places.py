"""Is what was named there? A mistyped home or tenant is refused, not begun and found empty.

Reading begins nothing. What keeps something begins a home that is not there, and its first tenant;
another tenant only with `--new-tenant`.
"""

import pathlib
from collections.abc import Sequence

from hindsight_ray.adapters.home import (
    LEDGER_FILE,
    MODE_FILE,
    SETTINGS_FILE,
    check_whole,
    deployment_address,
)
from hindsight_ray.adapters.policy.tickets import KEY_FILE
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.entry.cli.options import Asked
from hindsight_ray.entry.cli.show import note
from hindsight_ray.errors import HomeInvalid, NotFound
from hindsight_ray.service.strangers import DEPLOYMENT

_NAMED_MAX = 20  # homes or tenants that an error lists
_LOOKED_AT_MAX = 1_000  # entries of a folder


def is_home(folder: pathlib.Path) -> bool:
    """Whether a memory has been begun in the folder."""
    return any((folder / name).is_file() for name in (LEDGER_FILE, KEY_FILE, SETTINGS_FILE))


def begins_home(asked: Asked) -> bool:
    """Whether a memory begins here with this command; a ticket is of one that is there."""
    here = asked.address is None and asked.ticket is None
    return asked.begins and here and not is_home(asked.folder)


def check_home(asked: Asked) -> None:
    """Raise `HomeInvalid` where there is no memory and the command would not begin one."""
    folder = asked.folder
    check_whole(folder)
    if is_home(folder) or (folder.exists() and not folder.is_dir()):
        return
    if begins_home(asked):
        note(asked.json, f"a new memory begins in {folder}")
        return
    near = _homes_near(folder)
    there = f"there is one in {_list(near)}" if near else "`init` or a first `write` begins one"
    raise HomeInvalid(f"no memory is in `--home` {folder}; {there}", home=str(folder))


def deployment_of(asked: Asked) -> str | None:
    """Where a deployment that holds the home is, if one does and has said where."""
    folder = asked.folder
    if asked.address is not None or not (folder / MODE_FILE).is_file():
        return asked.address
    return deployment_address(folder)


def begun(tenants: Sequence[str]) -> Sequence[str]:
    """Those of somebody: where a deployment keeps its own audit, nobody has begun anything."""
    return [one for one in tenants if one != DEPLOYMENT]


async def check_tenant(hindsight: Hindsight, asked: Asked) -> None:
    """Raise `NotFound` for a tenant that is not there and that the command may not begin."""
    if await begins_tenant(hindsight, asked):
        note(asked.json, f"the tenant {asked.tenant} begins")


async def begins_tenant(hindsight: Hindsight, asked: Asked) -> bool:
    """Whether the tenant begins with this command. Raises `NotFound` as `check_tenant` does."""
    name = asked.tenant_named()
    tenants = await hindsight.tenants()
    if name in tenants:
        return False
    tenants = begun(tenants)
    if asked.begins and (asked.new_tenant or not tenants):
        return True
    if not tenants:
        there = "there is none yet; a first `write` or `ticket` begins one"
    else:
        there = f"there {'is' if len(tenants) == 1 else 'are'} {_list(tenants)}"
        there += "; `--new-tenant` begins another" if asked.begins else ""
    raise NotFound(f"no tenant is called {name!r}; {there}", kind="tenant", id=name)


def _homes_near(folder: pathlib.Path) -> list[str]:
    """Homes beside the one that was named, and below the current folder."""
    found: dict[str, None] = {}
    for place in (folder.absolute().parent, pathlib.Path.cwd()):
        try:
            entries = [
                entry for _, entry in zip(range(_LOOKED_AT_MAX), place.iterdir(), strict=False)
            ]
        except OSError:
            continue
        found.update(dict.fromkeys(str(one) for one in sorted(entries) if is_home(one)))
    return list(found)


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:_NAMED_MAX])
    more = len(names) - _NAMED_MAX
    return f"{listed} and {more} more" if more > 0 else listed
