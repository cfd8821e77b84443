"""The HTTP door: whose a request is, its own ticket says, and nothing else."""

import asyncio
import re
import uuid
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client

from tests.mcp.conftest import Served

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "depot"}},
}
MEMORY = "018f2f6e-0000-7000-8000-000000000001"
HEADERS = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18"}


async def _post(url: str, *, token: str | None = None, **headers: str) -> httpx2.Response:
    given = HEADERS | ({} if token is None else {"Authorization": f"Bearer {token}"}) | headers
    async with httpx2.AsyncClient() as http:
        return await http.post(url, json=CALL, headers=given)


def _text(result: Any) -> str:
    return " ".join(block.text for block in result.content)


@pytest.mark.covers("mcp.tools")
async def test_the_tools_are_the_verbs_that_widen_nothing_and_are_typed(served: Served) -> None:
    ticket = await served.ticket(agent="planner", user="alice")
    async with served.client(ticket.token) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    words = (
        "write", "search", "search_many", "get", "update", "forget", "history", "why", "review",
        "attribute", "explain",
    )  # fmt: skip
    assert set(tools) == {f"memory_{word}" for word in words}
    assert not {"memory_share", "memory_promote", "memory_revoke"} & set(tools)
    for tool in tools.values():
        assert tool.description
        assert len(tool.description) <= 120
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        for name in ("tenant", "agent", "user", "session", "ticket", "audience", "labels"):
            assert name not in tool.input_schema["properties"]


@pytest.mark.covers("mcp.tools")
async def test_a_memory_is_written_found_changed_and_forgotten(served: Served) -> None:
    ticket = await served.ticket(agent="planner", user="alice")
    async with served.client(ticket.token) as client:
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        assert wrote.structured_content["result"] == "stored"
        memory_id = wrote.structured_content["ids"][0]
        found = await client.call_tool("memory_search", {"query": "when does the depot open?"})
        assert found.structured_content["hits"][0]["memory"]["id"] == memory_id
        assert "The depot opens at nine" in _text(found)
        assert f"id {memory_id}] The depot" in _text(found)
        changed = await client.call_tool(
            "memory_update", {"memory_id": memory_id, "content": "The depot opens at ten"}
        )
        assert not changed.is_error
        found = await client.call_tool("memory_search", {"query": "depot"})
        assert "ten" in _text(found)
        assert not (await client.call_tool("memory_forget", {"memory_id": memory_id})).is_error
        found = await client.call_tool("memory_search", {"query": "depot"})
        assert found.structured_content["hits"] == []


@pytest.mark.covers("mcp.tools")
async def test_one_memory_is_looked_at_from_every_side(served: Served) -> None:
    ticket = await served.ticket(agent="planner", user="alice")
    auditor = await served.ticket(agent="operator")
    memory = served.hindsight.as_caller(ticket)
    async with memory.run(goal="Restore checkout", task_type="operate") as run:
        step = run.tool("deploy.rollback", arguments={"release": 41}, result="ok")
        run.decide("Keep release 40", causes=[step])
        run.outcome(1.0)
    async with served.client(ticket.token) as client:
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        name = {"memory_id": wrote.structured_content["ids"][0]}
        got = await client.call_tool("memory_get", name)
        assert got.structured_content["content"] == "The depot opens at nine"
        history = await client.call_tool("memory_history", name)
        assert [one["revision"] for one in history.structured_content["revisions"]] == [1]
        explained = await client.call_tool("memory_explain", name)
        assert explained.structured_content["source_kind"] == "agent"
        many = await client.call_tool("memory_search_many", {"queries": ["depot", "opening hours"]})
        assert [len(one["hits"]) for one in many.structured_content["answers"]] == [1, 1]
        assert "opening hours" in _text(many)
        reviewed = await client.call_tool("memory_review", {"run_id": run.id})
        assert reviewed.structured_content["run_id"] == run.id
        credit = await client.call_tool("memory_attribute", {"run_id": run.id})
        assert credit.structured_content["method"] == "provenance"
        refused = await client.call_tool("memory_why", {"action": "read", "object": "user:alice"})
        assert refused.is_error
        assert "AccessDenied" in _text(refused)
    async with served.client(auditor.token) as client:
        why = await client.call_tool("memory_why", {"action": "read", "object": "user:alice"})
        assert why.structured_content["allowed"] is True


@pytest.mark.covers("mcp.rate")
async def test_several_searches_in_one_call_count_as_many(served: Served) -> None:
    ticket = await served.ticket(user="alice")
    async with served.client(ticket.token) as client:
        answer = await client.call_tool("memory_search_many", {"queries": ["depot"] * 11})
        assert answer.is_error
        assert "at most 10" in _text(answer)


