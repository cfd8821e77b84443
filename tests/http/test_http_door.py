"""The HTTP door over a real home and a real socket: one path for each verb, a ticket each time."""

import asyncio
import json
import pathlib
import re
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import uvicorn

from hindsight_ray import compose, errors
from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.entry import bearer, mcp_server
from hindsight_ray.entry.bearer import call_of
from hindsight_ray.entry.http.answers import refused
from hindsight_ray.entry.http.app import http_app
from hindsight_ray.entry.http.verbs import COMMANDS
from hindsight_ray.entry.listening import REQUEST_BYTES_MAX, http_server, listening
from hindsight_ray.entry.rate import Rates
from hindsight_ray.service.door import VERBS


@dataclass(frozen=True, slots=True)
class Served:
    """A memory with its HTTP door open."""

    hindsight: Hindsight
    url: str

    async def token(self, *, agent: str | None = None, user: str | None = None) -> str:
        return (await self.hindsight.issue_ticket(tenant="acme", agent=agent, user=user)).token

    async def post(
        self, token: str | None, verb: str, body: object = None, **headers: str
    ) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        given = {"Content-Type": "application/json"}
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx2.AsyncClient() as http:
            return await http.post(f"{self.url}/v1/{verb}", content=content, headers=given)

    async def get(self, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient() as http:
            return await http.get(f"{self.url}{path}")


@asynccontextmanager
async def _serving(server: uvicorn.Server) -> AsyncGenerator[int]:
    """The port that it serves on, for as long as this lasts."""
    async with listening(0) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


async def _said_to(port: int, sent: bytes) -> bytes:
    """All that is answered until the other side hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await _to_the_end(reader)
    finally:
        writer.close()


async def _to_the_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


@pytest.mark.covers("http.connections")
async def test_whoever_connects_and_says_nothing_is_hung_up_on() -> None:
    app = http_app(_nobody, Rates(5.0, 5.0))
    server = http_server(app, headers_within_s=0.05, connections_max=8)
    async with _serving(server) as port:
        assert await _said_to(port, b"") == b""
        assert await _said_to(port, b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ") == b""
        head = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        assert b"200" in await _said_to(port, head + b"Connection: close\r\n\r\n")
        # A further request that never ends its head is no better than a first one.
        assert (await _said_to(port, head + b"\r\n" + head)).count(b"200 OK") == 1


@pytest.mark.covers("http.connections")
async def test_whoever_never_ends_a_body_is_hung_up_on_and_holds_up_no_end(
    tmp_path: pathlib.Path,
) -> None:
    async with compose.open(tmp_path / "home", embedding="hashed") as hindsight:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner")
        half = (
            "POST PATH HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"Authorization: Bearer {ticket.token}\r\nContent-Length: 500\r\n\r\n{{"
        )
        rates = Rates(5.0, 5.0)
        for make, path in ((http_app, "/v1/search"), (mcp_server.http_app, mcp_server.PATH)):
            app = make(call_of(hindsight), rates)
            server = http_server(app, body_within_s=0.2)
            async with _serving(server) as port:
                assert await _said_to(port, half.replace("PATH", path).encode()) == b""


@pytest.mark.covers("http.connections")
async def test_one_ticket_takes_so_many_requests_at_once_and_leaves_others_the_rest(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bearer, "AT_ONCE_MAX", 3)
    async with compose.open(tmp_path / "home", embedding="hashed") as hindsight:
        greedy, other = [
            await hindsight.issue_ticket(tenant="acme", agent=name) for name in ("greedy", "other")
        ]

        def head(token: str, length: int) -> bytes:
            return (
                "POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Length: {length}\r\n\r\n"
            ).encode()

        body = b'{"query": "tea"}'
        async with _serving(http_server(http_app(call_of(hindsight), Rates(5e3, 5e3)))) as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            for _, writer in held:
                writer.write(head(greedy.token, 500))
                await writer.drain()
            asked = head(greedy.token, len(body)) + body
            while b" 200 " in (said := await _said_to(port, asked)):
                """Those that are held have not been looked at yet."""
            assert b" 429 " in said.splitlines()[0]
            assert b"at once" in said
            assert b" 200 " in await _said_to(port, head(other.token, len(body)) + body)
            for _, writer in held:
                writer.close()
            while b" 429 " in (said := await _said_to(port, asked)):
                """Their ends have not been looked at yet."""
            assert b" 200 " in said


@pytest.mark.covers("http.connections")
async def test_there_are_never_more_connections_than_the_bound() -> None:
    app = http_app(_nobody, Rates(5.0, 5.0))
    server = http_server(app, headers_within_s=60.0, connections_max=8)
    async with _serving(server) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        head = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        assert await _said_to(port, head) == b""  # one too many
        assert len(server.server_state.connections) <= 8
        for reader, writer in held:  # those that were let in are let go
            writer.write_eof()
            await _to_the_end(reader)
            writer.close()
        assert b"200" in await _said_to(port, head)


async def _nobody(_token: str, _command: Any) -> Any:
    raise errors.InvalidTicket("`ticket` is not valid here")


@pytest.fixture
async def served(tmp_path: pathlib.Path) -> AsyncGenerator[Served]:
    async with compose.open(tmp_path / "home", embedding="hashed") as hindsight:
        app = http_app(call_of(hindsight), Rates(5.0, 5.0))
        async with _serving(http_server(app)) as port:
            yield Served(hindsight, f"http://127.0.0.1:{port}")


@pytest.mark.covers("http.verbs")
async def test_a_memory_is_written_found_changed_and_forgotten(served: Served) -> None:
    token = await served.token(agent="planner", user="alice")
    wrote = await served.post(token, "write", {"content": "The depot opens at nine"})
    assert wrote.status_code == 200
    assert wrote.json()["result"] == "stored"
    (name,) = wrote.json()["ids"]
    found = await served.post(token, "search", {"query": "when does the depot open?", "k": 3})
    assert [hit["memory"]["content"] for hit in found.json()["hits"]] == ["The depot opens at nine"]
    assert (await served.post(token, "get", {"memory_id": name})).json()["scope"] == "user:alice"
    changed = await served.post(token, "update", {"memory_id": name, "importance": 0.9})
    assert changed.status_code == 200
    assert (await served.post(token, "forget", {"memory_id": name})).status_code == 200
    assert (await served.post(token, "get", {"memory_id": name})).status_code == 404


@pytest.mark.covers("http.verbs")
async def test_a_run_is_recorded_judged_and_reviewed_over_http(served: Served) -> None:
    token = await served.token(agent="planner", user="alice")
    run = (await served.post(token, "start_run", {"goal": "Load the van"})).json()["run_id"]
    event = {
        "event_id": str(uuid.uuid4()),
        "run_id": run,
        "agent": "planner",
        "incarnation": "one",
        "seq": 0,
        "timestamp": "2026-01-01T00:00:00Z",
        "kind": "decision",
        "summary": "Load the heavy boxes first",
    }
    assert (await served.post(token, "record", {"run_id": run, "events": [event]})).is_success
    assert (await served.post(token, "outcome", {"run_id": run, "value": 1.0})).is_success
    read = (await served.post(token, "read_run", {"run_id": run})).json()
    assert [one["summary"] for one in read["events"]] == ["Load the heavy boxes first"]
    assert (await served.post(token, "review", {"run_id": run})).is_success


@pytest.mark.covers("http.verbs")
async def test_each_verb_has_one_path_and_is_described(served: Served) -> None:
    assert set(COMMANDS.values()) == set(VERBS)
    assert len(COMMANDS) == len(VERBS)
    described = (await served.get("/openapi.json")).json()
    assert set(described["paths"]) == {f"/v1/{word}" for word in COMMANDS}
    schemas = described["components"]["schemas"]
    for path in described["paths"].values():
        assert path["post"]["summary"]
        for reference in _references(path):
            assert reference.removeprefix("#/components/schemas/") in schemas
    assert "command_id" not in schemas["Write"]["required"]
    assert (await served.get("/health")).json() == {"status": "ok"}


def _references(document: object) -> list[str]:
    return re.findall(r'"\$ref": "([^"]+)"', json.dumps(document))


@pytest.mark.covers("http.ticket")
async def test_a_request_is_its_own_tickets_and_no_field_widens_it(served: Served) -> None:
    alice = await served.token(user="alice")
    await served.post(alice, "write", {"content": "The safe opens with seven turns"})
    mallory = await served.token(user="mallory")
    found = await served.post(mallory, "search", {"query": "safe", "scopes": ["user:alice"]})
    assert found.json()["hits"] == []
    for field in ("tenant", "user", "agent", "ticket", "token"):
        again = await served.token(user="mallory")  # each with an allowance of its own
        answer = await served.post(again, "search", {"query": "safe", field: "alice"})
        assert answer.status_code == 422
        assert field in answer.json()["message"]


@pytest.mark.covers("http.ticket")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic x"}, {"Authorization": "Bearer"}])
async def test_without_a_good_ticket_nothing_is_answered(
    served: Served, headers: dict[str, str]
) -> None:
    answer = await served.post(None, "search", {"query": "safe"}, **headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["error"] == "InvalidTicket"
    unknown = await served.post(None, "no_such_verb", {}, **headers)
    assert unknown.status_code == 401  # which verbs there are is told by the description alone
    assert (await served.get("/metrics")).status_code == 401


@pytest.mark.covers("http.ticket")
async def test_a_revoked_ticket_is_refused_at_once(served: Served) -> None:
    ticket = await served.hindsight.issue_ticket(tenant="acme", user="alice")
    assert (await served.post(ticket.token, "whoami")).status_code == 200
    operator = await served.token(agent="operator")
    ended = await served.post(operator, "revoke_ticket", {"ticket_id": ticket.caller.ticket_id})
    assert ended.status_code == 200
    assert (await served.post(ticket.token, "whoami")).status_code == 401


@pytest.mark.covers("http.errors")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "query"),
        (b"[1, 2]", "object"),
        (b"{", "JSON"),
        (b'{"query": NaN}', "JSON"),
        (b'{"query": "\xff"}', "JSON"),
        (b'{"query": "x", "k": "five"}', "k"),
        (b'{"query": "x", "k": 1e400}', "k"),
        (b'{"query": "\\ud800"}', ""),
        (b'{"query": "x\\u0000y"}', "query"),
        (b"[" * 100_000, "JSON"),
        (b'{"querry": "x"}', "`query` is missing, and `querry` is not known here"),
    ],
)
async def test_a_bad_body_is_refused_and_says_what_is_wrong(
    served: Served, body: bytes, said: str
) -> None:
    answer = await served.post(await served.token(user="alice"), "search", body)
    assert answer.status_code == 422
    assert answer.json()["error"] == "InvalidInput"
    assert said in answer.json()["message"]


@pytest.mark.covers("http.errors")
async def test_what_http_itself_refuses(served: Served) -> None:
    token = await served.token(user="alice")
    assert (await served.post(token, "sing")).status_code == 404
    text = await served.post(token, "search", {"query": "x"}, Content_Type="text/plain")
    assert text.status_code == 415
    long = await served.post(token, "write", b'"' + b"x" * REQUEST_BYTES_MAX)
    assert long.status_code == 413
    async with httpx2.AsyncClient() as http:
        header = {"Authorization": f"Bearer {token}"}
        assert (await http.get(f"{served.url}/v1/search", headers=header)).status_code == 405
        lost = await http.post(f"{served.url}/v1/v1/search", headers=header)
    assert (lost.status_code, lost.json()["error"]) == (404, "NotFound")
    assert "'/v1/v1/search' is no path here; `/openapi.json`" in lost.json()["message"]


@pytest.mark.covers("http.errors")
async def test_what_is_refused_says_why_and_absent_looks_forbidden(served: Served) -> None:
    alice, mallory = await served.token(user="alice"), await served.token(user="mallory")
    wrote = (await served.post(alice, "write", {"content": "The key is under the mat"})).json()
    there, nowhere = wrote["ids"][0], str(uuid.uuid4())
    hidden = await served.post(mallory, "get", {"memory_id": there})
    absent = await served.post(mallory, "get", {"memory_id": nowhere})
    assert hidden.status_code == absent.status_code == 404
    assert hidden.text.replace(there, "<id>") == absent.text.replace(nowhere, "<id>")
    denied = await served.post(mallory, "write", {"content": "x y z", "scope": "user:alice"})
    assert denied.status_code == 403
    assert denied.json()["error"] == "AccessDenied"


@pytest.mark.covers("http.errors")
def test_every_error_has_a_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for kind in kinds:
        if issubclass(kind, errors.HindsightError) and kind is not errors.HindsightError:
            local = issubclass(kind, (errors.HomeInUse, errors.HomeInvalid))
            assert (refused(kind("x")).status == 500) == local, kind
    busy = refused(errors.Busy("x"))
    assert busy.headers["Retry-After"] == "1"
    assert json.loads(refused(errors.Busy("x", revision=3)).body)["details"] == {"revision": 3}


@pytest.mark.covers("http.retry")
async def test_a_request_sent_again_has_one_effect(served: Served) -> None:
    token = await served.token(user="alice")
    body = {"content": "The van is blue"}
    first = await served.post(token, "write", body, Idempotency_Key="once")
    again = await served.post(token, "write", body, Idempotency_Key="once")
    assert first.json() == again.json()
    other = await served.post(token, "write", {"content": "It is red"}, Idempotency_Key="once")
    assert other.status_code == 409
    assert other.json()["error"] == "CommandReused"


@pytest.mark.covers("http.rate")
async def test_what_is_above_a_tickets_rate_is_refused_and_says_when_to_return(
    served: Served,
) -> None:
    token = await served.token(user="alice")
    answers = [await served.post(token, "search", {"query": "van"}) for _ in range(30)]
    refusals = [one for one in answers if one.status_code == 429]
    assert refusals
    assert int(refusals[0].headers["Retry-After"]) >= 1
    assert refusals[0].json()["details"]["retry_after_s"] > 0
    other = await served.token(user="bob")  # another ticket, another allowance
    assert (await served.post(other, "search", {"query": "van"})).status_code == 200
    many = {"searches": [{"query": "van"}] * 6}
    assert (await served.post(other, "search_many", many)).status_code == 422


@pytest.mark.covers("http.rate")
async def test_a_bad_call_counts_too(served: Served) -> None:
    token = await served.token(agent="operator")
    bad = b'{"pairs": [{}, {}, {}, {}]}'
    answers = [(await served.post(token, "calibrate", bad)).status_code for _ in range(30)]
    assert 429 in answers
    assert set(answers) == {422, 429}


@pytest.mark.covers("http.errors")
async def test_a_secret_in_a_refused_value_is_not_said_again(served: Served) -> None:
    secret = "sk-" + "a1B2c3D4" * 5
    answer = await served.post(await served.token(user="alice"), "get", {"memory_id": secret})
    assert answer.status_code == 422
    assert secret not in answer.text


@pytest.mark.covers("http.hosts")
async def test_a_foreign_host_is_refused(served: Served) -> None:
    token = await served.token(user="alice")
    answer = await served.post(token, "search", {"query": "van"}, Host="rebound.example")
    assert answer.status_code == 400
