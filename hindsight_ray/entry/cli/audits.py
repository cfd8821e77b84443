"""The audit and the keys: read it, verify it, keep its seal elsewhere; rotate and retire keys."""

import pathlib
import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError

from hindsight_ray import compose
from hindsight_ray.adapters.policy.tickets import OPERATOR_KEYS
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.audit import AuditReport, Seal
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.entry.cli import people, show, show_access
from hindsight_ray.entry.cli.asking import ask_audit
from hindsight_ray.entry.cli.memories import Times, moment
from hindsight_ray.entry.cli.options import ACCESS, Asked, command, remember_place
from hindsight_ray.errors import InvalidInput


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    audit = typer.Typer(
        no_args_is_help=True, help="Who did or was refused what.", callback=remember_place
    )
    command(audit, "list", epilog="Example: hindsight-ray audit list --tenant acme")(listed)
    command(
        audit, "verify", epilog="Example: hindsight-ray audit verify --tenant acme --seal kept.json"
    )(verify)
    command(audit, "seal", epilog="Example: hindsight-ray audit seal --tenant acme > kept.json")(
        seal
    )
    people.add_to_audit(audit)
    app.add_typer(audit, name="audit", rich_help_panel=ACCESS)
    key = typer.Typer(
        no_args_is_help=True, help="The keys that sign tickets.", callback=remember_place
    )
    command(key, "list", caller=False, epilog="Example: hindsight-ray key list")(keys)
    command(key, "rotate", caller=False, epilog="Example: hindsight-ray key rotate")(rotate)
    command(key, "retire", caller=False, epilog="Example: hindsight-ray key retire KID")(retire)
    app.add_typer(key, name="key", rich_help_panel=ACCESS)


async def listed(
    asked: Asked,
    *,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
    skip: Annotated[int, typer.Option(help="Those before so many of the newest.")] = 0,
    effect: Annotated[str | None, typer.Option(help="Only allow, or only deny.")] = None,
    principal: Annotated[
        str | None, typer.Option(metavar="WHO", help="Only of `user:<id>` or `agent:<id>`.")
    ] = None,
    since: Times = None,
) -> None:
    """List the newest entries of the tenant's audit, newest first: metadata, never text.

    Of a tenant that was dropped too, as the operator.
    """
    fields = {
        "limit": limit, "skip": skip, "effect": effect, "principal": principal,
        "since": moment("since", since),
    }  # fmt: skip
    entries: Sequence[AuditEntry] = await ask_audit(asked, c.ReadAudit, fields)
    made = show.table(
        "writer", "entry#", "at", "principal", "verb", "object", "effect", "revision#", "rule…"
    )
    for one in entries:
        at = one.at.isoformat(timespec="seconds")
        row = (
            one.writer,
            str(one.place),
            at,
            one.principal,
            one.verb,
            one.object,
            one.effect,
            str(one.revision),
            one.rule,
        )
        made.add_row(*map(show.plain, row))
    document = [
        {
            "at": one.at, "principal": one.principal, "verb": one.verb, "object": one.object,
            "effect": one.effect, "rule": one.rule, "revision": one.revision,
            "writer": one.writer, "entry": one.place,
        }
        for one in entries
    ]  # fmt: skip
    show.answer(asked.json, document, show.rows(made, "entries"))


async def verify(
    asked: Asked,
    *,
    seal: Annotated[
        list[pathlib.Path] | None,
        typer.Option("--seal", metavar="FILE", help="A seal kept elsewhere; may be repeated."),
    ] = None,
) -> int:
    """Follow every chain of the tenant's audit; name the first entry that is off, if one is."""
    fields = {"seals": tuple(map(_seal, seal or ()))}
    report: AuditReport = await ask_audit(asked, c.VerifyAudit, fields)
    document = {"sound": report.sound, **report.model_dump(mode="json")}
    show.answer(asked.json, document, show_access.audit_report(report))
    return 0 if report.sound else 1


async def seal(asked: Asked) -> None:
    """Print where the tenant's audit stands, signed; keep it where nobody can change it."""
    show.print_json(await ask_audit(asked, c.ReadSeal, {}))


def _seal(file: pathlib.Path) -> Seal:
    try:
        return Seal.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError):
        raise InvalidInput(f"`--seal` {file} is no seal of an audit", field="seal") from None


async def keys(asked: Asked) -> None:
    """List the keys whose tickets are good here; the first signs new ones."""
    current = OPERATOR_KEYS.current(asked.folder)
    others = sorted(set(OPERATOR_KEYS.known(asked.folder)) - {current})
    document = {"signing": current, "good_too": others}
    made = show.table("kid", "use")
    for kid in (current, *others):
        made.add_row(kid, "signs" if kid == current else "its tickets are good")
    show.answer(asked.json, document, made)


async def rotate(asked: Asked) -> None:
    """Sign with a new key from now on. Tickets of the old one stay good until it is retired."""
    before, kid = await compose.rotate_key(asked.folder)
    retiring = f"hindsight-ray --home {shlex.quote(str(asked.folder))} key retire {before}"
    text = f"{kid} signs from now on; `{retiring}` ends the tickets before"
    show.answer(asked.json, {"signing": kid, "before": before}, show.plain(text))


async def retire(asked: Asked, kid: Annotated[str, typer.Argument(metavar="KID")]) -> None:
    """Refuse every ticket that an old key has signed, in every process, from now on."""
    await compose.retire_key(asked.folder, kid)
    show.answer(asked.json, {"retired": kid}, show.plain(f"tickets of {kid} are refused from now"))
