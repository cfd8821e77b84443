"""The leak check finds nothing in a sound home, and finds whatever a faulty one gives away."""

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hindsight_ray import compose
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.entry import cli
from hindsight_ray.entry.cli import leaks, show
from hindsight_ray.entry.leakcheck import Report, check
from hindsight_ray.entry.leakcheck.routes import try_routes
from hindsight_ray.entry.leakcheck.table import ATTEMPTS, SHELL, TOOLS, untried
from hindsight_ray.entry.leakcheck.tools import try_tools
from hindsight_ray.errors import NotFound
from hindsight_ray.service import door, get, history, runs, search
from hindsight_ray.service.world import World

# Shell commands that ask no memory in somebody's name, or only as its operator on its own machine.
NOT_ASKED = {
    "demo", "init", "doctor", "backup", "restore", "drop-tenant", "scale", "up",
    "status", "down", "import", "mcp", "serve", "settings",
    "policy check", "policy test", "policy load", "policy diff", "policy lint", "key list",
    "key rotate", "key retire", "leakcheck",
}  # fmt: skip


@pytest.fixture
async def hindsight(tmp_path: Path) -> AsyncGenerator[Hindsight]:
    async with compose.open(tmp_path / "home", embedding="hashed") as opened:
        yield opened


@pytest.mark.covers("G1.leakcheck", "G1.tenants", "G5.tickets")
async def test_a_sound_home_leaks_nothing_by_any_verb_or_tool(hindsight: Hindsight) -> None:
    report = await check(hindsight)
    await try_tools(hindsight, report)
    assert report.findings == []
    assert report.tight
    assert len(report.strangers) == 14
    assert report.allowed == []
    assert report.answers > 1_000


@pytest.mark.covers("G1.leakcheck", "http.leaks")
async def test_no_route_of_the_http_door_leaks(hindsight: Hindsight) -> None:
    report = Report()
    await try_routes(hindsight, report)
    assert report.findings == []
    assert report.tight
    assert report.answers > 2 * len(door.VERBS)


@pytest.mark.covers("http.leaks")
async def test_a_route_to_a_verb_that_forgets_to_ask_is_found(
    hindsight: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(door.VERBS, c.Get, _careless[c.Get])
    report = Report()
    await try_routes(hindsight, report)
    assert {one.asked for one in report.findings} == {"route get"}


async def test_whom_the_policy_lets_read_is_named_and_not_blamed(hindsight: Hindsight) -> None:
    await hindsight.operator("acme").policy(shipped_text("research.csv"))
    report = await check(hindsight, {"Get", "Search", "ReadRun", "ListRuns"})
    assert report.findings == []
    assert "another agent" in report.allowed
    assert "the same names in another tenant" in report.strangers
    await try_tools(hindsight, report)
    await try_routes(hindsight, report)
    assert report.findings == []
    assert report.allowed.count("another user") == 1


def test_a_report_for_people_groups_what_leaked_and_repeats_no_secret(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report()
    for one in ("heron", "egret"):
        report.note("another user", "route get", one, [f"holds the secret {one!r}"])
        report.note("another user", "Get 2", one, ["differs from the answer"])
    show.answer(as_json=False, document=None, picture=show.stacked(*leaks.found(report)))
    said = capsys.readouterr().out
    told = [one.split() for one in said.splitlines() if one.startswith("another user")]
    assert told[0][2:] == ["route", "get", "holds", "a", "secret", "2"]
    assert told[1][2:] == ["client", "Get", "differs", "from", "the", "answer", "2"]
    assert "heron" not in said
    assert "--json" in said


async def _found(hindsight: Hindsight, kind: type[c.Command]) -> Report:
    report = await check(hindsight, {kind.__name__})
    assert not report.tight
    return report


@pytest.mark.covers("G1.leakcheck")
@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (c.Get, "holds the secret"),
        (c.History, "differs"),
        (c.ReadRun, "holds the secret"),
        (c.ListRuns, "holds the id"),
        (c.Search, "holds the"),
    ],
)
async def test_a_verb_that_forgets_to_ask_is_found(
    hindsight: Hindsight, monkeypatch: pytest.MonkeyPatch, kind: type[c.Command], wrong: str
) -> None:
    monkeypatch.setitem(door.VERBS, kind, _careless[kind])
    report = await _found(hindsight, kind)
    assert {one.asked.split()[0] for one in report.findings} == {kind.__name__}
    assert any(wrong in one.wrong for one in report.findings)