@pytest.mark.covers("mcp.tools", "mcp.words")
@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("memory_write", {"content": "x", "tenant": "globex"}, "tenant"),
        ("memory_search", {"query": "x", "user": "bob"}, "user"),
        ("memory_write", {"content": "x\u0000y"}, "content"),
        ("memory_write", {"content": ""}, "content"),
        ("memory_write", {"content": "x", "type": "opinion"}, "type"),
        ("memory_write", {"content": "x", "confidence": 2}, "confidence"),
        ("memory_write", {"content": "x", "scope": "everywhere"}, "scope"),
        ("memory_write", {"content": "x", "expires_at": "2030-01-01T00:00:00"}, "expires_at"),
        ("memory_search", {"query": "x", "k": 0}, "k"),
        ("memory_search", {}, "query"),
        ("memory_update", {"memory_id": "x"}, "memory_id"),
        ("memory_forget", {"memory_id": "x"}, "memory_id"),
        ("memory_forget", {"memory_id": 5}, "memory_id"),
        ("memory_get", {"memory_id": "\u0000"}, "memory_id"),
        ("memory_write", {"content": "x", "confidence": True}, "confidence"),
        ("memory_write", {"content": "x", "command_id": ""}, "command_id"),
        ("memory_write", {"content": "x", "tags": "one"}, "tags"),
        ("memory_write", {"content": "x", "expires_at": 5}, "expires_at"),
        ("memory_write", {"content": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ("memory_search", {"query": "x", "scopes": []}, "scopes"),
        ("memory_search", {"query": "x", "since": 5}, "since"),
        ("memory_search", {"query": "x", "until": "5"}, "until"),
        ("memory_search", {"query": "x", "until": "yesterday"}, "until"),
        ("memory_search", {"query": "x", "types": ["opinion"]}, "types[0]"),
        ("memory_search", {"query": "x", "k": 10**30}, "k"),
        ("memory_search_many", {"queries": [""]}, "queries"),
        ("memory_search_many", {"queries": []}, "queries"),
        ("memory_update", {"memory_id": MEMORY, "if_revision": -1}, "if_revision"),
        ("memory_why", {"action": "borrow", "object": "global"}, "action"),
        ("memory_review", {"run_id": "x"}, "run_id"),
        ("memory_attribute", {"run_id": MEMORY, "method": "guess"}, "method"),
    ],
)
async def test_a_wrong_argument_is_an_error_that_names_it(
    served: Served, tool: str, arguments: dict[str, Any], named: str
) -> None:
    ticket = await served.ticket(agent="planner", user="alice")
    async with served.client(ticket.token) as client:
        answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    assert f"`{named}`" in _text(answer)
    for foreign in ("Traceback", "pydantic", "http", "validation error", "Arguments", "NoneType"):
        assert foreign not in _text(answer)
    assert len(_text(answer).splitlines()) == 1


@pytest.mark.covers("mcp.ticket", "G1.tenants", "door.one")
async def test_each_request_sees_what_its_own_ticket_may_see(served: Served) -> None:
    alice = await served.ticket(agent="planner", user="alice")
    bob = await served.ticket(agent="planner", user="bob")
    elsewhere = await served.ticket(tenant="globex", agent="planner", user="alice")
    async with served.client(alice.token) as client:
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        memory_id = wrote.structured_content["ids"][0]
    for stranger in (bob, elsewhere):
        async with served.client(stranger.token) as client:
            found = await client.call_tool("memory_search", {"query": "depot"})
            assert found.structured_content["hits"] == []
            refused = await client.call_tool("memory_forget", {"memory_id": memory_id})
            absent = await client.call_tool("memory_forget", {"memory_id": _other(memory_id)})
            assert refused.is_error
            assert absent.is_error
            hidden = _text(refused).replace(memory_id, "ID")
            assert hidden == _text(absent).replace(_other(memory_id), "ID")


def _other(memory_id: str) -> str:
    return memory_id[:-1] + ("0" if memory_id[-1] != "0" else "1")


@pytest.mark.covers("mcp.ticket")
async def test_a_connection_lends_nothing_to_the_next_request_on_it(served: Served) -> None:
    alice = await served.ticket(agent="planner", user="alice")
    bob = await served.ticket(agent="planner", user="bob")
    async with served.client(alice.token) as client:
        await client.call_tool("memory_write", {"content": "The depot opens at nine"})
    async with httpx2.AsyncClient() as http:  # one connection, three askers
        answers = [
            await http.post(served.url, json=CALL, headers=HEADERS | sent)
            for sent in (
                {"Authorization": f"Bearer {alice.token}"},
                {"Authorization": f"Bearer {bob.token}"},
                {},
            )
        ]
    assert "nine" in answers[0].text
    assert answers[1].status_code == 200
    assert "nine" not in answers[1].text
    assert answers[2].status_code == 401


