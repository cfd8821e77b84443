"""What a process tells of its calls: one line each, numbers, a span; and nothing that was said."""

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import hindsight_ray as hr
from hindsight_ray import compose
from hindsight_ray.adapters.watching import LOG, DoorWatch, Labels, PlainMeters, set_up_tracing
from hindsight_ray.errors import AccessDenied, Busy, InvalidSettings
from hindsight_ray.ports.watching import DOINGS, IN_HAND, Seen, Timed, spent_on

_SECRET = "the vault opens at nine"


@pytest.mark.covers("health.line")
async def test_each_call_is_one_line_of_json_without_a_word_of_what_was_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOG.name)
    async with hr.open(tmp_path, embedding="hashed") as hindsight:
        alice = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        mallory = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="mallory"))
        kept = await alice.write(_SECRET, scope="user:alice")
        caplog.clear()
        await alice.search("when does the vault open")
        with pytest.raises(hr.HindsightError):
            await mallory.get(kept.ids[0])
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert [line["verb"] for line in lines] == ["Search", "Get"]
    assert [line["ended"] for line in lines] == ["ok", "NotFound"]
    assert {line["tenant"] for line in lines} == {"acme"}
    assert lines[0]["revision"] >= 1
    assert all(line["ms"] >= 0 and len(line["request"]) == 16 for line in lines)
    assert len({line["request"] for line in lines}) == 2
    parts = [[line[f"{doing}_ms"] for doing in DOINGS] for line in lines]
    assert all(part > 0 for part in parts[0]), "a search decides, embeds, asks the store, reads"
    assert parts[1][1:3] == [0, 0], "to get by id embeds nothing and asks no store"
    for line, told in zip(lines, parts, strict=True):
        assert sum(told) <= line["ms"] + 0.01, "no moment is counted twice"
    for word in ("vault", "alice", "mallory", kept.ids[0]):
        assert word not in caplog.text


@pytest.mark.covers("health.line")
def test_what_a_part_of_a_call_does_within_another_is_the_outer_ones() -> None:
    ticks = iter(range(100))
    seen = Seen("Search")
    token = IN_HAND.set(Timed(seen, lambda: float(next(ticks))))
    with spent_on("admitting"), spent_on("ledger"):  # 0 to 1: the inner one looks at no clock
        pass
    with pytest.raises(Busy), spent_on("ledger"):  # 2 to 3
        raise Busy("later")
    with spent_on("ledger"):  # 4 to 5
        pass
    IN_HAND.reset(token)
    with spent_on("store"):
        pass
    assert seen.spent_s == {"admitting": 1.0, "ledger": 2.0}


@pytest.mark.covers("health.line")
async def test_what_parts_do_beside_each_other_is_counted_once() -> None:
    ticks = iter(range(100))
    seen = Seen("Search")
    token = IN_HAND.set(Timed(seen, lambda: float(next(ticks))))
    begun, over = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        with spent_on("ledger"):  # from 0 to 1
            begun.set()
            await over.wait()

    async def ask() -> None:
        await begun.wait()
        with spent_on("store"):  # beside it at first: from 1, when that ends, to 2
            over.set()
            await reading
        with spent_on("ledger"):  # from 3 to 4
            pass

    reading = asyncio.create_task(read())
    await ask()
    IN_HAND.reset(token)
    assert seen.spent_s == {"ledger": 2.0, "store": 1.0}


@pytest.mark.covers("health.numbers")
def test_calls_refusals_times_and_what_is_in_hand_are_counted() -> None:
    meters = PlainMeters()
    watch = DoorWatch(meters, "test")
    with watch.request("Search") as seen:
        seen.degraded = ("vector",)
        assert "hindsight_calls_in_hand 1" in meters.text()
    for error in (AccessDenied("no"), Busy("later")):
        with pytest.raises(type(error)), watch.request("Get"):
            raise error
    text = meters.text()
    for line in (
        'hindsight_calls_total{ended="ok",verb="Search"} 1',
        'hindsight_calls_total{ended="Busy",verb="Get"} 1',
        'hindsight_refusals_total{verb="Get"} 1',
        'hindsight_degraded_answers_total{without="vector"} 1',
        'hindsight_call_seconds_count{verb="Get"} 2',
        'hindsight_call_seconds_bucket{verb="Get",le="+Inf"} 2',
        "hindsight_calls_in_hand 0",
    ):
        assert line in text.splitlines()


