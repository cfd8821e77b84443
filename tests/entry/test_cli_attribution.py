"""What `attribute` writes: a page, an image, a document; and what it leaves out."""

import asyncio
import json
import pathlib
import shutil
import struct
import subprocess

import pytest

import hindsight_ray as hr
from tests.entry.conftest import Cli
from tests.kitchens import SPOILT, Kitchen, cooked

_SECRET = "The pager of the night shift is 5512"
_PLANNER = ("--tenant", "acme", "--agent", "planner", "--user", "alice")


async def _a_run(home: pathlib.Path) -> tuple[str, str]:
    """A run that all agents of alice may read; what one of them used in it is its own alone."""
    async with hr.open(home, embedding="hashed") as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        memory = hindsight.as_caller(ticket)
        receipt = await memory.write(_SECRET, scope="agent:planner")
        async with memory.run(goal="Restore checkout", seed=7) as run:
            found = await memory.search("the pager of the night shift", run=run)
            choice = run.decide("Roll back release 41", used=found.ids)
            call = run.tool("deploy.rollback", arguments={"release": 41}, causes=[choice])
            run.decide("Tell the customers", causes=[call])
            run.outcome(1.0, evaluator="monitor")
        return str(run.id), str(receipt.ids[0])


@pytest.mark.covers("report.page", "report.prov", "report.image")
def test_a_run_leaves_as_page_image_and_document(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    run, memory = asyncio.run(_a_run(home))
    files = {kind: tmp_path / f"credit.{kind}" for kind in ("html", "png", "prov")}
    wanted = [part for kind, file in files.items() for part in (f"--{kind}", str(file))]
    said = cli("attribute", run, *_PLANNER, "--steps", *wanted)
    assert said.code == 0, said.err
    assert "Roll back release 41" in said.out
    assert "#2" in said.out
    page = files["html"].read_text(encoding="utf-8")
    assert _SECRET in page
    assert "</html>" in page
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    document = json.loads(files["prov"].read_text(encoding="utf-8"))
    assert any(one.get("hr:memory") == memory for one in document["entity"].values())


@pytest.mark.covers("G1.reports")
def test_a_memory_that_the_reader_may_not_read_is_in_no_file_and_on_no_screen(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    run, memory = asyncio.run(_a_run(home))
    page, document = tmp_path / "credit.html", tmp_path / "credit.json"
    asked = ("attribute", run, "--tenant", "acme", "--agent", "other", "--user", "alice")
    said = cli(*asked, "--html", str(page), "--prov", str(document))
    assert said.code == 0, said.err
    shown = said.out + said.err + page.read_text(encoding="utf-8")
    shown += document.read_text(encoding="utf-8") + cli(*asked, "--json").out
    assert "Roll back release 41" in shown
    assert memory not in shown
    assert _SECRET not in shown
    assert "hr:memory" not in shown


async def _replayed(home: pathlib.Path) -> str:
    """A run that a memory spoilt, replayed from Python so that its credit is kept."""
    async with hr.open(home, embedding="hashed") as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="cook", user="alice")
        cook, operator = hindsight.as_caller(ticket), hindsight.operator("acme")
        await cook.write(f"season the stew: {SPOILT}", scope="user:alice", type="preference")
        run_id, _ = await cooked(cook)
        await operator.outcome(run_id, -1.0)
        given = Kitchen((await operator.trajectory(run_id)).events)
        await operator.attribute(run_id, method="shapley", environment=given)
        return run_id


def test_credit_that_was_found_by_replay_is_shown_and_written(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    run, page = asyncio.run(_replayed(home)), tmp_path / "credit.html"
    plain = cli("attribute", run, "--tenant", "acme")
    assert "also kept: shapley by agent:operator" in plain.out
    said = cli("attribute", run, "--tenant", "acme", "--method", "shapley", "--html", str(page))
    assert said.code == 0, said.err
    assert "-2.00" in said.out
    assert "harmful" in said.out
    text = page.read_text(encoding="utf-8")
    assert "shapley of memories" in text
    assert f"season the stew: {SPOILT} (harmful)" in text


def test_a_method_by_which_nothing_is_kept_is_refused_with_what_there_is(
    cli: Cli, home: pathlib.Path
) -> None:
    run, _ = asyncio.run(_a_run(home))
    said = cli("attribute", run, *_PLANNER, "--method", "shapley")
    assert said.code == 2
    assert "no credit by it is kept" in said.err
    assert "(kept: none)" in said.err


def test_a_file_that_cannot_be_written_is_named(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    run, _ = asyncio.run(_a_run(home))
    there = tmp_path / "none" / "credit.html"
    said = cli("attribute", run, *_PLANNER, "--html", str(there))
    assert said.code == 2
    assert str(there) in said.err


def test_the_page_is_shown_by_a_browser(
    cli: Cli, home: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed to look at the page with")
    run, _ = asyncio.run(_a_run(home))
    page, shot = tmp_path / "credit.html", tmp_path / "shot.png"
    said = cli("attribute", run, *_PLANNER, "--html", str(page))
    assert said.code == 0, said.err
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    subprocess.run(
        [browser, *flags, "--window-size=1280,900", f"--user-data-dir={tmp_path / 'profile'}",
         f"--screenshot={shot}", page.as_uri()],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    data = shot.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1280, 900)
    dumped = subprocess.run(
        [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert b"<circle" in dumped.stdout