@pytest.mark.covers("mcp.absent")
@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Basic YTpi", "bearer a.b.c", "Bearer x y"]
)
@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call", "server/discover"])
async def test_without_a_good_ticket_nothing_is_answered(
    served: Served, authorization: str | None, method: str
) -> None:
    sent = {} if authorization is None else {"Authorization": authorization}
    async with httpx2.AsyncClient() as http:
        answer = await http.post(
            served.url, json={**CALL, "method": method}, headers=HEADERS | sent
        )
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"] == "InvalidTicket"


@pytest.mark.covers("mcp.absent")
async def test_two_tickets_in_one_request_are_refused(served: Served) -> None:
    alice = await served.ticket(user="alice")
    async with httpx2.AsyncClient() as http:
        sent = [("Authorization", f"Bearer {alice.token}")] * 2 + list(HEADERS.items())
        answer = await http.post(served.url, json=CALL, headers=sent)
    assert answer.status_code == 401


@pytest.mark.covers("mcp.ticket", "G2.ticket")
async def test_a_revoked_ticket_is_refused_by_the_next_request(served: Served) -> None:
    alice = await served.ticket(user="alice")
    assert (await _post(served.url, token=alice.token)).status_code == 200
    await served.hindsight.operator("acme").revoke_ticket(alice.caller.ticket_id)
    assert (await _post(served.url, token=alice.token)).status_code == 401


@pytest.mark.covers("mcp.hosts")
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1.evil.example:80"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
    ],
)
async def test_a_foreign_host_or_origin_is_refused_even_with_a_ticket(
    served: Served, header: str, value: str
) -> None:
    alice = await served.ticket(user="alice")
    answer = await _post(served.url, token=alice.token, **{header: value})
    assert answer.status_code in (403, 421)
    assert "hits" not in answer.text


async def test_only_requests_are_taken_and_nothing_can_be_listened_to(served: Served) -> None:
    alice = await served.ticket(user="alice")
    sent = HEADERS | {"Authorization": f"Bearer {alice.token}"}
    async with httpx2.AsyncClient() as http:
        assert (await http.get(served.url, headers=sent)).status_code == 405
        assert (await http.delete(served.url, headers=sent)).status_code == 405


async def test_a_body_beyond_the_limit_is_refused(served: Served) -> None:
    alice = await served.ticket(user="alice")
    sent = HEADERS | {"Authorization": f"Bearer {alice.token}", "Content-Type": "application/json"}
    async with httpx2.AsyncClient() as http:
        answer = await http.post(served.url, content=b" " * (1024 * 1024 + 1), headers=sent)
    assert answer.status_code == 413


@pytest.mark.covers("mcp.rate")
async def test_searches_beyond_the_rate_are_refused_at_once_and_say_when(served: Served) -> None:
    alice = await served.ticket(user="alice")
    bob = await served.ticket(user="bob")
    async with served.client(alice.token) as client:
        answers = await asyncio.gather(*(_search(client) for _ in range(40)))
        refused = [_text(answer) for answer in answers if answer.is_error]
        assert refused
        assert all(re.search(r"RateLimited.*retry_after_s=0\.\d+", text) for text in refused)
        wrote = await client.call_tool("memory_write", {"content": "The depot opens at nine"})
        assert not wrote.is_error, "writes have an allowance of their own"
    async with served.client(bob.token) as client:
        assert not (await _search(client)).is_error, "another ticket has its own allowance"


async def _search(client: Client) -> Any:
    return await client.call_tool("memory_search", {"query": "depot"})


@pytest.mark.covers("mcp.rate_writes")
async def test_changes_beyond_the_rate_are_refused_and_searches_are_counted_apart(
    served: Served,
) -> None:
    alice = await served.ticket(user="alice")
    absent = [{"memory_id": str(uuid.uuid5(uuid.NAMESPACE_DNS, str(n)))} for n in range(40)]
    async with served.client(alice.token) as client:
        answers = await asyncio.gather(*(client.call_tool("memory_forget", one) for one in absent))
        limited = [text for text in map(_text, answers) if "RateLimited" in text]
        assert limited
        assert all("`write`" in text and "retry_after_s=" in text for text in limited)
        assert not (await _search(client)).is_error
