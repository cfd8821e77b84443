"""Tickets, and what a tenant keeps of texts: ticket, privacy, erase."""

from dataclasses import replace
from shlex import quote
from typing import Annotated

import typer

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Ticket, TicketRequest
from hindsight_ray.domain.erasure import Erased
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.receipt import TicketRevoked
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import TOKEN_PARTS, ask, ask_as_operator, built, claims_of
from hindsight_ray.entry.cli.options import ACCESS, Asked, command
from hindsight_ray.errors import InvalidInput, InvalidSettings

_HOURS_DEFAULT = 12.0


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    here = "Example: hindsight-ray --home ./memory"
    command(
        app,
        "ticket",
        begins=True,
        epilog="Example: export HINDSIGHT_TICKET=$(hindsight-ray ticket --tenant acme"
        " --agent planner --user alice)",
        panel=ACCESS,
    )(ticket)
    keep = f"{here} privacy --personal keep --tenant acme"
    command(app, "privacy", begins=True, epilog=keep, panel=ACCESS)(privacy)
    command(app, "erase", epilog=f"{here} erase alice alice --tenant acme", panel=ACCESS)(erase)


async def ticket(
    asked: Asked,
    *,
    hours: Annotated[
        float, typer.Option(help="How long it is good.", min=0.001, max=8_784)
    ] = _HOURS_DEFAULT,
    scope: Annotated[list[str] | None, typer.Option(help="Narrows; may be repeated.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="Narrows; may be repeated.")] = None,
    revoke: Annotated[
        str | None,
        typer.Option(metavar="TICKET", help="End this ticket instead, by its text or id."),
    ] = None,
) -> None:
    """Make a ticket for an agent and/or a user; needs the operator's key, which the home has."""
    if revoke is not None:
        there = replace(asked, begins=False)
        named = {"ticket_id": ticket_id_of(revoke)}
        ended: TicketRevoked = await ask_as_operator(there, c.RevokeTicket, named)
        text = f"the ticket {ended.ticket_id} is refused from now on"
        show.answer(asked.json, ended, show.plain(text))
        return
    if asked.agent is None and asked.user is None:
        raise InvalidSettings("a ticket names somebody: give `--agent`, `--user` or both")
    fields = {
        **asked.ticket_fields(lifetime_s=round(hours * 3600)),
        "scopes": frozenset(scope) if scope else None,
        "actions": frozenset(action) if action else None,
    }
    request = built(TicketRequest, fields)
    issued: Ticket = await ask_as_operator(asked, c.IssueTicket, {"request": request})
    if asked.json:
        show.print_json(issued)
    else:
        show.print_line(issued.token)


def ticket_id_of(said: str) -> str:
    """The id in a ticket's text, or what was said where it is an id already."""
    if said.count(".") + 1 != TOKEN_PARTS:
        return said
    name = claims_of(said).get("jti")
    if name is None:
        raise InvalidInput("`--revoke` is neither a ticket nor the id of one")
    return str(name)


async def erase(
    asked: Asked,
    who: Annotated[str, typer.Argument(metavar="USER", help="Whose texts go.")],
    again: Annotated[str | None, typer.Argument(metavar="USER", help="Said once more.")] = None,
) -> int:
    """Erase a user of a tenant: every text of theirs and what rests on it; prints the proof.

    Named twice, since it is final.
    """
    if again is None:
        twice = f"{quote(who)} {quote(who)}"
        raise InvalidInput(f"`USER` is erased for good: say it again, `erase {twice}`")
    if again != who:
        raise InvalidInput(f"`USER` {who!r} and {again!r} are not the same; nothing was erased")
    proof: Erased = await ask(asked, c.Erase, {"user": who})
    made = show.table("what…", "number…")
    made.add_row("memories erased", str(len(proof.memories)))
    made.add_row("derived memories retracted", str(len(proof.retracted)))
    made.add_row("derived memories restored", str(len(proof.rederived)))
    for kind, number in sorted(proof.rows.items()):
        made.add_row(show.plain(f"{kind} removed"), str(number))
    remains = proof.remains
    made.add_row("texts searched for", str(remains.texts))
    made.add_row("bytes searched", str(remains.bytes_searched))
    made.add_row("found", show.plain(", ".join(remains.found) or "nothing"))
    for held in remains.held_elsewhere:
        made.add_row("also said by others", show.plain(held))
    for stated in remains.stated:
        made.add_row("not searched", show.plain(stated))
    show.answer(asked.json, proof, made)
    return 1 if remains.found else 0


async def privacy(
    asked: Asked,
    *,
    secrets: Annotated[str | None, typer.Option(help="mask, refuse or keep.")] = None,
    personal: Annotated[str | None, typer.Option(help="mask, refuse or keep.")] = None,
) -> None:
    """Say what a tenant keeps of secrets and personal data; without options, what is in force."""
    fields = {"secrets": secrets, "personal": personal}
    asked = replace(asked, begins=asked.begins and (asked.new_tenant or any(fields.values())))
    kept: Privacy = await ask(asked, c.SetPrivacy, fields)
    show.answer(asked.json, kept, show.plain(f"secrets: {kept.secrets}, personal: {kept.personal}"))
