"""Secrets and personal data: masked, refused or kept as a tenant says, before anything is kept."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import pytest

from hindsight_ray.core.cleaning import cleaned
from hindsight_ray.core.redaction import redacted
from hindsight_ray.core.texts import LIMITS
from hindsight_ray.domain import commands as c
from hindsight_ray.domain import text
from hindsight_ray.domain.base import build
from hindsight_ray.domain.privacy import EVERYTHING, Privacy
from hindsight_ray.errors import AccessDenied, CommandReused, InvalidInput
from hindsight_ray.service.door import VERBS
from tests.asking import ask
from tests.worlds import Staged, world

PERSONAL = (
    ("mail alice@example.com today", "alice@example.com"),
    ("身份证 11010519491231002X 已核对", "11010519491231002X"),
    ("身份证11010519491231002x", "11010519491231002x"),
    ("身份证 110105 19491231 002X 已核对", "19491231"),
    ("身份证110105-1949-1231-002x", "1949-1231"),
    ("2 1101 0519 4912 3100 2X", "0519 4912"),
    ("我的邮箱是alice@example.com谢谢", "alice@example.com"),
    ("GET /users?mail=alice%40example.com&x=1", "alice%40example.com"),
    ("请打+8613800138000联系", "13800138000"),
    ("账号DE89370400440532013000谢谢", "37040044"),
    ("pay to DE89-3704-0044-0532-0130-00.", "0532-0130"),
    ("手机13800138000，请回电", "13800138000"),
    ("手机１３８００１３８０００，请回电", "１３８００１３８０００"),
    ("mail alice＠example．com today", "alice"),
    ("ring ＋８６ 138 0013 8000", "0013"),
    ("card 4111 1111 1111 11\u200b11, ok", "4111 1111"),
    ("138-0013-8000 is her phone", "138-0013-8000"),
    ("call +86 138 0013 8000", "138 0013 8000"),
    ("office 010-62345678", "62345678"),
    ("ring +1 (415) 555-2671 please", "555-2671"),
    ("ring (415) 555-2671 please", "555-2671"),
    ("ring 0049 30 901820", "901820"),
    ("card 4111 1111 1111 1111, ok", "4111 1111 1111 1111"),
    ("pay to DE89 3704 0044 0532 0130 00.", "0532 0130"),
)
PLAIN = (
    "id-number 110105194912310021 has a wrong check",
    "orders 110105 1949 1231 0021 and so on",
    "key AB12-CDEF-1234-5678",
    "order 4111111111111112 is no card",
    "at 2026-03-01T10:00:00 it took 1700000000 ms",
    "build 20260301-123456 of 1.2.3.4",
    "id 8f14e45f-ceea-467f-ab2c-1234567890ab",
    "log in as user@host",
    "git clone git@github.com:acme/app.git",
    "the release 41 of 13900",
)


@pytest.mark.covers("privacy.personal")
@pytest.mark.parametrize(("text", "secret"), PERSONAL)
def test_personal_data_is_masked_where_it_is_asked_for(text: str, secret: str) -> None:
    clean, count = redacted(text, EVERYTHING)
    assert secret not in clean
    assert count == 1
    assert redacted(clean, EVERYTHING) == (clean, 0)
    assert redacted(text) == (text, 0)


@pytest.mark.covers("privacy.personal")
@pytest.mark.parametrize("text", PLAIN)
def test_numbers_that_only_look_like_personal_data_stay(text: str) -> None:
    assert redacted(text, EVERYTHING) == (text, 0)


def test_long_hostile_texts_are_read_in_linear_steps() -> None:
    for piece in ("a.", "1 ", "+1", "DE89 ", "138-", "(415) ", "a@a.", "00", "é1"):
        assert redacted(piece * (20_000 // len(piece)), EVERYTHING)[0]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


MAIL, TOKEN = "alice@example.com", "ghp_abcdefghijklmnopqrstuvwxyz"
BOTH = f"tell {MAIL} of {TOKEN}"


async def _everywhere(home: Staged, token: str) -> None:
    """The text in every field by which text comes in."""
    scene = {"task_type": BOTH, "tools": (BOTH,), "intent": BOTH}
    more = {"steps": (f"1 {BOTH}",), "tags": (BOTH,), "scene": scene}
    kept = await ask(home, token, c.Write, content=BOTH, topic="mail", **more)
    await ask(home, token, c.Update, memory_id=kept.ids[0], tags=(BOTH, f"2 {BOTH}"))
    fields = {"goal": f"goal {BOTH}", "intent": BOTH, "task_type": BOTH, "tools": (BOTH,)}
    run = await ask(home, token, c.StartRun, **fields)
    tool = {
        "name": BOTH, "status": "error", "error_text": BOTH, "error_type": BOTH,
        "arguments_digest": BOTH, "result_digest": BOTH,
    }  # fmt: skip
    event = {
        "event_id": home.world.ids.event_id(), "run_id": run.run_id, "agent": "planner",
        "incarnation": "i", "seq": 0, "timestamp": home.clock.now(), "kind": "tool",
        "summary": f"sent {BOTH}", "tool": tool, "model": BOTH, "state_digest": BOTH,
        "snapshot": {"last_user_input": BOTH, "goal": BOTH, "subtask": BOTH},
    }  # fmt: skip
    for _ in range(2):  # again: it is the same event
        await ask(home, token, c.RecordEvents, run_id=run.run_id, events=(event,))
    await ask(
        home, token, c.SetWorking, run_id=run.run_id, state={"goal": BOTH, "state": {"a": BOTH}}
    )
    await ask(home, token, c.AssertOutcome, run_id=run.run_id, value=1.0, evaluator=BOTH)
    await ask(home, token, c.Note, text=BOTH)
    asked = {"query": f"who is {BOTH}?", "task_type": BOTH, "tools": (BOTH,)}
    await ask(home, token, c.Search, **asked)
    await ask(home, token, c.ListRuns, task_type=BOTH)
    await ask(home, token, c.CloseRun, run_id=run.run_id)
    log = [{"messages": [{"role": "user", "content": f"I am {BOTH}"},
                         {"role": "assistant", "content": f"Hello {BOTH}"}]}]  # fmt: skip
    await ask(home, await home.operator(), c.ImportRuns, format="openai-messages",
               text=json.dumps(log), scope="user:alice")  # fmt: skip
    await home.jobs.finish()


def _bytes(home: Staged) -> bytes:
    return b"".join(file.read_bytes() for file in home.path.rglob("*") if file.is_file())


@pytest.mark.covers("privacy.everywhere")
async def test_by_default_neither_a_secret_nor_personal_data_reaches_the_disk(
    home: Staged,
) -> None:
    token = await home.ticket(agent="planner", user="alice", session="s")
    await _everywhere(home, token)
    assert MAIL.encode() not in _bytes(home)
    assert TOKEN.encode() not in _bytes(home)
    assert b"[redacted:email]" in _bytes(home)


@pytest.mark.covers("privacy.everywhere")
async def test_an_error_that_quotes_a_value_is_masked_too(home: Staged) -> None:
    token = await home.ticket(user="alice")
    await ask(home, token, c.Write, content="Alice likes tea", command_id=MAIL)
    with pytest.raises(CommandReused) as told:
        await ask(home, token, c.Write, content="Alice likes coffee", command_id=MAIL)
    assert MAIL not in str(told.value)
    assert MAIL not in str(told.value.details)
    assert told.value.__cause__ is None
    await ask(home, await home.operator(), c.SetPrivacy, personal="keep")
    with pytest.raises(CommandReused, match=MAIL):
        await ask(home, token, c.Write, content="Alice likes coffee", command_id=MAIL)


@pytest.mark.covers("privacy.everywhere")
async def test_why_somebody_decided_is_masked_like_any_text(home: Staged) -> None:
    token = await home.ticket(user="alice")
    waits = await ask(home, token, c.Write, content="Alice likes tea", confidence=0.4)
    await ask(home, token, c.DecidePending, memory_id=waits.ids[0], decision="accept", why=BOTH)
    (_, last) = await ask(home, token, c.History, memory_id=waits.ids[0])
    assert MAIL not in last.why
    assert "[redacted:email]" in last.why
    assert MAIL.encode() not in _bytes(home)


@pytest.mark.covers("privacy.everywhere")
def test_submitted_credit_is_masked_in_everything_that_it_says() -> None:
    run = "6c5a1f0e-7d1b-5b7e-9f53-222222222222"
    target = {"kind": "agent", "id": "planner", "label": BOTH}
    credit = {"target": target, "value": 1, "low": 0, "high": 1, "method": MAIL,
              "evidence": "replayed"}  # fmt: skip
    given = {
        "run_id": run, "outcome": 1.0, "method": MAIL, "credits": (credit,), "beside": (credit,),
        "suspects": (target,), "memories": (target,), "policy": BOTH,
        "abstained": {"method": MAIL, "reason": BOTH},
    }  # fmt: skip
    command = build(c.SubmitCredits, {"run_id": run, "attribution": given})
    said = cleaned(command, Privacy(secrets="mask", personal="mask")).model_dump_json()
    assert MAIL in command.model_dump_json()
    assert MAIL not in said
    assert TOKEN not in said
    assert said.count("[redacted:email]") == command.model_dump_json().count(MAIL)


@pytest.mark.covers("privacy.tenant")
async def test_a_tenant_may_keep_what_another_masks(home: Staged) -> None:
    operator = await home.operator()
    kept = await ask(home, operator, c.SetPrivacy, personal="keep")
    assert (kept.secrets, kept.personal) == ("mask", "keep")
    token = await home.ticket(agent="planner", user="alice", session="s")
    await _everywhere(home, token)
    (hit,) = (await ask(home, token, c.Search, query="tell of", types=("fact",))).hits
    assert hit.memory.content == f"tell {MAIL} of [redacted:api-key]"
    elsewhere = await home.ticket(user="alice", tenant="globex")
    other = await ask(home, elsewhere, c.Write, content=BOTH)
    content = (await ask(home, elsewhere, c.Get, memory_id=other.ids[0])).content
    assert content == "tell [redacted:email] of [redacted:api-key]"


@pytest.mark.covers("privacy.tenant")
async def test_a_tenant_may_refuse_what_somebody_writes_and_mask_what_happened(
    home: Staged,
) -> None:
    await ask(home, await home.operator(), c.SetPrivacy, secrets="refuse", personal="refuse")
    token = await home.ticket(agent="planner", user="alice", session="s")
    kept = await ask(home, token, c.Write, content="Alice likes tea")
    refused: list[tuple[type[c.Command], dict[str, Any]]] = [
        (c.Write, {"content": BOTH}),
        (c.Update, {"memory_id": kept.ids[0], "content": f"Alice is {MAIL}"}),
        (c.Update, {"memory_id": kept.ids[0], "tags": ("x", MAIL)}),
        (c.Write, {"content": "Alice is tall", "tags": (TOKEN,)}),
        (c.Write, {"content": "Alice is tall", "scene": {"task_type": MAIL}}),
        (c.Write, {"content": "Alice is tall", "scene": {"task_type": "x", "tools": (MAIL,)}}),
        (c.StartRun, {"goal": BOTH}),
        (c.StartRun, {"goal": "Launch", "tools": ("mail", TOKEN)}),
        (c.Note, {"text": TOKEN}),
    ]
    for kind, fields in refused:
        with pytest.raises(InvalidInput) as told:
            await ask(home, token, kind, **fields)
        assert MAIL not in str(told.value)
        assert TOKEN not in str(told.value)
    run = await ask(home, token, c.StartRun, goal="Launch")
    event = {
        "event_id": home.world.ids.event_id(), "run_id": run.run_id, "agent": "planner",
        "incarnation": "i", "seq": 0, "timestamp": home.clock.now(), "kind": "decision",
        "summary": BOTH,
    }  # fmt: skip
    await ask(home, token, c.RecordEvents, run_id=run.run_id, events=(event,))
    read = await ask(home, token, c.ReadRun, run_id=run.run_id)
    assert read.events[0].summary == "tell [redacted:email] of [redacted:api-key]"
    assert MAIL.encode() not in _bytes(home)


@pytest.mark.covers("privacy.names")
async def test_a_name_by_which_things_are_told_apart_is_refused_where_it_would_be_masked(
    home: Staged,
) -> None:
    token = await home.ticket(agent="planner", user="alice")
    run = await ask(home, token, c.StartRun, goal="Launch")
    named: list[tuple[type[c.Command], dict[str, Any]]] = [
        (c.Write, {"content": "Alice is tall", "topic": f"height of {MAIL}"}),
        (c.Write, {"content": "Alice is tall", "project": MAIL}),
        (c.StartRun, {"goal": "Launch", "project": TOKEN}),
        (c.CloseProject, {"project": MAIL}),
        (c.SetWorking, {"run_id": run.run_id, "state": {"state": {MAIL: "here"}}}),
    ]
    for kind, fields in named:
        with pytest.raises(InvalidInput) as told:
            await ask(home, token, kind, **fields)
        assert MAIL not in str(told.value)
    assert MAIL.encode() not in _bytes(home)
    await ask(home, await home.operator(), c.SetPrivacy, secrets="keep", personal="keep")
    for kind, fields in named:
        await ask(home, token, kind, **fields)


@pytest.mark.covers("privacy.everywhere")
def test_every_kind_of_text_is_known_to_whoever_cleans() -> None:
    kinds = {name for name, kind in vars(text).items() if get_origin(kind) is Annotated}
    known = {name for name in kinds if any(getattr(text, name) == one for one, _ in LIMITS)}
    assert kinds - known == {"Moment", "Text"}  # and a `Text` is a policy or a log
    hints = {kind: get_type_hints(kind, include_extras=True).values() for kind in VERBS}
    assert [kind for kind in VERBS if text.Text in hints[kind]] == [c.LoadPolicy, c.ImportRuns]


@pytest.mark.covers("privacy.tenant")
async def test_another_process_follows_once_it_has_met_the_change(
    home: Staged, tmp_path: Path
) -> None:
    async with world(tmp_path, policy=None, clock=home.clock) as other:
        token = await home.ticket(user="alice")
        await ask(other, token, c.Write, content="Alice likes tea")
        await ask(home, await home.operator(), c.SetPrivacy, personal="keep")
        await ask(other, token, c.Search, query="tea")
        receipt = await ask(other, token, c.Write, content=f"Alice is {MAIL}")
        assert MAIL in (await ask(other, token, c.Get, memory_id=receipt.ids[0])).content


@pytest.mark.covers("privacy.tenant")
async def test_only_who_administers_says_what_is_kept(home: Staged) -> None:
    for token in (await home.ticket(user="alice"), await home.ticket(agent="curator")):
        with pytest.raises(AccessDenied):
            await ask(home, token, c.SetPrivacy, personal="keep")
