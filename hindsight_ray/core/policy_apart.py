"""Which callers does a question tell apart, and how are the answers said in few true lines?

A question is an action on one object. Whoever no rule about it names, in person or by a role, is
decided as a stranger is; so the named, a stranger of each kind, the object's owner, and every agent
of these for every user of these, are everybody. `policy_callers` says how a stranger is spoken of.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hindsight_ray.core.policy_callers import STRANGER, spoken
from hindsight_ray.core.policy_index import PolicyIndex
from hindsight_ray.core.policy_text import IMPLICIT_ROLES
from hindsight_ray.domain.access import Rule

Who = tuple[str | None, str | None]  # the agent, and the user it acts for; or the user alone
T = TypeVar("T")


@dataclass(slots=True)
class Line(Generic[T]):
    """What holds for a kind of caller, whomever it acts for, and for whom it does not hold."""

    who: Who
    value: T
    apart: dict[Who, None] = field(default_factory=dict)  # in order

    @property
    def but_not(self) -> tuple[str, ...]:
        return tuple(spoken(*one) for one in self.apart)


class Apart:
    """The callers of one tenant that one policy, or either of two, tells apart."""

    def __init__(self, indexes: Sequence[PolicyIndex], tenant: str) -> None:
        self._indexes = indexes
        self._tenant = tenant
        self._given: dict[str, set[str]] | None = None
        self._meant: dict[str, frozenset[str]] = {}

    def rules(self, action: str, target: str) -> list[Rule]:
        """Those that can bear on who does `action` on `target`."""
        found = (rule for index in self._indexes for _, rule in index.near(self._tenant, target))
        return [rule for rule in found if rule.action == action]

    def callers(self, rules: Iterable[Rule], owner: str) -> Iterator[Who]:
        """Everybody whom these rules, all about one object, tell apart: the wider ones first.

        `owner` is whose the object is, by whom rules about everybody's own are told.
        """
        named = {owner}
        for subject in {rule.subject for rule in rules}:
            named |= self._meant_by(subject)
        agents = [STRANGER, *_of("agent", named)]
        users = [STRANGER, *_of("user", named)]
        yield from ((agent, None) for agent in agents)
        yield from ((None, user) for user in users)
        strange = "role:user" in named or owner == f"user:{STRANGER}"
        for user in users if strange else users[1:]:
            yield from ((agent, user) for agent in agents)

    def _meant_by(self, subject: str) -> frozenset[str]:
        """The subject, if it is a principal; else who has the role, and `role:agent` and such."""
        if not subject.startswith("role:"):
            return frozenset({subject})
        if subject not in self._meant:
            if self._given is None:
                self._given = {}
                for index in self._indexes:
                    for member, role in index.given(self._tenant):
                        self._given.setdefault(role, set()).add(member)
            seen, waiting = {subject}, [subject]
            while waiting:
                fresh = self._given.get(waiting.pop(), set()) - seen
                seen |= fresh
                waiting.extend(fresh)
            self._meant[subject] = frozenset(
                one for one in seen if not one.startswith("role:") or one in IMPLICIT_ROLES
            )
        return self._meant[subject]


def lines(callers: Iterable[Who], value: Callable[[Who], T | None]) -> list[Line[T]]:
    """What holds for whom; None holds for nobody. The callers come as `Apart.callers` has them.

    Every line is true of all that it stands for but those set apart, and whatever holds for
    anybody is in a line. A pair has one of its own only where no wider line says the same of it.
    """
    found: dict[Who, Line[T]] = {}
    for who in callers:
        here = value(who)
        wider = _wider(who)
        said = False
        for line in (found[one] for one in wider if one in found):
            if not wider.isdisjoint(line.apart):
                continue  # it does not speak of this one
            if line.value == here:
                said = True
            else:
                line.apart[who] = None
        if here is not None and not (said and None not in who):
            found[who] = Line(who, here)
    return sorted(found.values(), key=lambda line: (STRANGER in line.who, spoken(*line.who)))


def _wider(who: Who) -> set[Who]:
    """The kinds of caller that this one is of, too."""
    agent, user = who
    agents = (None,) if agent is None else (agent, STRANGER)
    users = (None,) if user is None else (user, STRANGER, None)
    return {(one, other) for one in agents for other in users} - {who, (None, None)}


def _of(kind: str, names: Iterable[str]) -> list[str]:
    found = (name.partition(":") for name in sorted(names))
    return [name for where, _, name in found if where == kind and name != STRANGER]
