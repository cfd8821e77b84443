"""Writes that a model judges: outside any transaction, about rows that the writer may read."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.core.tokens import tokens_at_most
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import Busy
from hindsight_ray.ports import Purpose, Vector
from hindsight_ray.service import get, history, update, write
from tests.servers.scripted_model import Answer, ScriptedModel, scripted_model, told
from tests.worlds import Staged, world

KEPT = "Deployments go out on Friday afternoon"
NEW = "Deployments go out every morning"


class AllAlike:
    """An embedder to which all statements are near one another, as real ones often are."""

    @property
    def space(self) -> EmbeddingSpace:
        return EmbeddingSpace(model="alike", dimension=4, duplicate_at=0.95, merge_at=0.85)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        rows = np.ones((len(texts), 4), dtype=np.float32)
        rows[:, 0] += np.asarray([0.02 * (len(text) % 7) for text in texts], dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


async def no_pause(_seconds: float) -> None:
    """Nobody waits in a test."""


@pytest.fixture
async def home(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Staged]:
    fields = {"chat_weak": "openai/small", "chat_api_base": model.address, "lock_wait_s": 5.0}
    settings = Settings.model_validate(fields)
    chat = LiteLLMChat(settings, pause=no_pause)
    staged = world(tmp_path / "home", settings=settings, chat=chat, embedder=AllAlike())
    async with staged as opened:
        yield opened


def opinion(relation: str, part: str = "", pair: str = "p1") -> str:
    said = {"pair": pair, "relation": relation, "contradicted": part, "reason": "because"}
    return json.dumps({"pairs": [said]})


async def wrote(home: Staged, caller: Caller, content: str, name: str, **more: Any) -> Receipt:
    command = c.Write.model_validate({"command_id": name, "content": content, **more})
    return await write.write(home.world, caller, command)


@pytest.mark.covers("write.judged")
async def test_a_contradiction_that_the_judge_names_outdates_the_older_statement(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    model.script("{}")
    first = await wrote(home, alice, KEPT, "one")
    assert model.asked == []  # nothing was near
    home.clock.advance(days=2)
    alice = await home.caller(user="alice")
    model.script(opinion("contradicts", "on Friday afternoon"))
    second = await wrote(home, alice, NEW, "two")
    assert (second.result, len(model.asked)) == ("superseded", 1)
    assert f"it contradicts {first.ids[0]}" in second.why
    assert "Friday" not in second.why  # what is kept of it quotes no other statement
    old = await get.get(home.world, alice, c.Get(memory_id=first.ids[0]))
    assert (old.status, old.superseded_by) == ("outdated", second.ids[0])


@pytest.mark.covers("write.judged")
async def test_the_same_in_other_words_is_merged_and_history_says_who_judged(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    first = await wrote(home, alice, KEPT, "one")
    model.script(opinion("same"))
    fuller = "Deployments go out on Friday afternoon for every team we have"
    second = await wrote(home, alice, fuller, "two")
    assert (second.result, second.ids) == ("merged", first.ids)
    notes = await history.history(home.world, alice, c.History(memory_id=first.ids[0]))
    assert notes[-1].content == fuller
    assert "judge@1 " in notes[-1].why


@pytest.mark.covers("write.judged")
@pytest.mark.parametrize(
    "answer", [Answer("busy", status=503), "I cannot say.", "{}", opinion("same", pair="p9")]
)
async def test_a_judge_that_fails_leaves_the_decision_to_rules(
    home: Staged, model: ScriptedModel, answer: Answer | str
) -> None:
    alice = await home.caller(user="alice")
    await wrote(home, alice, KEPT, "one")
    model.script(answer)
    receipt = await wrote(home, alice, NEW, "two")
    assert receipt.result == "stored"


@pytest.mark.covers("write.judged")
async def test_a_slow_judge_blocks_nobody_and_an_edit_made_meanwhile_survives(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    first = await wrote(home, alice, KEPT, "one")
    home.clock.advance(days=2)
    alice = await home.caller(user="alice")
    loop = asyncio.get_running_loop()
    edited = "Deployments go out on Friday evening"

    def slow(question: dict[str, Any]) -> str:
        if len(model.asked) == 1:  # while the judge thinks, its statement is edited
            change = c.Update.model_validate(
                {"command_id": "edit", "memory_id": first.ids[0], "content": edited}
            )
            job = update.update(home.world, alice, change)
            asyncio.run_coroutine_threadsafe(job, loop).result(timeout=20)
            return opinion("contradicts", "on Friday afternoon")
        assert edited in told(question)
        return opinion("different")

    model.script(slow)
    second = await wrote(home, alice, NEW, "two")
    assert (second.result, len(model.asked)) == ("stored", 2)
    kept = await get.get(home.world, alice, c.Get(memory_id=first.ids[0]))
    assert (kept.content, kept.status) == (edited, "active")


@pytest.mark.covers("write.judged")
async def test_a_scope_that_keeps_changing_is_busy_after_five_rounds(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    first = await wrote(home, alice, KEPT, "one")
    loop = asyncio.get_running_loop()

    def restless(_question: dict[str, Any]) -> str:
        number = len(model.asked)
        change = c.Update.model_validate({
            "command_id": f"edit{number}", "memory_id": first.ids[0],
            "content": f"Deployments go out in week {number}",
        })  # fmt: skip
        job = update.update(home.world, alice, change)
        asyncio.run_coroutine_threadsafe(job, loop).result(timeout=20)
        return opinion("different")

    model.script(restless)
    with pytest.raises(Busy):
        await wrote(home, alice, NEW, "two")
    assert len(model.asked) == 5
    model.script(opinion("different"))
    assert (await wrote(home, alice, NEW, "two")).result == "stored"


@pytest.mark.covers("G1.prompts")
async def test_a_prompt_shows_nothing_that_its_writer_may_not_read(
    home: Staged, model: ScriptedModel
) -> None:
    """Neither another user's rows in a shared scope nor those of a label that is denied."""
    model.script(opinion("different"))
    for_bob = await home.caller(agent="planner", user="bob")
    secret = "Bob's password rotation happens at midnight"
    await wrote(home, for_bob, secret, "one", scope="agent:planner")
    for_alice = await home.caller(agent="planner", user="alice")
    await wrote(home, for_alice, KEPT, "two", scope="agent:planner")
    await wrote(home, for_alice, NEW, "three", scope="agent:planner")
    assert len(model.asked) == 1
    assert all("password rotation" not in prompt for prompt in model.prompts)


