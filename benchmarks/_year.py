"""A year of synthetic life: what agents say, with labels that say what should become of it.

Statements are made from parts, so that what is the same and what is not is known: a fact is a
subject, an attribute and a value, or a rule about a subject. The same fact is said again in other
letters (a duplicate) or other words (a paraphrase); another value for it is a contradiction, with
the topic that extraction would give it, turned by a negation, or plainly; noise is what nobody is
sure of. Every draw follows from one seed.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

YEAR = timedelta(days=365)
Kind = Literal["new", "duplicate", "paraphrase", "contradiction", "negation", "plain", "noise"]

_SHARES: tuple[tuple[Kind, float], ...] = (
    ("new", 0.40), ("duplicate", 0.30), ("paraphrase", 0.08), ("contradiction", 0.06),
    ("negation", 0.02), ("plain", 0.02), ("noise", 0.12),
)  # fmt: skip
_WITH_TOPIC = 0.6
_SUBJECTS = (
    "billing", "checkout", "search", "login", "ledger", "mailer", "gateway", "catalogue", "invoice",
    "stock", "pricing", "refund", "session", "upload", "export", "audit", "report", "cart",
)  # fmt: skip
_PARTS = ("service", "database", "queue", "cache", "worker", "cluster", "proxy", "job")
_VALUES: dict[str, tuple[str, ...]] = {
    "owner": ("Amara", "Bruno", "Chen", "Dana", "Emeka", "Farid", "Greta", "Hana"),
    "region": ("Oslo", "Lima", "Tokyo", "Accra", "Dublin", "Mumbai", "Quito", "Osaka"),
    "backup day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "retry limit": ("3", "5", "8", "12", "20", "40"),
    "log format": ("JSON", "plain text", "CSV", "syslog"),
    "restart command": ("reload", "bounce", "recycle", "failover"),
}
_FORMS = (
    "The {attribute} of {subject} is {value}",
    "{subject} has {value} as its {attribute}",
    "For {subject}, {value} was chosen as {attribute}",
)
_TURNED = ("{subject} may be deployed on {day}", "{subject} may not be deployed on {day}")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
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
    said: int = 0  # versions so far: each value has a label of its own
    turned: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}/{self.said}"

    def text(self, form: int = 0) -> str:
        if self.attribute == "deploy":
            template = _TURNED[self.turned]
            return template.format(subject=self.subject, day=self.value)
        return _FORMS[form].format(subject=self.subject, attribute=self.attribute, value=self.value)


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


def letters_apart(text: str) -> str:
    """The text without what a duplicate's letters may differ in."""
    words = text.casefold().rstrip(".").split()
    return " ".join(word for word in words if word not in ("please", "also"))


def sayings(count: int, agents: int, seed: int = 7) -> Iterator[Saying]:
    """`count` writes of so many agents, half of them into the scopes of a tenth as many users."""
    drawn = random.Random(seed)
    holders: dict[str, _Holder] = {}
    kinds, weights = zip(*_SHARES, strict=True)
    for number in range(count):
        agent = drawn.randrange(agents)
        user = drawn.randrange(max(1, agents // 10)) if drawn.random() < 0.5 else None
        scope = f"a{agent}" if user is None else f"u{user}"
        holder = holders.setdefault(scope, _Holder())
        (kind,) = drawn.choices(kinds, weights)
        yield _said(drawn, number, kind, holder, _By(agent, user, scope))


def _said(drawn: random.Random, number: int, kind: Kind, holder: _Holder, by: _By) -> Saying:
    agent, user, scope = by.agent, by.user, by.scope
    if kind == "noise":
        subject = _subject(drawn)
        content = drawn.choice(_NOISE).format(subject=subject)
        return Saying(kind, agent, user, content, None, drawn.uniform(0.1, 0.5), f"noise{number}")
    fact = None if kind == "new" else _known(drawn, kind, holder)
    if fact is None:
        fact = _new(drawn, number, holder, scope)
        kind = "new"
    against = None
    content = fact.text()
    if kind == "duplicate":
        content = _reworded(drawn, content)
    elif kind == "paraphrase":
        content = fact.text(drawn.randrange(1, len(_FORMS)))
    elif kind in ("contradiction", "negation", "plain"):
        against = fact.label
        _change(drawn, fact)
        content = fact.text()
    confidence = drawn.uniform(0.7, 1.0)
    return Saying(kind, agent, user, content, fact.topic, confidence, fact.label, against)


def _known(drawn: random.Random, kind: Kind, holder: _Holder) -> Fact | None:
    """A fact of the scope that this can be said of, or None if there is none yet."""
    turning = kind == "negation"
    fit = [
        fact
        for fact in holder.facts
        if kind == "duplicate"
        or (
            (fact.attribute == "deploy") == turning
            and (kind != "contradiction" or fact.topic is not None)
            and (kind != "plain" or fact.topic is None)
        )
    ]
    return drawn.choice(fit) if fit else None


def _new(drawn: random.Random, number: int, holder: _Holder, scope: str) -> Fact:
    while True:
        subject = _subject(drawn)
        attribute = drawn.choice([*_VALUES, "deploy"])
        key = (subject, attribute)
        if attribute == "deploy":
            value = drawn.choice(_DAYS)
            key = (subject, f"deploy {value}")
        else:
            value = drawn.choice(_VALUES[attribute])
        if key in holder.used:
            continue
        holder.used.add(key)
        topical = attribute != "deploy" and drawn.random() < _WITH_TOPIC
        topic = f"{subject} {attribute}" if topical else None
        fact = Fact(f"{scope}:{number}", subject, attribute, value, topic)
        holder.facts.append(fact)
        return fact


def _change(drawn: random.Random, fact: Fact) -> None:
    fact.said += 1
    if fact.attribute == "deploy":
        fact.turned = not fact.turned
        return
    others = [value for value in _VALUES[fact.attribute] if value != fact.value]
    fact.value = drawn.choice(others)


def _subject(drawn: random.Random) -> str:
    name, part = drawn.choice(_SUBJECTS), drawn.choice(_PARTS)
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
