"""What anybody may see, said again in plain dictionaries: the oracle of the simulation.

Knows nothing of the package: rules are rows of text, memories are dictionaries' values, and every
question is answered by looking at all of them. Slow, short, and meant to be read against the
README's table of who sees what.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

CARRIED = {"read", "write", "forget", "review"}  # what an agent may do because of its user
OUTSIDE = "tool"


@dataclass(frozen=True)
class Who:
    """A ticket: whose it is, until when (seconds), and what it is narrowed to."""

    tenant: str
    agent: str | None
    user: str | None
    session: str | None
    ticket: str
    ends: float
    scopes: frozenset[str] | None = None
    actions: frozenset[str] | None = None

    @property
    def principal(self) -> str:
        return f"agent:{self.agent}" if self.agent else f"user:{self.user}"

    @property
    def acting(self) -> str | None:
        return f"user:{self.user}" if self.agent and self.user else None

    @property
    def owner(self) -> str:
        return f"{self.principal} {self.acting}" if self.acting else self.principal

    @property
    def name(self) -> str:
        return self.agent or self.user or ""

    @property
    def sitting(self) -> str:
        return f"{self.session or ''} {self.user or ''}"


@dataclass(frozen=True)
class Row:
    """A rule; with a grantor, something that was shared. `until` in seconds."""

    subject: str
    tenant: str
    object: str
    action: str
    effect: str = "allow"
    until: float | None = None
    grantor: str | None = None


@dataclass
class Kept:
    """A memory as it stands."""

    tenant: str
    scope: str
    audience: frozenset[str]
    labels: frozenset[str]
    content: str
    status: str
    trusted: bool
    expires: float | None
    author: str
    weight: float
    reviewed: str | None = None
    dated: bool = False  # an episode: never taken for another
    once: tuple[str, int] | None = None  # as its run was then, which says so again if this goes
    gone: bool = False
    project: str | None = None
    put_away: str | None = None  # the status that it had when it was archived
    user: str | None = None  # whose word it is, or whom its author acted for
    users: frozenset[str] = frozenset()  # whose word any revision of it was
    rests_on: frozenset[str] = frozenset()
    run: str | None = None  # where it was said or learned
    stood: frozenset[tuple[bool, bool, str]] = frozenset()  # every way: trusted, reviewed, status

    def __post_init__(self) -> None:
        self.remember()

    def remember(self) -> None:
        """Keep how it stands now, which its history tells ever after."""
        self.stood |= {(self.trusted, self.reviewed is not None, self.status)}

    def lasts(self, new: "Kept") -> bool:
        """Whether it is there for as long as the new one asks to be."""
        return self.expires is None or (new.expires is not None and new.expires <= self.expires)

    def outweighs(self, old: "Kept") -> bool:
        return self.weight > old.weight or (self.trusted and not old.trusted)

    def decides_end_of(self, old: "Kept") -> bool:
        """Whether it might say the old one in other words, and so make it last longer."""
        if self.outweighs(old):
            return True
        accepted = old.reviewed is not None and self.reviewed is None
        return self.weight >= old.weight and not accepted


@dataclass
class Offered:
    """What an agent was shown in a run."""

    audience: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    untrusted: bool = False


@dataclass
class Course:
    """A run."""

    tenant: str
    scope: str
    audience: set[str]
    members: set[tuple[str | None, str | None]]
    entered: set[tuple[str, str]]
    begun_by: tuple[str | None, str | None] | None = None
    closed: bool = False
    trusted: bool = True
    vouched_by: str | None = None  # who imported it as trusted
    imported: bool = False
    said_by: list[str] = field(default_factory=list)
    reviewed: set[tuple[str, int]] = field(default_factory=set)


class Model:
    """All of it, at one moment."""

    def __init__(self, policy: str) -> None:
        self.now = 0.0
        self.rules: list[Row] = []
        self.roles: list[tuple[str, str, str]] = []
        self.grants: list[Row] = []
        self.ended: set[tuple[str, str]] = set()
        self.memories: dict[str, Kept] = {}
        self.runs: dict[str, Course] = {}
        self.offered: dict[tuple[str, str], Offered] = {}
        self.load(policy)

    def load(self, policy: str) -> None:
        """Put these rules in force; what was shared stays as far as its giver may give it."""
        self.rules, self.roles = [], []
        for line in policy.splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if cells[0] == "p":
                subject, tenant, target, action, effect = cells[1:6]
                self.rules.append(Row(subject, tenant, target, action, effect))
            elif cells[0] == "g":
                self.roles.append((cells[1], cells[2], cells[3]))
        for tenant, scope in dict.fromkeys((rule.tenant, rule.object) for rule in self.grants):
            self.revoke(tenant, scope, ())

    # Who may do what

    def good(self, who: Who) -> bool:
        return who.ends > self.now and (who.tenant, who.ticket) not in self.ended

    def may(self, who: Who, action: str, scope: str) -> bool:
        subjects = self._subjects(who)
        found = [r for r in self._rows(who, action, scope) if r.subject in subjects]
        if any(rule.effect == "deny" for rule in found):
            return False
        if who.actions is not None and action not in who.actions:
            return False
        if who.scopes is not None and scope not in who.scopes:
            return False
        whole = scope == "global" and action in ("administer", "audit")
        if whole and who.scopes is not None and who.actions is None:
            return False
        return any(subjects[rule.subject] or action in CARRIED for rule in found)

    def held_until(self, who: Who, action: str, scope: str) -> float | None:
        """How long the ticket's own principal holds the action; None if it does not."""
        if not self.may(who, action, scope):
            return None
        subjects = self._subjects(who)
        ends = [
            float("inf") if rule.until is None else rule.until
            for rule in self._rows(who, action, scope)
            if subjects.get(rule.subject)
            and rule.effect == "allow"
            and not (who.acting and rule.object == "user:{acting}")
        ]
        return max(ends, default=None)

    def may_give(self, who: Who, action: str, scope: str, until: float | None) -> bool:
        lasting = float("inf") if until is None else until
        held = [self.held_until(who, needed, scope) for needed in ("share", action)]
        return all(end is not None and lasting <= end for end in held)

    def only_by_grant(self, who: Who, scope: str) -> bool:
        subjects = self._subjects(who)
        return self.may(who, "read", scope) and not any(
            rule.grantor is None and rule.effect == "allow" and rule.subject in subjects
            for rule in self._rows(who, "read", scope)
        )

    def _subjects(self, who: Who) -> dict[str, bool]:
        """Every name that counts for the caller, and whether as its own."""
        found: dict[str, bool] = {}
        sides = [(who.user, "user", not who.agent), (who.agent, "agent", True)]
        for name, kind, own in sides:
            waiting = [f"{kind}:{name}", f"role:{kind}"] if name else []
            while waiting:
                one = waiting.pop()
                if found.get(one) is None or (own and not found[one]):
                    found[one] = own
                    waiting += [
                        role for member, role, where in self.roles
                        if member == one and where in (who.tenant, "*")
                    ]  # fmt: skip
        return found

    def _rows(self, who: Who, action: str, target: str) -> list[Row]:
        kind = target.partition(":")[0]
        objects = {target, f"{kind}:*"}
        if target == f"agent:{who.agent}":
            objects.add("agent:{self}")
        if target == f"user:{who.user}":
            objects.add("user:{acting}")
        return [
            rule for rule in (*self.rules, *self.grants)
            if rule.action == action and rule.object in objects
            and rule.tenant in (who.tenant, "*")
            and (rule.until is None or rule.until > self.now)
        ]  # fmt: skip

    def at_this_moment(self) -> "Model":
        """The same, which remembers what it has worked out: for asking much while nothing moves."""
        return _Standing(self)

    # What they see

    def reads(self, who: Who, audience: Iterable[str], labels: Iterable[str]) -> bool:
        if not all(self.may(who, "read", scope) for scope in audience):
            return False
        return not any(self.hides(who, label) for label in labels)

    def hides(self, who: Who, label: str) -> bool:
        subjects = self._subjects(who)
        return any(
            rule.object == f"label:{label}" and rule.effect == "deny"
            and rule.subject in subjects and rule.tenant in (who.tenant, "*")
            for rule in self.rules
        )  # fmt: skip

    def sees(self, who: Who, name: str) -> bool:
        one = self.memories.get(name)
        return one is not None and self.shows(who, one)

    def shows(self, who: Who, one: Kept) -> bool:
        if one.gone or one.tenant != who.tenant or not self.good(who):
            return False
        if one.expires is not None and one.expires <= self.now:
            return False
        if not self.reads(who, one.audience, one.labels):
            return False
        doubtful = not one.trusted and one.reviewed is None and self.only_by_grant(who, one.scope)
        if one.status == "active" and not doubtful:
            return True
        return self.may(who, "review", one.scope)

    def visible(self, who: Who) -> set[str]:
        """Every memory that the caller sees; scopes are looked up once each."""
        read = {one.audience for one in self.memories.values() if one.tenant == who.tenant}
        scopes = {scope for scope in frozenset[str]().union(*read) if self.may(who, "read", scope)}
        return {
            name for name, one in self.memories.items()
            if one.tenant == who.tenant and one.audience <= scopes and self.sees(who, name)
        }  # fmt: skip

    def decides(self, who: Who, decision: str, scope: str) -> bool:
        """Whether they may do to the scope what the decision on something that waits does to it."""
        needed = ["write", "promote"] + ["forget"] * (decision in ("reject", "restore"))
        return self.may(who, "review", scope) and any(self.may(who, one, scope) for one in needed)

    def decides_on(self, who: Who, one: Kept) -> bool:
        """Nobody does on their own quarantined text, or that of the user they bring."""
        agent = one.author.startswith("agent:")
        own = one.author == (f"agent:{who.agent}" if agent else f"user:{who.user or '-'}")
        return one.status != "quarantined" or not own or self.may(who, "administer", "global")

    # Runs

    def open_runs(self, who: Who) -> list[str]:
        return [
            name for name, run in self.runs.items()
            if run.tenant == who.tenant and not run.closed
            and (who.name, who.sitting) in run.entered
        ]  # fmt: skip

    def writes_run(self, who: Who, name: str) -> bool:
        run = self.runs.get(name)
        return run is not None and run.tenant == who.tenant and self.may(who, "write", run.scope)

    def takes_part(self, who: Who, name: str) -> bool:
        return self.writes_run(who, name) and (who.agent, who.user) in self.runs[name].members

    def ends_run(self, who: Who, name: str) -> bool:
        """Whether they end it for everybody; else they leave it."""
        run = self.runs[name]
        began, owns = (who.agent, who.user) == run.begun_by, who.principal == run.scope
        return began or owns or self.may(who, "administer", "global")

    def names_run(self, who: Who, name: str) -> bool:
        """Whether a search may be of this run; a narrowed ticket has no more than it says."""
        narrowed = who.scopes is not None or who.actions is not None
        return (not narrowed and name in self.open_runs(who)) or self.takes_part(who, name)

    def labels_of_run(self, name: str) -> set[str]:
        """Of all that was shown in it to anybody."""
        shown = [one for (run, _), one in self.offered.items() if run == name]
        return set[str]().union(*(one.labels for one in shown))

    def reads_run(self, who: Who, name: str) -> bool:
        run = self.runs.get(name)
        return run is not None and self.reads(who, run.audience, self.labels_of_run(name))

    def kept_from_run(self, who: Who, name: str) -> str:
        """What is told to somebody without the right: that it is missing only to a reader."""
        run = self.runs.get(name)
        there = run is not None and run.tenant == who.tenant
        return "AccessDenied" if there and self.reads_run(who, name) else "NotFound"

    def inherited(self, who: Who) -> Offered:
        found = Offered()
        for run in self.open_runs(who):
            one = self.offered.get((run, who.name), Offered())
            found.audience |= one.audience
            found.labels |= one.labels
            found.untrusted |= one.untrusted
        return found

    def show(self, who: Who, runs: Sequence[str], shown: Iterable[Kept]) -> None:
        """Note that these memories were shown in these runs."""
        for one in shown:
            for run in runs:
                known = self.offered.setdefault((run, who.name), Offered())
                known.audience |= one.audience
                known.labels |= one.labels
                known.untrusted |= not one.trusted

    def told_of(self, who: Who, one: Kept) -> Kept:
        """The record as its history tells of it: from outside if any revision that is told is."""
        reviews = self.may(who, "review", one.scope)
        by_grant = self.only_by_grant(who, one.scope)
        told = [
            trusted for trusted, reviewed, status in one.stood
            if reviews or (status == "active" and (trusted or reviewed or not by_grant))
        ]  # fmt: skip
        return replace(one, trusted=one.trusted and all(told))

    def show_text(
        self,
        who: Who,
        runs: Sequence[str],
        audience: Iterable[str],
        labels: Iterable[str] = (),
        *,
        untrusted: bool = False,
    ) -> None:
        """Note that text with these readers was shown in these runs."""
        for run in runs:
            known = self.offered.setdefault((run, who.name), Offered())
            known.audience |= set(audience)
            known.labels |= set(labels)
            known.untrusted |= untrusted

    # What a change does

    def set_apart(self, who: Who, scope: str) -> bool:
        if scope == "global" or scope not in (who.principal, who.acting):
            return True
        return any(
            rule.object == scope and rule.tenant == who.tenant and rule.action == "read"
            and (rule.until is None or rule.until > self.now)
            for rule in self.grants
        )  # fmt: skip

    def twin(self, new: Kept) -> str | None:
        """The record of the same words that a new one is taken for. None that ends sooner, unless
        the new one may make it last."""
        if new.dated:
            return None
        found = [
            name for name, one in self.memories.items()
            if one.tenant == new.tenant and one.scope == new.scope and one.content == new.content
            and not one.gone and not one.dated and one.status in ("active", new.status)
            and (one.expires is None or one.expires > self.now)
            and one.audience <= new.audience and one.labels <= new.labels
            and one.project == new.project
            and (one.lasts(new) or (self.may_touch(new, one) and new.decides_end_of(one)))
        ]  # fmt: skip
        return min(found, default=None)

    def confirmed(self, new: Kept) -> str | None:
        """The record that waits for a person and is now said again with confidence."""
        found = [
            name for name, one in self.memories.items()
            if one.tenant == new.tenant and one.scope == new.scope and one.content == new.content
            and one.status == "pending" and not one.gone and not one.dated
            and (one.expires is None or one.expires > self.now) and self.may_touch(new, one)
            and one.project == new.project and (one.lasts(new) or new.decides_end_of(one))
        ]  # fmt: skip
        return min(found, default=None) if new.status == "active" and not new.dated else None

    def may_touch(self, new: Kept, old: Kept) -> bool:
        if (old.trusted or old.reviewed) and not new.trusted:
            return False
        if new.status == "quarantined" and old.status != "quarantined":
            return False
        return new.audience == old.audience and new.labels == old.labels

    def revoke(self, tenant: str, scope: str, going: Sequence[Row]) -> None:
        """Take these away, and on this scope whatever nobody with the right gives any more."""
        here = [r for r in self.grants if r.tenant == tenant and r.object == scope]
        left = [rule for rule in here if rule not in going]
        self.grants = [rule for rule in self.grants if rule not in here]
        waiting = left
        while waiting:
            fit = [r for r in waiting if self.may_give(_giver(r), r.action, scope, r.until)]
            if not fit:
                break
            self.grants += fit
            waiting = [rule for rule in waiting if rule not in fit]

    def erase(self, tenant: str, user: str) -> tuple[set[str], set[str]]:
        """What is the user's or names them goes; return that, and what may go or change with it."""
        scope = f"user:{user}"
        mine = {
            name for name, one in self.memories.items()
            if one.tenant == tenant and (scope in one.audience or user in one.users)
        }  # fmt: skip
        touched, grown = set(mine), True
        while grown:
            more = {n for n, one in self.memories.items() if one.rests_on & touched} - touched
            touched |= more
            grown = bool(more)
        for name in mine:
            self.memories[name].gone = True
        over = {
            name for name, run in self.runs.items()
            if run.tenant == tenant
            and (scope in run.audience or any(member[1] == user for member in run.members))
        }  # fmt: skip
        for name in over:
            del self.runs[name]
        self.offered = {key: one for key, one in self.offered.items() if key[0] not in over}
        for name in mine:
            self.teaches_again(self.memories[name])
        return mine, touched - mine

    def teaches_again(self, gone: Kept) -> None:
        """A run that outlives what was learned from it is learned from anew."""
        run = self.runs.get(gone.run or "")
        if run is not None and gone.once is not None:
            run.reviewed.discard(gone.once)

    def grant(self, rows: Sequence[Row]) -> None:
        newer = {replace(row, until=None) for row in rows}
        self.grants = [r for r in self.grants if replace(r, until=None) not in newer]
        self.grants += rows
        for row in rows[:1]:  # what was passed on of what these replace rests on them now, or ends
            self.revoke(row.tenant, row.object, ())


class _Standing(Model):
    """A model of one moment; every answer about who may do what is worked out once."""

    def __init__(self, model: Model) -> None:
        self.__dict__.update(model.__dict__)
        self._may: dict[tuple[Who, str, str], bool] = {}
        self._hides: dict[tuple[Who, str], bool] = {}

    def may(self, who: Who, action: str, scope: str) -> bool:
        key = (who, action, scope)
        if key not in self._may:
            self._may[key] = super().may(who, action, scope)
        return self._may[key]

    def hides(self, who: Who, label: str) -> bool:
        key = (who, label)
        if key not in self._hides:
            self._hides[key] = super().hides(who, label)
        return self._hides[key]


def _giver(rule: Row) -> Who:
    kind, _, name = (rule.grantor or "").partition(":")
    agent, user = (name, None) if kind == "agent" else (None, name)
    return Who(rule.tenant, agent, user, None, "", float("inf"))
