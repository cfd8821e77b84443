"""Reviews: how long rules take over a long run, and how long a prompt to a model ever gets.

The time bound is one second for a run of 1,000 events: reading it out of the ledger, reviewing it
and keeping what it teaches, through the public client of an embedded home. Prompts are captured by
a server on loopback that real LiteLLM talks to, and counted twice: by the bound that the product
keeps, and by a real tokenizer.
"""

import asyncio
import importlib.util
import os
import pathlib
import tempfile
import time
from typing import Any

import hindsight_ray as hr
from hindsight_ray.core.tokens import tokens_at_most
from tests.servers.scripted_model import ScriptedModel, scripted_model

_EVENTS = 1_000
_LENGTHS = (10, 1_000, 10_000)
_PROMPT_TOKENS_MAX = 8_000


def figures(data: pathlib.Path) -> list[dict[str, Any]]:
    """Seconds for a review by rules; the longest prompt of reviews by a model."""
    del data  # these runs are made here: a public log has none this long
    found = [
        _at_most(
            "hindsight.rules_1000",
            f"review of a run of {_EVENTS:,} events by rules",
            asyncio.run(_reviewed(_EVENTS)),
            1.0,
            "s",
        )
    ]
    longest, real = _longest_prompt()
    told = f"longest prompt over runs of {', '.join(f'{n:,}' for n in _LENGTHS)} events"
    found.append(_at_most("hindsight.prompt_bound", told, longest, _PROMPT_TOKENS_MAX, "tokens"))
    if real is not None:
        what = f"{told}, by the cl100k tokenizer"
        found.append(_at_most("hindsight.prompt_real", what, real, _PROMPT_TOKENS_MAX, "tokens"))
    return found


def _at_most(name: str, what: str, value: float, bound: float, unit: str) -> dict[str, Any]:
    return {
        "id": name, "what": what, "value": value, "bound": bound, "holds": value <= bound,
        "unit": unit,
    }  # fmt: skip


async def _reviewed(events: int, **settings: Any) -> float:
    """Seconds of one review, asked for; the run is open, so that none has begun by itself."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder) / "home"
        async with hr.open(home, embedding="static", **settings) as hindsight:
            ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
            memory = hindsight.as_caller(ticket)
            await memory.write("The checkout is restored by a rollback")  # the model is loaded
            run = memory.run(goal="Restore the checkout", task_type="operate", tools=["search"])
            async with run as recording:
                _record(recording, events)
                await recording.flush()
                started = time.perf_counter()
                await memory.review(recording.id)
                return time.perf_counter() - started


def _record(recording: Any, events: int) -> None:
    last = recording.decide("Look at the latency of the checkout")
    for n in range(1, events):
        if n % 25 == 7:
            last = recording.tool(
                "deploy.rollback", arguments={"release": n}, causes=[last],
                error=f"release {n} is pinned by team {n % 7}",
            )  # fmt: skip
        elif n % 10 == 3:
            last = recording.decide(f"Go on with candidate {n} since {n - 1} was no better")
        else:
            last = recording.tool(
                "search", arguments={"page": n, "q": f"latency of shard {n}"},
                result=f"p99 was {n} ms on shard {n} " + "and much else " * 30, causes=[last],
            )  # fmt: skip


def _longest_prompt() -> tuple[int, int | None]:
    encoder = _encoder()
    longest, real = 0, 0
    for events in _LENGTHS:
        with scripted_model(['{"path": "It went on. "}']) as model:
            asyncio.run(_asked(events, model))
            for one in model.asked:
                text = "\n".join(_text(message) for message in one["messages"])
                longest = max(longest, tokens_at_most(text))
                if encoder is not None:
                    real = max(real, len(encoder.encode(text, disallowed_special=())))
    return longest, real if encoder is not None else None


async def _asked(events: int, model: ScriptedModel) -> None:
    await _reviewed(
        events, chat_strong="openai/none", chat_weak="openai/none", chat_api_base=model.address
    )
    assert model.asked, "the model was not asked"


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _encoder() -> Any:
    """A real tokenizer that comes with a package; None where it does not."""
    found = importlib.util.find_spec("litellm")
    if importlib.util.find_spec("tiktoken") is None or found is None:
        return None
    places = found.submodule_search_locations or []
    os.environ["TIKTOKEN_CACHE_DIR"] = str(
        pathlib.Path(places[0]) / "litellm_core_utils" / "tokenizers"
    )
    import tiktoken  # noqa: PLC0415 - only where it is there

    return tiktoken.get_encoding("cl100k_base")
