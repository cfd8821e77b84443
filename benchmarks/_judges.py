"""A model as judge of labelled logs, scored as the rankers are: exactly, beside the trivial rules.

Asked only where the environment names a model (`HINDSIGHT_CHAT_STRONG`, with its key and address as
LiteLLM reads them). What a judge abstains on counts as missed; failures of the model are counted.
"""

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks._culprits import Hits, Log, Named
from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.core.answers import read_answer
from hindsight_ray.core.attribution.judging import (
    ASKED_MAX,
    Ask,
    Strategy,
    Verdict,
    judging,
)
from hindsight_ray.core.attribution.spectrum import chance_on_top
from hindsight_ray.core.shapes import Shape
from hindsight_ray.domain.chat import Question
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import ModelFailed
from hindsight_ray.ports import ChatModel
from hindsight_ray.service.asking import system_of
from hindsight_ray.settings import load_settings

STRATEGIES: tuple[Strategy, ...] = ("all at once", "step by step", "binary search")
_TOKENS = 12_000
_ANSWER_TOKENS = 1_024


def configured() -> tuple[ChatModel, Settings] | None:
    """The model that the environment names, or None."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(Path(folder))
    chat = LiteLLMChat(settings)
    return (chat, settings) if chat.model_of("strong") else None


async def opinion(chat: ChatModel, settings: Settings, log: Log, strategy: Strategy) -> Verdict:
    """One log's verdict; none where the model's answers cannot be used."""
    questions = judging(log.trajectory, [], strategy, tokens=_TOKENS)
    try:
        asked = next(questions)
        for _ in range(ASKED_MAX):
            asked = questions.send(await _answer(chat, settings, asked))
    except StopIteration as ended:
        return ended.value
    except ModelFailed as failed:
        return Verdict(reason=failed.message)
    return Verdict(reason="too many questions")


async def _answer(chat: ChatModel, settings: Settings, asked: Ask) -> Shape:
    prompt = chat.prompts[asked.prompt]
    question = Question(
        slot="strong",
        system=system_of(prompt),
        user=asked.told,
        schema_name=asked.shape.__name__,
        answer_schema=prompt.answer_schema,
        tokens_max=_ANSWER_TOKENS,
        timeout_s=settings.chat_timeout_s,
    )
    return read_answer((await chat.say(question)).text, asked.shape).value


async def judged(
    chat: ChatModel, settings: Settings, logs: Sequence[Log], strategy: Strategy
) -> list[Verdict]:
    """Verdicts of all logs, in order."""
    return [await opinion(chat, settings, log, strategy) for log in logs]


def hits(logs: Sequence[Log], verdicts: Sequence[Verdict], *, second: bool = False) -> Hits:
    """A verdict's first decision is its step, that decision's agent its agent."""
    found = Hits([], [])
    for log, verdict in zip(logs, verdicts, strict=True):
        label = log.second if second else log.label
        if label is None:
            continue
        named = _named(log, verdict)
        folded = {agent.casefold(): score for agent, score in named.agents.items()}
        found.agent.append(chance_on_top(folded, label.agent))
        event = log.at(label.step)
        step = chance_on_top(named.steps, str(event.event_id)) if event is not None else 0.0
        found.step.append(step)
    return found


def _named(log: Log, verdict: Verdict) -> Named:
    agent_of: Mapping[str, str] = {str(one.event_id): str(one.agent) for one in log.events}
    agents: dict[str, float] = defaultdict(float)
    for first in verdict.events[:1]:
        agents[agent_of[first]] += 1.0
    return Named(agents, dict.fromkeys(verdict.events[:1], 1.0))


def all_judged(logs: Sequence[Log]) -> dict[str, list[Verdict]]:
    """Every way of asking, where a model is set; nothing where none is."""
    found = configured()
    if found is None:
        return {}
    chat, settings = found
    return {
        f"judge, {strategy}": asyncio.run(judged(chat, settings, logs, strategy))
        for strategy in STRATEGIES
    }
