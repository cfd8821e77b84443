"""What a process tells of its calls: one line each, numbers, a span; and nothing that was said."""

import json
import logging
from pathlib import Path

import pytest
from opentelemetry import trace

import hindsight_ray as hr
from hindsight_ray import compose
from hindsight_ray.adapters.watching import LOG, DoorWatch, PlainMeters
from hindsight_ray.errors import AccessDenied, Busy

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
    for word in ("vault", "alice", "mallory", kept.ids[0]):
        assert word not in caplog.text


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


def test_a_call_is_a_span_of_whoever_has_set_tracing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[str, dict[str, object]]] = []

    class _Span(trace.NonRecordingSpan):
        def set_attribute(self, key: str, value: object) -> None:
            spans[-1][1][key] = value

    class _Tracer(trace.NoOpTracer):
        def start_span(self, name: str, *args: object, **kwargs: object) -> trace.Span:
            spans.append((name, {}))
            return _Span(trace.INVALID_SPAN_CONTEXT)

        def start_as_current_span(self, name: str, *args: object, **kwargs: object):  # type: ignore[no-untyped-def]
            return trace.use_span(self.start_span(name))

    monkeypatch.setattr(trace, "get_tracer", lambda _name: _Tracer())
    with DoorWatch(PlainMeters(), "test").request("Search") as seen:
        seen.tenant, seen.revision = "acme", 3
    assert spans == [("hindsight Search", {"hindsight.tenant": "acme", "hindsight.revision": 3})]