@pytest.mark.covers("health.numbers")
async def test_a_process_tells_its_numbers_as_text(tmp_path: Path) -> None:
    async with hr.open(tmp_path, embedding="hashed") as hindsight:
        await hindsight.issue_ticket(tenant="acme", user="alice")
    assert 'hindsight_calls_total{ended="ok",verb="IssueTicket"}' in compose.metrics()


@pytest.mark.covers("health.policy", "health.waiting")
async def test_a_process_tells_the_policy_it_read_last_and_what_waits(tmp_path: Path) -> None:
    async with hr.open(tmp_path, embedding="hashed") as hindsight:
        owner = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", agent="owner"))
        await owner.write("The key is under the mat", scope="agent:owner")
    meters = PlainMeters()
    watch = DoorWatch(meters, "test")
    depths = {"writers": 0, "jobs": 2}
    watch.look_at(lambda: depths)
    with watch.request("Search"):
        """A call that ended before any policy was read."""
    assert "hindsight_policy_revision" not in meters.text()
    with watch.request("Search") as seen:
        seen.decided_at = 7
    lines = meters.text().splitlines()
    assert {"hindsight_policy_revision 7", 'hindsight_waiting{queue="jobs"} 2'} <= set(lines)
    (read_at,) = [line for line in lines if line.startswith("hindsight_policy_read_at_seconds ")]
    assert float(read_at.split()[1]) > 1_600_000_000
    told = compose.metrics().splitlines()
    assert [line for line in told if line.startswith("hindsight_policy_revision ")]
    for queue in ("writers", "recalls", "intents", "jobs"):
        assert [line for line in told if line.startswith(f'hindsight_waiting{{queue="{queue}"}} ')]


@pytest.mark.covers("health.waiting")
async def test_what_has_not_changed_is_told_again_to_exporters_that_forget() -> None:
    told: list[tuple[str, float]] = []
    again = asyncio.Event()

    class Forgetful(PlainMeters):
        def now(self, name: str, value: float, labels: Labels = {}) -> None:  # noqa: B006
            told.append((name + labels.get("queue", ""), value))
            if told.count(("hindsight_waitingjobs", 2)) == 2:
                again.set()

    watch = DoorWatch(Forgetful(), "test")
    watch.look_at(lambda: {"jobs": 2})
    with watch.request("Search") as seen:
        seen.decided_at = 7
    told.clear()
    watch.keep_telling()
    await asyncio.wait_for(again.wait(), 30)
    assert told[:3] == [
        ("hindsight_calls_in_hand", 0),
        ("hindsight_waitingjobs", 2),
        ("hindsight_policy_revision", 7),
    ]


def test_a_hook_that_is_no_function_is_refused_by_name() -> None:
    for hook in ("nothing", "no.such.module:f", "json:no_such", ":", "json:"):
        with pytest.raises(InvalidSettings, match="tracing_setup"):
            set_up_tracing(hook)


@pytest.mark.covers("health.spans")
def test_each_call_is_a_span_of_what_the_process_was_told_to_set_up(tmp_path: Path) -> None:
    """In a process of its own: a tracer provider is set once in each."""
    pytest.importorskip("opentelemetry.sdk", reason="`opentelemetry-sdk` comes with `ray[default]`")
    done = subprocess.run(
        [sys.executable, "-c", _TRACED, str(tmp_path)],
        capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    spans = json.loads(done.stdout.splitlines()[-1])
    assert [(name, status) for name, _, status in spans] == [
        ("hindsight IssueTicket", "UNSET"), ("hindsight Write", "UNSET"),
        ("hindsight Search", "UNSET"), ("hindsight Get", "ERROR"),
    ]  # fmt: skip
    assert {told["hindsight.tenant"] for _, told, _ in spans} == {"acme"}
    assert spans[2][1]["hindsight.revision"] >= 1
    assert "vault" not in done.stdout


_TRACED = """
import asyncio, json, sys
import hindsight_ray as hr
from hindsight_ray.errors import NotFound
from tests.tracing import SPANS

async def main():
    async with hr.open(
        sys.argv[1], embedding="hashed", tracing_setup="tests.tracing:in_memory"
    ) as hindsight:
        alice = hindsight.as_caller(await hindsight.issue_ticket(tenant="acme", user="alice"))
        await alice.write("the vault opens at nine", scope="user:alice")
        await alice.search("vault")
        try:
            await alice.get("00000000-0000-4000-8000-000000000000")
        except NotFound:
            pass
    found = SPANS.get_finished_spans()
    told = [(one.name, dict(one.attributes), one.status.status_code.name) for one in found]
    print(json.dumps(told))

asyncio.run(main())
"""
