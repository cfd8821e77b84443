"""Looking after the policy: is a file sound, why is something allowed, do the scenarios hold."""

import pathlib
from typing import Annotated

import typer

from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain import commands as c
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import ask_as_operator
from hindsight_ray.entry.cli.options import Asked, command, remember_place
from hindsight_ray.errors import InvalidInput, InvalidPolicy

PolicyFile = Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="A policy, csv.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    group = typer.Typer(no_args_is_help=True, help="Who may do what.", callback=remember_place)
    command(
        group, "check", caller=False, epilog="Example: hindsight-ray policy check policies/mine.csv"
    )(check)
    command(
        group,
        "explain",
        epilog="Example: hindsight-ray policy explain read user:bob --tenant acme --agent planner"
        " --user alice",
    )(explain)
    command(group, "test", caller=False, epilog="Example: hindsight-ray policy test")(test)
    command(group, "load", epilog="Example: hindsight-ray policy load mine.csv --tenant acme")(load)
    app.add_typer(group, name="policy")


async def check(asked: Asked, file: PolicyFile) -> None:
    """Read a policy file as strictly as loading it would; nothing is put in force."""
    policy = parse_policy(policy_text(file))
    counts = {
        "file": str(file),
        "valid": True,
        "rules": len(policy.rules),
        "memberships": len(policy.memberships),
    }
    show.answer(asked.json, counts, show.facts(counts, "the policy is sound"))


async def explain(
    asked: Asked,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="read, write, forget, …")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help="A scope or a memory's id.")],
) -> None:
    """Say whether the named agent and user may do this, by which rule, and by way of which role."""
    fields = {"agent": asked.agent, "user": asked.user, "action": action, "object": object_}
    answer: c.WhyAnswer = await ask_as_operator(asked, c.Why, fields)
    show.answer(asked.json, answer, show.why(answer))


async def load(asked: Asked, file: PolicyFile) -> None:
    """Put a policy file in force. A file with a fault changes nothing."""
    revision = await ask_as_operator(asked, c.LoadPolicy, {"text": policy_text(file)})
    show.answer(asked.json, revision, show.plain(f"in force: {revision}"))


def policy_text(file: pathlib.Path) -> str:
    """The file's text. Raises `InvalidInput` if it cannot be read, `InvalidPolicy` if not UTF-8."""
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise InvalidInput(f"`FILE` {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidPolicy(f"`policy` {file} is not UTF-8 at byte {error.start}") from None
