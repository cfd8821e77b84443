"""A judge of statements whose labels are known, and that errs in a given share of its answers.

It is a scripted OpenAI-compatible server on loopback, asked through LiteLLM over HTTP as a real
model is. Whether it errs about a pair follows from the pair alone.
"""

import json
import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks._year import Saying, letters_apart
from hindsight_ray.core.digest import digest
from hindsight_ray.domain.settings import Settings
from tests.servers.scripted_model import scripted_model, told

_RELATIONS = ("same", "contradicts", "different")


@dataclass(slots=True)
class Judge:
    """What it has been taught, and how often it was asked and erred."""

    errs: float
    address: str = ""
    known: dict[str, Saying] = field(default_factory=dict[str, Saying])
    asked: int = 0
    erred: int = 0

    def learn(self, saying: Saying) -> None:
        self.known[letters_apart(saying.content)] = saying

    def settings(self, others: Settings) -> Settings:
        """The settings of a home that asks it."""
        asking = {"chat_weak": "openai/labelled", "chat_api_base": self.address}
        return Settings.model_validate(dict(others) | asking)

    def reply(self, question: dict[str, Any]) -> str:
        pairs = [self._judged(*block.split("\n")) for block in told(question).split("\n\n")]
        return json.dumps({"pairs": pairs}, ensure_ascii=False)

    def _judged(self, name: str, kept: str, new: str) -> dict[str, str]:
        self.asked += 1
        kept, new = kept.removeprefix("kept: "), new.removeprefix("new: ")
        one, other = self.known[letters_apart(new)], self.known[letters_apart(kept)]
        relation = _relation(one, other)
        drawn = random.Random(digest([kept, new]))
        if drawn.random() < self.errs:
            self.erred += 1
            relation = drawn.choice([other for other in _RELATIONS if other != relation])
        part = other.value if other.value in kept else kept.split()[-1]
        contradicted = part if relation == "contradicts" else ""
        return {"pair": name, "relation": relation, "contradicted": contradicted, "reason": "-"}


def _relation(one: Saying, other: Saying) -> str:
    if one.about != other.about or one.about == ("", ""):
        return "different"
    if one.value == other.value:
        return "same"
    return "contradicts" if one.alone else "different"


@contextmanager
def mistaken(errs: float) -> Generator[Judge]:
    """The judge, for as long as the block lasts."""
    judge = Judge(errs)
    with scripted_model([judge.reply]) as server:
        judge.address = server.address
        yield judge
