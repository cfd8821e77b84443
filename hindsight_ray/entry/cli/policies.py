"""Looking after the policy: is a file sound, why is something allowed, do the scenarios hold."""

import pathlib
import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from hindsight_ray.adapters.policy.on_demand import CasbinOnDemand
from hindsight_ray.adapters.policy.profiles import PROFILES, shipped_text
from hindsight_ray.adapters.policy.scenarios import profile_beside, read_scenario, scenario_files
from hindsight_ray.core.grants import staying
from hindsight_ray.core.policy_diff import difference
from hindsight_ray.core.policy_lint import lint
from hindsight_ray.core.policy_scenarios import Verdict, policy_of, verdicts
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.receipt import PolicyLoaded, PolicyRead
from hindsight_ray.entry.cli import show, show_access
from hindsight_ray.entry.cli.asking import (
    ask_as_operator,
    built,
    caller_memory,
    opened,
    with_first_tenant,
)
from hindsight_ray.entry.cli.options import ACCESS, Asked, command, remember_place
from hindsight_ray.errors import InvalidInput, InvalidPolicy
from hindsight_ray.service.policy_check import check_policy

_CURRENT = "current"
_WHICH = "A policy, csv, a shipped profile, or `current`."
PolicyFile = Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="A policy, csv.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    group = typer.Typer(no_args_is_help=True, help="Who may do what.", callback=remember_place)
    command(
        group, "check", caller=False, epilog="Example: hindsight-ray policy check policies/mine.csv"
    )(check)
    example = "why read user:bob --tenant acme --agent planner --user alice"
    command(app, "why", epilog=f"Example: hindsight-ray {example}", panel=ACCESS)(why)
    command(group, "explain", epilog=f"The same as: hindsight-ray {example}", hidden=True)(why)
    command(group, "test", caller=False, epilog="Example: hindsight-ray policy test")(run_scenarios)
    command(group, "show", epilog="Example: hindsight-ray policy show > mine.csv")(shown)
    command(group, "load", epilog="Example: hindsight-ray policy load mine.csv --tenant acme")(load)
    command(group, "who", epilog="Example: hindsight-ray policy who user:alice --tenant acme")(who)
    command(
        group, "sees", epilog="Example: hindsight-ray policy sees --tenant acme --agent planner"
    )(sees)
    command(group, "diff", caller=False, epilog="Example: hindsight-ray policy diff current team")(
        diff
    )
    command(group, "lint", caller=False, epilog="Example: hindsight-ray policy lint mine.csv")(
        lint_file
    )
    app.add_typer(group, name="policy", rich_help_panel=ACCESS)


async def check(asked: Asked, file: PolicyFile) -> None:
    """Refuse whatever loading the file would refuse; nothing is put in force."""
    policy = parse_policy(policy_text(file))
    await check_policy(CasbinOnDemand(), policy, datetime.now(UTC))
    counts = {
        "file": str(file),
        "valid": True,
        "rules": len(policy.rules),
        "memberships": len(policy.memberships),
    }
    show.answer(asked.json, counts, show.facts(counts, "the policy is sound"))


async def why(
    asked: Asked,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="read, write, forget, …")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT", help="A scope or a memory's id.")],
) -> None:
    """Say whether the named agent and user may do this, by which rule, and by way of which role."""
    fields = {"agent": asked.agent, "user": asked.user, "action": action, "object": object_}
    answer: c.WhyAnswer = await ask_as_operator(asked, c.Why, fields)
    show.answer(asked.json, answer, show.why(answer))


async def run_scenarios(
    asked: Asked,
    scenarios: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(metavar="[FILE|FOLDER]...", help="YAML; the shipped ones by default."),
    ] = None,
) -> int:
    """Hold scenarios of who may and who may not against the profiles that they name."""
    files = _files(scenarios)
    now = datetime.now(UTC)
    failed: list[dict[str, object]] = []
    total = 0
    for file in files:
        scenario = read_scenario(file)
        policy = policy_of(scenario, profile_beside(file, scenario))
        for one in verdicts(scenario, policy, now):
            total += 1
            if not one.holds:
                failed.append(_failure(file, one))
    document = {"scenarios": len(files), "assertions": total, "failed": failed}
    said = f"{counted(len(files), 'scenario')}, {counted(total, 'assertion')}"
    parts = [show.plain(f"{said}, {len(failed)} not met")]
    if failed:
        parts.append(_failures(failed))
    show.answer(asked.json, document, show.stacked(*parts))
    return 1 if failed else 0


async def who(
    asked: Asked,
    scope: Annotated[str, typer.Argument(metavar="SCOPE", help="global, user:ID or agent:ID.")],
    *,
    action: Annotated[str | None, typer.Option(help="Another action than read.")] = None,
) -> None:
    """List every kind of caller that sees a scope, by which rule and by way of which role."""
    fields = {"scope": scope, "action": action}
    answer: c.SeersAnswer = await ask_as_operator(asked, c.WhoSees, fields)
    show.answer(asked.json, answer, show_access.seers(answer))


async def sees(asked: Asked) -> None:
    """List what the named agent and user may do, and where."""
    fields = {"agent": asked.agent, "user": asked.user}
    answer: c.SeesAnswer = await ask_as_operator(asked, c.Sees, fields)
    show.answer(asked.json, answer, show_access.sees(answer))


