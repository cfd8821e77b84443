"""What is kept and what is let go as a whole: copies of a memory, and tenants."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from hindsight_ray import compose
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.receipt import TenantDropped
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, opened
from hindsight_ray.entry.cli.deployment import Config
from hindsight_ray.entry.cli.options import ACCESS, UPKEEP, Asked, command, remember_place
from hindsight_ray.errors import InvalidSettings
from hindsight_ray.settings import read_config

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the copy is.")]

# Of what a reader knows of, in their words; the rest is how the ledger keeps it.
_WORDS = {
    "tenants": "tenants",
    "runs": "runs",
    "events": "events",
    "outcomes": "outcomes",
    "reviews": "reviews",
    "credits": "credits",
    "memories": "memories",
    "memory_revisions": "revisions of memories",
    "sample_verdicts": "verdicts on samples",
    "recalls": "searches on record",
    "commands": "receipts",
    "policy_lines": "lines of the policy and grants",
    "revoked_tickets": "revoked tickets",
    "audit": "entries of the audit",
}


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    here = "Example: hindsight-ray --home"
    command(app, "backup", caller=False, epilog=f"{here} ./memory backup ./copy", panel=UPKEEP)(
        backup
    )
    command(app, "restore", caller=False, epilog=f"{here} ./new restore ./copy", panel=UPKEEP)(
        restore
    )
    tenant = typer.Typer(
        no_args_is_help=True, help="Which tenants there are.", callback=remember_place
    )
    command(tenant, "list", epilog=f"{here} ./memory tenant list")(tenants)
    app.add_typer(tenant, name="tenant", rich_help_panel=ACCESS)
    command(
        app, "drop-tenant", epilog=f"{here} ./memory drop-tenant acme --tenant acme", panel=ACCESS
    )(drop_tenant)


async def tenants(asked: Asked) -> None:
    """List the tenants of a memory; for the holder of the operator's key."""
    async with opened(asked) as hindsight:
        if asked.ticket is not None:
            names = (await hindsight.as_caller(asked.ticket).ask(c.ListTenants())).names
        else:
            names = await hindsight.tenants()
    picture = show.plain("\n".join(names)) if names else show.nothing("tenants")
    show.answer(asked.json, {"tenants": list(names)}, picture)


async def backup(asked: Asked, folder: Folder) -> None:
    """Copy the whole memory of a home, as of one moment, while others use it."""
    rows = await compose.backup(asked.folder, folder)
    _show(asked, rows, f"copied to {folder}; it holds the keys: keep it as safe as the home")


async def restore(asked: Asked, folder: Folder, *, config: Config = None) -> None:
    """Put a copy back into a new home; `--config` names another ledger or store for it."""
    settings = {} if config is None else read_config(config)
    rows = await compose.restore(folder, asked.folder, **settings)
    _show(asked, rows, f"restored into {asked.folder}")


def _show(asked: Asked, rows: Mapping[str, int], line: str) -> None:
    table = show.table("what", "how many#")
    for name, word in _WORDS.items():
        if rows.get(name):
            table.add_row(word, f"{rows[name]:,}")
    beside = sum(number for name, number in rows.items() if name not in _WORDS)
    table.add_row("rows that belong to these", f"{beside:,}")
    show.answer(asked.json, {"rows": dict(rows)}, show.stacked(table, show.plain(line)))


async def drop_tenant(
    asked: Asked, name: Annotated[str, typer.Argument(metavar="TENANT", help="Said once more.")]
) -> None:
    """Delete a tenant with everything in it; its audit stays. Named twice, since it is final."""
    if asked.tenant is None:
        raise InvalidSettings(
            f"{name!r} is deleted for good: say it again, `--tenant {quote(name)}`", field="tenant"
        )
    if asked.tenant_named() != name:
        raise InvalidSettings(f"`--tenant` and {name!r} are not the same; nothing was deleted")
    dropped: TenantDropped = await ask(asked, c.DropTenant, {"tenant": name})
    told = f"{name}: {counted(dropped.rows, 'row')} removed"
    if dropped.grants_ended:
        told += f", {counted(dropped.grants_ended, 'grant')} ended"
    show.answer(asked.json, dropped, show.plain(told))