async def test_writes_at_once_that_are_all_judged_all_succeed(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    model.script(lambda question: json.dumps({"pairs": [
        {"pair": f"p{n}", "relation": "different"} for n in range(1, 6)
    ]}))  # fmt: skip
    done = await asyncio.gather(
        *(wrote(home, alice, f"Statement about subject{n}x", f"w{n}") for n in range(4)),
        return_exceptions=True,
    )
    assert [one.result for one in done if isinstance(one, Receipt)] == ["stored"] * 4


@pytest.mark.covers("model.prompt")
async def test_a_long_text_of_many_parts_makes_no_long_prompt(
    home: Staged, model: ScriptedModel
) -> None:
    alice = await home.caller(user="alice")
    model.script("{}")
    for n in range(6):
        await wrote(
            home, alice, f"上线安排第{n}条：每周五下午发布，发布前检查磁盘空间。" * 4, f"w{n}"
        )
    model.script("{}")
    text = "".join(f"第{n}点，发布窗口改到周一上午，由值班同事负责确认并通知。" for n in range(90))
    receipt = await wrote(home, alice, text, "long")
    assert len(receipt.ids) > 5
    for one in model.asked:
        sent = "".join(
            part if isinstance(part, str) else part["text"]
            for message in one["messages"]
            for part in (
                [message["content"]] if isinstance(message["content"], str) else message["content"]
            )
        )
        assert tokens_at_most(sent) <= home.world.settings.prompt_tokens_max
