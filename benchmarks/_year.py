"""A year of synthetic life: what agents say, with labels that say what should become of it.

Statements are made from parts, so that what is the same and what is not is known: a fact is a
subject, an attribute and a value, or a rule about a subject. The same fact is said again in other
letters (a duplicate) or other words (a paraphrase); another value for it is a contradiction, with
the topic that extraction would give it, turned by a negation, or plainly; what is so `beside` it is
another value that takes nothing back; noise is what nobody is sure of. Every draw follows from one
seed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from benchmarks._frames import DAYS, PLAIN, Attribute, Vocabulary

YEAR = timedelta(days=365)
Kind = Literal[
    "new", "duplicate", "paraphrase", "contradiction", "negation", "plain", "beside", "noise"
]

_SHARES: tuple[tuple[Kind, float], ...] = (
    ("new", 0.40), ("duplicate", 0.30), ("paraphrase", 0.08), ("contradiction", 0.06),
    ("negation", 0.02), ("plain", 0.0), ("beside", 0.0), ("noise", 0.12),
)  # fmt: skip
_TURNED = ("{subject} may be deployed on {value}", "{subject} may not be deployed on {value}")
_DEPLOYED = Attribute(_TURNED, DAYS[:5])
_NOISE = (
    "maybe {subject} was slow again", "somebody mentioned {subject} in passing",
    "{subject} could be related", "not sure what {subject} does", "I think {subject} is fine",
)  # fmt: skip


@dataclass(slots=True)
class Fact:
    """Something that is so until another value is said."""

    name: str
    subject: str
    attribute: str
    value: str
    topic: str | None
    said_as: Attribute
    turned: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}/{self.value}{'-' * self.turned}"

    def text(self, form: int = 0) -> str:
        if self.attribute == "deploy":
            return _TURNED[self.turned].format(subject=self.subject, value=self.value)
        return self.said_as.forms[form].format(
            subject=self.subject, attribute=self.attribute, value=self.value
        )


@dataclass(frozen=True, slots=True)
class Saying:
    """One write: who says what to which scope, and what it is."""

    kind: Kind
    agent: int
    user: int | None  # whose scope it goes to; None: the agent's own
    content: str
    topic: str | None
    confidence: float
    label: str  # of the fact at this value
    about: tuple[str, str] = ("", "")  # subject and attribute; of noise nothing
    value: str = ""
    alone: bool = False  # whether only one value holds at a time
    against: str | None = None  # the label that it contradicts


@dataclass(slots=True)
class _Holder:
    """One scope's facts, in the order in which they were first said."""

    facts: list[Fact] = field(default_factory=list[Fact])
    used: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


@dataclass(frozen=True, slots=True)
class _By:
    """Who says it, and where it goes."""

    agent: int
    user: int | None
    scope: str
    spoken: Vocabulary


def letters_apart(text: str) -> str:
    """The text without what a duplicate's letters may differ in."""
    words = text.casefold().rstrip(".").split()
    return " ".join(word for word in words if word not in ("please", "also"))


