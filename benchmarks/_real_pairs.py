"""How many pairs of sentences that people and agents really said does the rule hold to exclude each
other? Compared within each conversation or group of logs, among those that a rule could compare at
all. There is no label: the pairs are few enough to be read, and are told as examples.
"""

import itertools
import json
import pathlib
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hindsight_ray.core.claims import claims, clash
from hindsight_ray.core.values import as_list, as_object

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_TEXT_MAX = 4_000
_SENTENCES_MAX = 4_000  # of one conversation or group
_GROUP_MAX = 60
_TASKS_OF_A_GROUP = 5


@dataclass(slots=True)
class Pairs:
    """What was read, and the pairs that were found in it."""

    sentences: int = 0
    certain: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    suggested: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def real_pairs(data: pathlib.Path) -> Pairs:
    """All pairs of all logs that are in `data`."""
    found = Pairs()
    for texts in _documents(data):
        said = (s.strip() for text in texts for s in _SENTENCE.findall(text))
        sentences = list(dict.fromkeys(s for s in said if 8 <= len(s) <= 200))[:_SENTENCES_MAX]
        found.sentences += len(sentences)
        for one, other in _comparable(sentences):
            clashing = clash(one, other)
            if clashing is not None:
                kept = found.certain if clashing.certain else found.suggested
                kept.append((one, other))
    return found


def _comparable(sentences: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of one claim, or in the same words but for one."""
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for sentence in sentences:
        for claim in claims(sentence):
            groups[claim.about].append(sentence)
        words = sentence.split()
        for place in range(len(words) if len(words) > 2 else 0):
            groups[place, tuple(words[:place] + words[place + 1 :])].append(sentence)
    pairs = (
        pair for group in groups.values() for pair in itertools.combinations(group[:_GROUP_MAX], 2)
    )
    return iter(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))


def _documents(data: pathlib.Path) -> Iterator[list[str]]:
    for path in sorted(data.glob("locomo/conversations*.json")):
        conversations = _read(path)
        fields = as_object(conversations)
        for conversation in fields.values() if fields is not None else as_list(conversations) or ():
            yield list(_texts(conversation, "text"))
    for path in sorted(data.glob("tau_airline/*.json")):
        groups: dict[int, list[str]] = defaultdict(list)
        for run in _read(path):
            groups[run["task_id"] // _TASKS_OF_A_GROUP] += _texts(run["traj"], "content")
        yield from groups.values()
    for name in ("algorithm_generated", "hand_crafted"):
        path = data / f"who_and_when/{name}.json"
        if path.is_file():
            yield list(_texts(_read(path), "content"))


def _read(path: pathlib.Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _texts(value: object, key: str) -> Iterator[str]:
    """The texts under `key`, wherever they are."""
    fields = as_object(value)
    if fields is not None:
        said = fields.get(key)
        if isinstance(said, str) and len(said) < _TEXT_MAX:
            yield said
    for one in fields.values() if fields is not None else as_list(value) or ():
        yield from _texts(one, key)