async def _get(world: World, caller: Any, command: c.Get) -> Any:
    async with world.ledger.reading() as unit:
        found = (await unit.memories.current(caller.tenant, [command.memory_id])).get(
            command.memory_id
        )
    return found or await get.get(world, caller, command)


async def _history(world: World, caller: Any, command: c.History) -> Any:
    async with world.ledger.reading() as unit:
        found = await unit.memories.history(caller.tenant, command.memory_id)
    if found:
        raise NotFound("`memory` is not yours")
    return await history.history(world, caller, command)


async def _read_run(world: World, caller: Any, command: c.ReadRun) -> Any:
    async with world.ledger.reading() as unit:
        found = await unit.runs.get(caller.tenant, command.run_id)
    return found or await runs.read(world, caller, command)


async def _list_runs(world: World, caller: Any, command: c.ListRuns) -> Any:
    await runs.listed(world, caller, command)
    async with world.ledger.reading() as unit:
        return [run.run_id for run in await unit.runs.newest(caller.tenant, limit=9)]


async def _search(world: World, caller: Any, command: c.Search) -> Any:
    """As a search that takes its caller for whoever is named in what it asks."""
    found = await search.search(world, caller, command)
    async with world.ledger.reading() as unit:
        audiences = await unit.keys.all(caller.tenant)
    return [
        found,
        sorted(audience[0] for audience in audiences.values()),
        await _all(world, caller),
    ]


async def _all(world: World, caller: Any) -> list[str]:
    async with world.ledger.reading() as unit:
        return [run.goal for run in await unit.runs.newest(caller.tenant, limit=9)]


_careless: dict[type[c.Command], Callable[..., Any]] = {
    c.Get: _get,
    c.History: _history,
    c.ReadRun: _read_run,
    c.ListRuns: _list_runs,
    c.Search: _search,
}


@pytest.mark.covers("G1.leakcheck")
def test_a_verb_that_is_not_in_the_table_fails_the_check() -> None:
    class Unheard(c.Command):
        """A verb that nobody has thought of trying."""

    assert untried([*door.VERBS, Unheard]) == ["Unheard"]
    assert untried(door.VERBS) == []
    assert set(ATTEMPTS) == {kind.__name__ for kind in door.VERBS}


@pytest.mark.covers("G1.leakcheck")
def test_every_shell_command_is_tried_or_asks_no_memory() -> None:
    names = set(_commands(typer.main.get_command(cli.program())))
    assert names == set(SHELL) | NOT_ASKED
    assert set(SHELL).isdisjoint(NOT_ASKED)
    assert len(TOOLS) == 11


def _commands(group: Any, before: tuple[str, ...] = ()) -> list[str]:
    if not hasattr(group, "commands"):
        return [" ".join(before)]
    return [
        name for word, one in group.commands.items() for name in _commands(one, (*before, word))
    ]


@pytest.mark.covers("G1.leakcheck")
def test_the_check_answers_from_a_shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home"
    assert cli.run(["leakcheck", "--home", str(home)]) == 2
    with compose.open_sync(home, embedding="hashed"):
        pass
    capfd.readouterr()
    assert cli.run(["leakcheck", "--home", str(home), "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["tight"]
    assert document["untried"] == []


@pytest.mark.covers("G1.leakcheck")
def test_no_shell_command_tells_another_user_anything(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each is run as a stranger with a ticket, where secrets are and where none are."""
    import asyncio  # noqa: PLC0415

    from hindsight_ray.entry.leakcheck.check import faults  # noqa: PLC0415
    from hindsight_ray.entry.leakcheck.planted import Names, absent, plant, word  # noqa: PLC0415

    home, names = tmp_path / "home", Names()

    async def prepare() -> Any:
        async with compose.open(home, embedding="hashed") as hindsight:
            planted = await plant(hindsight, f"leak-{word()}", names)
            empty = absent(f"leak-{word()}", planted.facts)
            tickets = [
                await hindsight.issue_ticket(tenant=one.tenant, user=names.other_user)
                for one in (planted.facts, empty)
            ]
            return planted, empty, tickets

    planted, empty, tickets = asyncio.run(prepare())
    for line in SHELL.values():
        assert line is not None
        said = []
        for facts, ticket in zip((planted.facts, empty), tickets, strict=True):
            code = cli.run([*line(facts), "--home", str(home), "--ticket", ticket.token, "--json"])
            captured = capfd.readouterr()
            said.append(f"{code} {captured.out} {captured.err}")
        wrong = faults(planted, (said[0], " ".join(line(planted.facts))), (said[1], empty))
        assert wrong == [], (line(planted.facts), said)