async def diff(
    asked: Asked,
    old: Annotated[pathlib.Path, typer.Argument(metavar="OLD", help=_WHICH)],
    new: Annotated[pathlib.Path, typer.Argument(metavar="NEW", help="What would replace it.")],
) -> None:
    """List which callers would gain and lose what, before a policy is put in force.

    `current` is what is in force in the memory that `--home` or `--address` names. As OLD, with
    what people share: a grant that its grantor may give no longer under NEW ends with it.
    """
    now = datetime.now(UTC)
    after = parse_policy(await _text_of(asked, new))
    if _is_name(old, (_CURRENT,)):
        read = await _in_force(asked)
        before = parse_policy(read.text)
        kept = staying(after, read.shared, now)
        before = before.model_copy(update={"rules": (*before.rules, *read.shared)})
        after = after.model_copy(update={"rules": (*after.rules, *kept)})
    else:
        before = parse_policy(policy_text(old))
    found = difference(before, after, now)
    show.answer(asked.json, show_access.difference_document(found), show_access.difference(found))


async def lint_file(
    asked: Asked,
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help=_WHICH)],
) -> int:
    """Find rules that nobody can come under, that others decide already, or that give too much.

    What is found in a shipped profile, by its name, is how it is meant: a note and no fault.
    `current` is what is in force in the memory that `--home` or `--address` names, grants aside.
    """
    found = lint(parse_policy(await _text_of(asked, file)))
    document = [{"line": one.line, "finding": one.finding, "why": one.why} for one in found]
    made = show.table("finding", "line…", "why…")
    for one in found:
        made.add_row(one.finding, show.plain(one.line), show.plain(one.why))
    meant = _is_name(file, PROFILES)
    what = "notes, as it is meant" if meant else "findings"
    show.answer(asked.json, document, show.rows(made, what))
    return 1 if found and not meant else 0


async def shown(asked: Asked) -> None:
    """Print the policy in force, as `policy load` takes it; grants of people stand beside it.

    One policy is for all tenants: `--tenant` only says in whose audit the look is written, by
    default that of the first by name.
    """
    found = await _in_force(asked)
    if asked.json:
        show.print_json(found)
        return
    grants = counted(found.grants, "grant")
    beside = f"{grants} beside it" + (": `--json` lists what people share" if found.shared else "")
    show.note(asked.json, f"in force at policy revision {found.revision}, with {beside}")
    sys.stdout.write(found.text)


async def load(asked: Asked, file: PolicyFile) -> None:
    """Put a policy file, or a shipped profile by its name, in force. A fault changes nothing.

    One policy is for all tenants: `--tenant` only says in whose audit the change is written, by
    default that of the first by name.
    """
    step = built(c.LoadPolicy, {"text": policy_text(file)})
    async with opened(asked) as hindsight:
        asked = await with_first_tenant(asked, hindsight)
        memory = await caller_memory(hindsight, asked)
        loaded: PolicyLoaded = await memory.ask(step)
    show.answer(asked.json, loaded, show.facts(loaded.model_dump(), "in force"))


async def _text_of(asked: Asked, file: pathlib.Path) -> str:
    """The same as `policy_text`, or that of the policy in force."""
    if not _is_name(file, (_CURRENT,)):
        return policy_text(file)
    return (await _in_force(asked)).text


async def _in_force(asked: Asked) -> PolicyRead:
    async with opened(asked) as hindsight:
        memory = await caller_memory(hindsight, await with_first_tenant(asked, hindsight))
        return await memory.policy_in_force()


def _is_name(file: pathlib.Path, names: Collection[str]) -> bool:
    """Whether one of these is meant, and no file that is so called."""
    return str(file) in names and not file.exists()


def policy_text(file: pathlib.Path) -> str:
    """The file's text, or a shipped profile's of that name. Raises `InvalidInput` if it cannot be
    read, `InvalidPolicy` if it is not UTF-8."""
    if _is_name(file, PROFILES):
        return shipped_text(f"{file}.csv")
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise InvalidInput(f"`FILE` {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidPolicy(f"`policy` {file} is not UTF-8 at byte {error.start}") from None


def _files(named: Sequence[pathlib.Path] | None) -> Sequence[pathlib.Path]:
    """The scenario files meant. Raises `InvalidInput` for a folder or name that holds none."""
    if not named:
        return scenario_files()
    files: list[pathlib.Path] = []
    for path in named:
        found = scenario_files(path) if path.is_dir() else (path,)
        if not found or not found[0].is_file():
            raise InvalidInput(f"no scenarios at {path}; name YAML files or a folder of them")
        files += found
    return files


def _failure(file: pathlib.Path, verdict: Verdict) -> dict[str, object]:
    asked, decision = verdict.question, verdict.decision
    return {
        "file": str(file),
        "because": asked.because,
        "caller": asked.caller.principal,
        "action": asked.action,
        "object": asked.object,
        "expected": "allow" if asked.allowed else "deny",
        "decided": decision.effect,
        "reason": decision.reason,
        "rule": decision.rule,
    }


def _failures(failed: Sequence[dict[str, object]]) -> Table:
    made = show.table("file", "caller", "action", "object", "expected", "decided", "because…")
    for one in failed:
        names = ("caller", "action", "object", "expected", "decided", "because")
        file = pathlib.Path(str(one["file"])).name
        made.add_row(file, *(show.plain(str(one[name])) for name in names))
    return made
