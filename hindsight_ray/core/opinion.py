"""What a judge thinks of two statements, and how far it is believed.

A judge is asked only where rules are not sure, and is believed only where it can be checked: one
that says "contradicts" has to quote what is contradicted, and the two must speak of something in
common; one that says "same" is overruled by other numbers, names, conditions or a negation. So
unrelated statements never retire each other, and a careless judge loses nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hindsight_ray.core.conflict import Reading, read, same_particulars
from hindsight_ray.core.kinds import number_of
from hindsight_ray.domain.memory import Memory

Relation = Literal["same", "contradicts", "different"]
Key = tuple[str, str, int]  # the new statement, the kept memory's id and revision


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's word. `failed` is why there is none, so that rules decide."""

    relation: Relation
    contradicted: str = ""  # the part of the kept statement that cannot hold beside the new one
    reason: str = ""
    by: str = ""  # the prompt's mark
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements that rules cannot tell apart or together."""

    new: str
    kept: Memory

    @property
    def key(self) -> Key:
        return key(self.new, self.kept)


@dataclass(frozen=True, slots=True)
class Opinions:
    """What has been judged so far. An edit makes another revision, which is judged anew."""

    known: Mapping[Key, Opinion] = field(default_factory=dict[Key, Opinion])

    def of(self, new: str, kept: Memory) -> Opinion | None:
        return self.known.get(key(new, kept))

    def plus(self, more: Mapping[Key, Opinion]) -> "Opinions":
        return Opinions({**self.known, **more})


def key(new: str, kept: Memory) -> Key:
    return new, kept.id, kept.revision


def believed(opinion: Opinion, new: Reading, kept: Memory) -> Relation:
    """The relation as far as it can be believed; `different` is what costs nothing."""
    old = read(kept.content)
    if opinion.relation == "same":
        return "same" if same_particulars(new, old) else "different"
    if opinion.relation == "contradicts":
        return "contradicts" if _named(opinion.contradicted, new, old, kept) else "different"
    return "different"


def _named(part: str, new: Reading, old: Reading, kept: Memory) -> bool:
    """Whether the part stands in the kept statement, says something, and what is left of that
    speaks of what the new one speaks of: a subject in common, and no other number or name."""
    quoted = " ".join(part.casefold().split()).strip(" .\"'“”")
    told = " ".join(kept.content.casefold().split())
    if not (quoted and quoted in told and read(quoted).stems):
        return False
    contradicted = Counter(read(quoted).words)
    left = list((Counter(old.words) - contradicted).elements())
    said = {*new.words, *new.numbers}
    particular = [number_of(word) or word for word in left if number_of(word) or word in old.names]
    return said.issuperset(particular) and bool(set(new.stems) & set(old.stems))
