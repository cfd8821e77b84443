"""The verbs on memories at large: write, search, search-many."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.answer import Found
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask, built, claims_of, text_or_input
from hindsight_ray.entry.cli.options import MEMORIES, Asked, command
from hindsight_ray.entry.once import fresh_unless
from hindsight_ray.errors import InvalidInput

CommandId = Annotated[
    str | None, typer.Option("--command-id", metavar="ID", help="The same id has one effect.")
]


Times = Annotated[str | None, typer.Option(metavar="TIME", help="ISO 8601.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    who = "--tenant acme --user alice"
    command(
        app,
        "write",
        begins=True,
        epilog=f'Example: hindsight-ray write "Dates as YYYY-MM-DD" {who}'
        " --type preference --topic date_format",
        panel=MEMORIES,
    )(write)
    command(
        app,
        "search",
        epilog=f'Example: hindsight-ray search "how are dates written?" {who}',
        panel=MEMORIES,
    )(search)
    command(
        app,
        "search-many",
        epilog=f'Example: hindsight-ray search-many "dates?" "who is on call?" {who}',
        panel=MEMORIES,
    )(search_many)


async def write(
    asked: Asked,
    content: Annotated[str, typer.Argument(help="The statement; `-` reads standard input.")],
    *,
    scope: Annotated[
        str | None, typer.Option(help="`global`, `user:<id>` or `agent:<id>`.", metavar="SCOPE")
    ] = None,
    type_: Annotated[
        str, typer.Option("--type", help="fact, preference, procedure, experience or episode.")
    ] = "fact",
    topic: Annotated[str | None, typer.Option(help="For what has one value at a time.")] = None,
    confidence: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    step: Annotated[list[str] | None, typer.Option(help="Of a procedure, in order.")] = None,
    project: Annotated[str | None, typer.Option()] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Who said it: user, agent or tool; by default the user, if any."),
    ] = None,
    expires: Times = None,
    command_id: CommandId = None,
) -> None:
    """Keep a statement."""
    fields = {
        "content": text_or_input(content), "scope": scope, "type": type_, "topic": topic,
        "confidence": confidence, "importance": importance, "tags": tag or None,
        "labels": label or None, "steps": step or None, "project": project,
        "source": source or _speaker(asked),
        "expires_at": moment("expires", expires), "command_id": fresh_unless(command_id),
    }  # fmt: skip
    receipt: Receipt = await ask(asked, c.Write, fields)
    show.answer(asked.json, receipt, show.receipt(receipt))


def _speaker(asked: Asked) -> str:
    """Whose word it is where nobody says: the user's, who types it, else the agent's own."""
    user = asked.user if asked.ticket is None else claims_of(asked.ticket).get("user")
    return "agent" if user is None else "user"


async def search(
    asked: Asked,
    query: Annotated[str, typer.Argument(help="In plain words; `-` reads standard input.")],
    *,
    k: Annotated[int | None, typer.Option("-k", "--k", help="At most so many hits.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="May be repeated.")] = None,
    layer: Annotated[list[str] | None, typer.Option(help="episodic or semantic.")] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="Others than active and outdated need `review`.")
    ] = None,
    task_type: Annotated[str | None, typer.Option(help="Narrows experiences.")] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Narrows experiences.")] = None,
    since: Times = None,
    until: Times = None,
    render: Annotated[bool, typer.Option("--render", help="As text for a prompt.")] = False,
) -> None:
    """Find memories, as far as who asks may read them."""
    fields = {
        "query": text_or_input(query), "k": k, "scopes": scope or None, "types": type_ or None,
        "layers": layer or None, "statuses": status or None, "task_type": task_type,
        "tools": tool or None, "since": moment("since", since), "until": moment("until", until),
    }  # fmt: skip
    found: Found = await ask(asked, c.Search, fields)
    if render and not asked.json:
        show.print_line(found.render())
    else:
        show.answer(asked.json, found, show.found(found))


async def search_many(
    asked: Asked,
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...", help="In plain words.")],
    *,
    k: Annotated[int | None, typer.Option("-k", "--k", help="At most so many hits each.")] = None,
) -> None:
    """Find memories for several questions at once, at one state of the memory and the policy."""
    searches = tuple(built(c.Search, {"query": query, "k": k}) for query in queries)
    answers: tuple[Found, ...] = await ask(asked, c.SearchMany, {"searches": searches})
    parts = [
        part
        for query, found in zip(queries, answers, strict=True)
        for part in (show.heading(query), show.found(found))
    ]
    show.answer(asked.json, list(answers), show.stacked(*parts))


def moment(name: str, text: str | None) -> datetime | None:
    """A time with its zone; a bare date is that day's start in UTC. Raises `InvalidInput`."""
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"`--{name}` {text!r} is no ISO 8601 time", field=name) from None
    return value.replace(tzinfo=UTC) if len(text) == len("2026-03-01") else value