def sayings(count: int, agents: int, seed: int = 7, spoken: Vocabulary = PLAIN) -> Iterator[Saying]:
    """`count` writes of so many agents, half of them into the scopes of a tenth as many users."""
    drawn = random.Random(seed)
    holders: dict[str, _Holder] = {}
    shares: dict[Kind, float] = dict(_SHARES)
    shares |= {"plain": spoken.plain, "beside": spoken.beside}
    kinds, weights = tuple(shares), tuple(shares.values())
    for number in range(count):
        agent = drawn.randrange(agents)
        user = drawn.randrange(max(1, agents // 10)) if drawn.random() < 0.5 else None
        scope = f"a{agent}" if user is None else f"u{user}"
        holder = holders.setdefault(scope, _Holder())
        (kind,) = drawn.choices(kinds, weights)
        yield _said(drawn, number, kind, holder, _By(agent, user, scope, spoken))


def _said(drawn: random.Random, number: int, kind: Kind, holder: _Holder, by: _By) -> Saying:
    agent, user = by.agent, by.user
    if kind == "noise":
        subject = _subject(drawn, by.spoken, chinese=False)
        content = drawn.choice(_NOISE).format(subject=subject)
        return Saying(kind, agent, user, content, None, drawn.uniform(0.1, 0.5), f"noise{number}")
    fact = None if kind == "new" else _known(drawn, kind, holder)
    if fact is not None and kind == "beside":
        fact = _another(drawn, number, holder, fact, by.scope)
    if fact is None:
        fact = _new(drawn, number, holder, by)
        kind = "new"
    against = None
    content = fact.text()
    if kind == "duplicate":
        content = _reworded(drawn, content)
    elif kind == "paraphrase":
        content = fact.text(drawn.randrange(1, len(fact.said_as.forms)))
    elif kind in ("contradiction", "negation", "plain"):
        against = fact.label
        _change(drawn, fact)
        forms = len(fact.said_as.forms) if kind == "plain" and by.spoken.reworded else 1
        content = fact.text(drawn.randrange(forms))
    confidence = drawn.uniform(0.7, 1.0)
    return Saying(
        kind,
        agent,
        user,
        content,
        fact.topic,
        confidence,
        fact.label,
        about=(fact.subject, fact.attribute),
        value=fact.value,
        alone=not fact.said_as.beside and fact.attribute != "deploy",
        against=against,
    )


def _known(drawn: random.Random, kind: Kind, holder: _Holder) -> Fact | None:
    """A fact of the scope that this can be said of, or None if there is none yet."""
    fit = [fact for fact in holder.facts if _fits(fact, kind)]
    return drawn.choice(fit) if fit else None


def _fits(fact: Fact, kind: Kind) -> bool:
    if kind == "duplicate":
        return True
    if fact.said_as.beside or kind == "beside":
        return fact.said_as.beside and kind == "beside"
    if kind == "paraphrase":
        return len(fact.said_as.forms) > 1
    if (fact.attribute == "deploy") != (kind == "negation"):
        return False
    return kind == "negation" or (fact.topic is None) == (kind == "plain")


def _another(
    drawn: random.Random, number: int, holder: _Holder, fact: Fact, scope: str
) -> Fact | None:
    """Another thing that is so of the same subject, beside this one; None if all were said."""
    for value in drawn.sample(fact.said_as.values, k=len(fact.said_as.values)):
        key = (fact.subject, f"{fact.attribute} {value}")
        if key not in holder.used:
            holder.used.add(key)
            name = f"{scope}:{number}"
            more = Fact(name, fact.subject, fact.attribute, value, None, fact.said_as)
            holder.facts.append(more)
            return more
    return None


def _new(drawn: random.Random, number: int, holder: _Holder, by: _By) -> Fact:
    attributes = by.spoken.attributes
    names = [*attributes, "deploy"] if by.spoken.deploys else [*attributes]
    while True:
        attribute = drawn.choice(names)
        said_as = attributes.get(attribute, _DEPLOYED)
        subject = _subject(drawn, by.spoken, chinese=said_as.chinese)
        value = drawn.choice(said_as.values)
        key = (subject, attribute)
        if attribute == "deploy" or said_as.beside:
            key = (subject, f"{attribute} {value}")
        if key in holder.used:
            continue
        holder.used.add(key)
        topical = attribute != "deploy" and drawn.random() < by.spoken.topical
        topic = f"{subject} {attribute}" if topical else None
        fact = Fact(f"{by.scope}:{number}", subject, attribute, value, topic, said_as)
        holder.facts.append(fact)
        return fact


def _change(drawn: random.Random, fact: Fact) -> None:
    if fact.attribute == "deploy":
        fact.turned = not fact.turned
        return
    others = [value for value in fact.said_as.values if value != fact.value]
    fact.value = drawn.choice(others)


def _subject(drawn: random.Random, spoken: Vocabulary, *, chinese: bool) -> str:
    if chinese:
        return f"{drawn.choice(spoken.chinese)}{drawn.randrange(1, 100)}号"
    name, part = drawn.choice(spoken.names), drawn.choice(spoken.parts)
    return f"the {name} {part} {drawn.randrange(1, 100)}"


def _reworded(drawn: random.Random, text: str) -> str:
    """The same statement in other letters: case, a full stop, fillers, spaces."""
    ways = drawn.sample(range(4), k=drawn.randrange(1, 3))
    if 0 in ways:
        text = text[0].swapcase() + text[1:]
    if 1 in ways:
        text += "."
    if 2 in ways:
        text = text.replace(" is ", " is also ", 1) if " is " in text else f"please {text}"
    if 3 in ways:
        text = text.replace(" ", "  ", 1)
    return text
