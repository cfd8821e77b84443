"""The HTTP routes, asked by somebody else: the application itself, with no network between."""

from collections.abc import MutableMapping
from typing import Any

from starlette.applications import Starlette

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.entry.bearer import call_of
from hindsight_ray.entry.http.app import http_app
from hindsight_ray.entry.http.verbs import COMMANDS
from hindsight_ray.entry.leakcheck.check import Report, asker, faults
from hindsight_ray.entry.leakcheck.planted import Names, absent, plant
from hindsight_ray.entry.leakcheck.table import ATTEMPTS
from hindsight_ray.entry.rate import Rates

_RATES = Rates(1_000_000.0, 1_000_000.0)


async def try_routes(hindsight: Hindsight, report: Report) -> None:
    """Add to the report what the routes tell somebody else of secrets planted anew."""
    names = Names()
    planted = await plant(hindsight, report.tenant(), names)
    empty = absent(report.tenant(), planted.facts)
    app = http_app(call_of(hindsight), _RATES)
    stranger = await asker(hindsight, report, planted, empty)
    for word, kind in COMMANDS.items():
        attempts = ATTEMPTS.get(kind.__name__)
        if attempts is None:
            report.untried.append(f"route {word}")
            continue
        here, there = [await stranger.ticket(hindsight, one) for one in stranger.tenants]
        asked_here = attempts(planted.facts, stranger.records_as)
        asked_there = attempts(empty, stranger.records_as)
        for mine, theirs in zip(asked_here, asked_there, strict=True):
            said = await _answer(app, word, here.token, mine)
            expected = await _answer(app, word, there.token, theirs)
            wrong = faults(planted, (said, mine.model_dump_json()), (expected, empty))
            report.note(stranger.kind, f"route {word}", said, wrong)


async def _answer(app: Starlette, word: str, token: str, command: c.Command) -> str:
    """Status and body of one request, as text."""
    body = command.model_dump_json().encode("utf-8")
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": f"/v1/{word}", "raw_path": f"/v1/{word}".encode(), "query_string": b"",
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"content-type", b"application/json"),
            (b"authorization", f"Bearer {token}".encode("ascii")),
        ],
    }  # fmt: skip
    said: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    await app(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in said).decode("utf-8")
    return f"{said[0]['status']} {text}"
