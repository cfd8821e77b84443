"""What callers ask in a simulated history, and what the model says must become of it.

Each kind of call has a plan: looked up in the model when the call takes its snapshot, again when it
takes its writer's lock; what it changes, changes when it has committed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hindsight_ray.core.digest import derived_uuid, memory_uuid
from hindsight_ray.core.logs.formats import PARSERS
from hindsight_ray.core.logs.shape import run_uuid
from hindsight_ray.domain import commands as c
from tests.simulation.model import Course, Kept, Model, Row, Who

Said = tuple[str, Any]  # `ok` or an error's name, and what is compared of the answer
Effect = Callable[[], None]
Plan = tuple[Said, Effect | None]
Receipts = dict[tuple[str, str, str], Said]

LIMIT = 100  # hits that one search can give


def _no(error: str) -> Plan:
    return (error, None), None


def _confirm(pending: Kept, new: Kept) -> None:
    """What waited is said again with confidence."""
    pending.status = "active"
    pending.users |= new.users
    pending.rests_on |= new.rests_on
    if not pending.lasts(new):
        pending.expires = new.expires
    if new.weight >= pending.weight or new.outweighs(pending):
        _take_over(pending, new)


def _take_over(old: Kept, new: Kept) -> None:
    """What is kept is the new one's word from then on; nothing gets lighter."""
    old.author, old.user, old.run = new.author, new.user, new.run
    old.weight = max(old.weight, new.weight)
    old.trusted, old.reviewed = old.trusted or new.trusted, new.reviewed or old.reviewed


def _add_to(old: Kept, new: Kept, *, longer: bool, accepts: bool, takes: bool, rests: bool) -> None:
    """What the new one knows beyond the kept one of the same words."""
    if takes:
        _take_over(old, new)
    if takes:
        old.users |= new.users
    if rests:
        old.rests_on |= new.rests_on
    if longer:
        old.expires = new.expires
    if accepts:
        old.reviewed, old.trusted = new.reviewed, True


def _put_away(one: Kept) -> None:
    one.status, one.put_away = "archived", one.status


@dataclass
class Asked:
    """One call under way: whose, what, and what is expected of it by now."""

    model: Model
    receipts: Receipts
    who: Who
    token: str
    command: c.Command
    seconds: Callable[[Any], float | None]
    expected: Said | None = None
    shown: tuple[str, ...] = ()
    _units: int = 0
    _planned: int = 0
    _effect: Effect | None = None
    _final: bool = False
    _runs: list[str] = field(default_factory=list)
    _outside: bool = False
    _then: dict[str, Kept] = field(default_factory=dict[str, Kept])  # as the snapshot had them
    _readable: frozenset[str] = frozenset()  # runs that memories may name
    _reviews: bool = False
    _readers: tuple[set[str], set[str]] = field(default_factory=lambda: (set[str](), set[str]()))

    # What the parked ports tell

    def begun(self) -> int:
        self._units += 1
        return self._units

    def snapshot(self, unit: int, *, write: bool) -> None:
        if self._final:
            return
        self._planned = unit
        if not self.model.good(self.who):
            self.expected, self._effect = _no("InvalidTicket")
        else:
            plan = getattr(self, f"_{type(self.command).__name__.lower()}")
            self.expected, self._effect = plan(self.command, write)
        known = self.expected is not None and self.expected[0] != "ok"
        self._final = known or self._effect is None

    def committed(self, unit: int) -> None:
        if unit == self._planned and self._effect is not None:
            self._effect()
            for one in self.model.memories.values():
                one.remember()
            self._effect, self._final = None, True

    # What it was answered

    def check(self, answer: Any, error: str | None) -> None:
        """Compare the answer with what was expected; raises `AssertionError`."""
        if self.expected is None:
            self.expected = _no("InvalidTicket")[0] if not self.model.good(self.who) else None
        said = ("ok", None) if error is None else (error, None)
        assert self.expected is not None, f"{self.about} never looked: {said}"
        assert said[0] == self.expected[0], f"{self.about}: {said[0]}, expected {self.expected}"
        if error is not None:
            return
        told = self._told(answer)
        if told is not None:
            assert told == self.expected[1], f"{self.about}: {told}, not {self.expected}"
            return
        match self.command:
            case c.Search():
                self._check_hits(answer)
                self._check_runs(hit.memory for hit in answer.hits)
            case c.Get() | c.History() | c.Explain():
                self._note_shown(answer)
                self._check_runs([answer] if isinstance(self.command, c.Get) else [])
            case c.ReadRun() | c.ReviewRun():
                self.model.show_text(self.who, self._runs, *self._readers, untrusted=self._outside)
            case _:
                pass

    def _told(self, answer: Any) -> Any:
        """What of the answer is compared as it is; None for one of another kind."""
        match self.command:
            case (
                c.Write() | c.Update() | c.Forget() | c.Promote()
                | c.Archive() | c.Restore() | c.DecidePending()
            ):  # fmt: skip
                return answer.result, tuple(answer.ids)
            case c.CloseProject():
                return set(answer.archived)
            case c.ImportRuns():
                return answer.runs, answer.repeated
            case c.JoinRun() | c.StartRun():
                return not answer.goal.startswith("(")
            case c.CloseRun():
                return answer.ended
            case _:
                return None

    def _note_shown(self, answer: Any) -> None:
        self.model.show(self.who, self._runs, self._then.values())
        if isinstance(self.command, c.History) and not self._reviews:
            told = {note.status for note in answer if note.content is not None}
            assert told <= {"active", "outdated"}, self.about
        if isinstance(self.command, c.Explain) and answer.run_id is not None:
            run = self.model.runs[answer.run_id]
            labels = self.model.labels_of_run(answer.run_id)
            assert self.model.reads(self.who, run.audience, labels), self.about
            outside = not run.trusted
            self.model.show_text(self.who, self._runs, run.audience, labels, untrusted=outside)

    def _check_runs(self, shown: Iterable[Any]) -> None:
        """A memory names the run that it came from to who may be shown that."""
        for memory in shown:
            told, named = memory.source.run, self._then[str(memory.id)].run
            expected = named if named in self._readable else None
            assert told == expected, f"{self.about}: {memory.id} is of {told}, not {expected}"

    @property
    def about(self) -> str:
        who = self.who
        return f"{who.principal} for {who.acting} in {who.tenant}: {self.command!r}"

    def _check_hits(self, answer: Any) -> None:
        model, who = self.model, self.who
        expected: frozenset[str] = self.expected[1] if self.expected else frozenset()
        ids = [str(hit.memory.id) for hit in answer.hits]
        assert set(ids) <= expected, f"{self.about} found {set(ids) - expected} beyond"
        one_each = {name for name in expected if self._one_each(name)}
        authors = {self._then[name].author for name in one_each}
        if len(expected) <= LIMIT:
            assert expected - one_each <= set(ids), f"{self.about} missed {expected - set(ids)}"
            heard = [self._then[name].author for name in ids if name in one_each]
            assert sorted(heard) == sorted(authors), f"{self.about} heard {heard} of {authors}"
            assert len(ids) + answer.hidden_by_author_limit == len(expected), self.about
        model.show(who, self._runs, [self._then[name] for name in ids])

    def _one_each(self, name: str) -> bool:
        one = self._then[name]
        return one.reviewed is None and one.scope not in (self.who.principal, self.who.acting)

    # Plans

    def _search(self, command: c.Search, write: bool) -> Plan:
        model = self.model
        if command.run_id is not None and not model.names_run(self.who, command.run_id):
            return _no(model.kept_from_run(self.who, command.run_id))
        named = [] if command.run_id is None else [str(command.run_id)]
        self._runs = list(dict.fromkeys([*named, *model.open_runs(self.who)]))
        statuses = command.statuses or ("active", "outdated")
        seen = {
            name for name in model.visible(self.who)
            if model.memories[name].status in statuses
            and (command.scopes is None or model.memories[name].scope in command.scopes)
        }  # fmt: skip
        self._then = {name: replace(model.memories[name]) for name in seen}
        self._readable = self._runs_read()
        return ("ok", frozenset(seen)), None

    def _runs_read(self) -> frozenset[str]:
        named = {one.run for one in self._then.values() if one.run is not None}
        return frozenset(name for name in named if self.model.reads_run(self.who, name))

    def _by_id(self, command: c.Get | c.History | c.Explain, write: bool) -> Plan:
        self._runs = self.model.open_runs(self.who)
        if not self.model.sees(self.who, command.memory_id):
            return _no("NotFound")
        one = self.model.memories[command.memory_id]
        told = self.model.told_of(self.who, one) if isinstance(command, c.History) else replace(one)
        self._then = {command.memory_id: told}
        self._reviews = self.model.may(self.who, "review", one.scope)
        self._readable = self._runs_read()
        return ("ok", None), None

    _get = _history = _explain = _by_id

    def _write(self, command: c.Write, write: bool) -> Plan:
        model, who = self.model, self.who
        scope = command.scope or who.acting or who.principal
        if not model.may(who, "write", scope):
            return _no("AccessDenied")
        if command.run_id is not None and not model.names_run(who, command.run_id):
            return _no(model.kept_from_run(who, command.run_id))
        taken = model.inherited(who)
        if command.run_id is not None:
            more = model.offered.get((str(command.run_id), who.name))
            if more is not None:
                taken.audience |= more.audience
                taken.labels |= more.labels
                taken.untrusted |= more.untrusted
        operator = model.may(who, "administer", "global")
        outside = taken.untrusted or (
            command.source == "tool" and not operator and who.agent is not None
        )
        status = "active" if command.confidence >= 0.6 else "pending"
        new = Kept(
            tenant=who.tenant,
            scope=scope,
            audience=frozenset({scope, *([who.acting] if who.acting else []), *taken.audience}),
            labels=frozenset({*command.labels, *taken.labels}),
            content=command.content,
            status="quarantined" if outside and model.set_apart(who, scope) else status,
            trusted=not outside,
            expires=self.seconds(command.expires_at),
            author=f"agent:{who.agent}" if who.agent else f"user:{who.user}",
            weight=0.2 if taken.untrusted else self._weight(outside=outside),
            project=command.project,
            user=who.user,
            users=self._own_word(),
            run=command.run_id,
        )
        known = (who.tenant, who.owner, command.command_id) in self.receipts
        if not known and new.expires is not None and new.expires <= model.now:
            return _no("InvalidInput")  # sent for the first time, or again, after its time
        return self._kept("write", command.command_id, new)

    def _promote(self, command: c.Promote, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.may(who, "promote", command.scope):
            return _no("AccessDenied")
        if not model.sees(who, command.memory_id):
            return _no("NotFound")
        old = model.memories[command.memory_id]
        new = Kept(
            tenant=who.tenant,
            scope=command.scope,
            audience=frozenset({command.scope}),
            labels=old.labels,
            content=old.content,
            status="active",
            trusted=True,
            expires=old.expires,
            author=old.author if old.author.startswith("agent:") else "user:None",
            weight=old.weight,
            reviewed=who.principal,
            dated=old.dated,
            project=old.project,
            rests_on=frozenset({command.memory_id, *old.rests_on}),
        )
        return self._kept("promote", command.command_id, new)

    def _kept(self, verb: str, command_id: str, new: Kept) -> Plan:
        model, who = self.model, self.who
        own = str(memory_uuid(who.tenant, who.owner, verb, command_id))
        reads = model.reads(who, new.audience, new.labels)
        key = (who.tenant, who.owner, command_id)
        done = self.receipts.get(key)
        if done is not None:
            return done if reads else ("ok", ("stored", (own,))), None
        twin = model.twin(new) if reads else None
        waited = model.confirmed(new) if reads and twin is None else None
        as_new: Said = ("ok", ("stored" if new.status == "active" else "pending", (own,)))
        if waited is not None:
            real: Said = ("ok", ("merged", (waited,)))
            change = partial(_confirm, new=new)
        elif twin is None:
            real, change = as_new, None
        else:
            old = model.memories[twin]
            adds = new.decides_end_of(old)
            longer = not old.lasts(new) and adds
            accepts = new.reviewed is not None and old.reviewed is None
            may = model.may_touch(new, old)
            touched, takes = (longer or accepts) and may, new.outweighs(old) and may
            real = ("ok", ("merged" if touched else "duplicate", (twin,)))

            change = partial(
                _add_to,
                new=new,
                longer=touched and longer,
                accepts=touched and accepts,
                takes=takes,
                rests=(touched and accepts and adds) or takes,
            )
        known = waited or twin
        if known is None or change is None:
            effect: Effect = partial(model.memories.__setitem__, own, new)
        else:
            effect = partial(change, model.memories[known])
            change(after := replace(model.memories[known]))
            if not model.shows(who, after):
                real = as_new
        told = real if reads else ("ok", ("stored", (own,)))
        return told, self._once(key, real, effect)

    def _own_word(self) -> frozenset[str]:
        return frozenset({self.who.user} if self.who.user else set())

    def _weight(self, *, outside: bool) -> float:
        if self.model.may(self.who, "administer", "global"):
            return 0.9
        if self.who.agent is None:
            return 1.0
        return 0.5 if outside else 0.6

    def _once(self, key: tuple[str, str, str], said: Said, effect: Effect) -> Effect:
        def both() -> None:
            self.receipts[key] = said
            effect()

        return both

    def _update(self, command: c.Update, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.sees(who, command.memory_id):
            return _no("NotFound")
        old = model.memories[command.memory_id]
        if not model.may(who, "write", old.scope):
            return _no("AccessDenied")
        key = (who.tenant, who.owner, command.command_id)
        if key in self.receipts:
            return self.receipts[key], None
        end = self.seconds(command.expires_at)
        if write and end is not None and end <= model.now:
            return _no("InvalidInput")
        taken = model.inherited(who)
        if write and self._takes_away(command, old, from_outside=taken.untrusted):
            return _no("AccessDenied")
        status, rewords = old.status, command.content not in (None, old.content)
        if rewords and taken.untrusted and model.set_apart(who, old.scope):
            status = "quarantined"

        def effect() -> None:
            old.status = status
            old.expires = old.expires if end is None else end
            if rewords and command.content is not None:
                old.content, old.reviewed = command.content, None
                old.users |= self._own_word()
                old.trusted = not taken.untrusted
                old.author = f"agent:{who.agent}" if who.agent else f"user:{who.user}"
                old.user = who.user
                old.weight = 0.2 if taken.untrusted else self._weight(outside=False)

        result = "pending" if status == "quarantined" else "stored"
        said: Said = ("ok", (result, (str(command.memory_id),)))
        return said, self._once(key, said, effect)

    def _takes_away(self, command: c.Update, old: Kept, *, from_outside: bool) -> bool:
        """Whether it asks for more than `write`, and the caller has not got that."""
        model, who = self.model, self.who
        end = self.seconds(command.expires_at)
        sooner = end is not None and (old.expires is None or end < old.expires)
        if sooner and not model.may(who, "forget", old.scope):
            return True
        heavier = old.weight > self._weight(outside=False) or old.reviewed is not None
        later = end is not None and old.expires is not None and end > old.expires
        says = command.content is not None or command.importance is not None or later
        asks_more = says and heavier and not self._speaks_for(old)
        if asks_more and not model.may(who, "review", old.scope):
            return True
        sound = old.trusted or old.reviewed is not None
        rewords = command.content not in (None, old.content)
        return rewords and (self._launders(old) or (from_outside and sound))

    def _speaks_for(self, old: Kept) -> bool:
        own = f"agent:{self.who.agent}" == old.author if self.who.agent else False
        return own or (self.who.user is not None and self.who.user == old.user)

    def _launders(self, old: Kept) -> bool:
        """Whether what the caller may have learned asks more of a reader than this one does."""
        taken, who = self.model.inherited(self.who), self.who
        needed = {old.scope, *([who.acting] if who.acting else []), *taken.audience}
        return not (needed <= old.audience and taken.labels <= old.labels)

    def _forget(self, command: c.Forget, write: bool) -> Plan:
        model, who = self.model, self.who
        key = (who.tenant, who.owner, command.command_id)
        old = model.memories.get(command.memory_id)
        done = self.receipts.get(key)
        if done is not None and old is not None:
            if not model.reads(who, old.audience, old.labels):
                return _no("NotFound")
            return (done if model.may(who, "forget", old.scope) else ("AccessDenied", None)), None
        if old is None or not model.sees(who, command.memory_id):
            return _no("NotFound")
        if not model.may(who, "forget", old.scope):
            return _no("AccessDenied")

        def effect() -> None:
            old.gone = True

        said: Said = ("ok", ("forgotten", (str(command.memory_id),)))
        return said, self._once(key, said, effect)

    def _share(self, command: c.Share, write: bool) -> Plan:
        model, who = self.model, self.who
        until = self.seconds(command.until)
        if not model.may(who, "share", command.scope):
            return _no("AccessDenied")
        if not all(model.may_give(who, one, command.scope, until) for one in command.actions):
            return _no("AccessDenied")
        key = (who.tenant, who.owner, command.command_id)
        if key in self.receipts:
            return self.receipts[key], None
        if until is not None and until <= model.now:
            return _no("InvalidInput")
        rows = self._rows(command, command.actions, until)
        said: Said = ("ok", None)
        return said, self._once(key, said, lambda: model.grant(rows))

    def _rows(self, command: c.Share, actions: Iterable[str], until: float | None) -> list[Row]:
        who = self.who
        return [
            Row(command.to, who.tenant, command.scope, action, until=until, grantor=who.principal)
            for action in dict.fromkeys(actions)
        ]

    def _revoke(self, command: c.Revoke, write: bool) -> Plan:
        model, who = self.model, self.who
        anyones = model.may(who, "administer", "global")
        if not anyones and not model.may(who, "share", command.scope):
            return _no("AccessDenied")
        key = (who.tenant, who.owner, command.command_id)
        if key in self.receipts:
            by_administer = self.receipts[key][1]
            return _no("AccessDenied") if by_administer and not anyones else (("ok", None), None)
        going = [
            rule for rule in model.grants
            if (rule.tenant, rule.object, rule.subject) == (who.tenant, command.scope, command.to)
            and (anyones or rule.grantor == who.principal)
            and (command.actions is None or rule.action in command.actions)
        ]  # fmt: skip

        def effect() -> None:
            if going:
                model.revoke(who.tenant, str(command.scope), going)

        said: Said = ("ok", anyones)
        return said, self._once(key, said, effect)

    # Keeping in order

    def _archive(self, command: c.Archive, write: bool) -> Plan:
        model, who, name = self.model, self.who, command.memory_id
        key = (who.tenant, who.owner, command.command_id)
        old = model.memories.get(name)
        if key in self.receipts:
            seen = model.sees(who, name) or self._sees_put_away(name)
            return (self.receipts[key] if seen else ("NotFound", None)), None
        if old is None or not model.sees(who, name):
            return _no("NotFound")
        if not model.may(who, "forget", old.scope):
            return _no("AccessDenied")
        if old.status == "archived":
            return _no("RevisionConflict")
        said: Said = ("ok", ("archived", (str(name),)))
        return said, self._once(key, said, lambda: _put_away(old))

    def _restore(self, command: c.Restore, write: bool) -> Plan:
        model, who, name = self.model, self.who, command.memory_id
        old = model.memories.get(name)
        if old is None or not (model.sees(who, name) or self._sees_put_away(name)):
            return _no("NotFound")
        if not model.decides(who, "restore", old.scope):
            return _no("AccessDenied")
        key = (who.tenant, who.owner, command.command_id)
        if key in self.receipts:
            return self.receipts[key], None
        if old.status != "archived":
            return _no("RevisionConflict")

        def effect() -> None:
            old.status, old.put_away = old.put_away or "active", None
            if old.expires is not None and old.expires <= model.now:
                old.expires = None

        said: Said = ("ok", ("restored", (str(name),)))
        return said, self._once(key, said, effect)

    def _sees_put_away(self, name: str) -> bool:
        """Whether the caller sees an archived one, were it not for its time."""
        model, one = self.model, self.model.memories.get(name)
        if one is None or one.gone or one.status != "archived" or one.tenant != self.who.tenant:
            return False
        reads = model.reads(self.who, one.audience, one.labels)
        return reads and model.may(self.who, "review", one.scope)

    def _closeproject(self, command: c.CloseProject, write: bool) -> Plan:
        model, who = self.model, self.who
        key = (who.tenant, who.owner, command.command_id)
        if key in self.receipts:
            named = self.receipts[key][1]
            return ("ok", {name for name in named if self._put_away_by_right(name)}), None
        mine = {
            name: one for name, one in model.memories.items()
            if one.project == command.project and one.status != "archived"
            and model.sees(who, name) and model.may(who, "forget", one.scope)
        }  # fmt: skip

        def effect() -> None:
            for one in mine.values():
                _put_away(one)

        said: Said = ("ok", set(mine))
        return said, self._once(key, said, effect)

    def _put_away_by_right(self, name: str) -> bool:
        """Whether the caller might put it away, were it as it was before that."""
        model, one = self.model, self.model.memories.get(name)
        if one is None or one.gone or not model.may(self.who, "forget", one.scope):
            return False
        then = one.put_away or "active" if one.status == "archived" else one.status
        return model.shows(self.who, replace(one, status=then, expires=None))

    def _decidepending(self, command: c.DecidePending, write: bool) -> Plan:
        model, who, name = self.model, self.who, command.memory_id
        key = (who.tenant, who.owner, command.command_id)
        old, done = model.memories.get(name), self.receipts.get(key)
        if done is not None and done[1][0] == "forgotten":
            return self._rejected(old, done), None
        if old is None or not model.sees(who, name):
            return _no("NotFound")
        if not model.decides(who, command.decision, old.scope):
            return _no("AccessDenied")
        if done is not None:
            return done, None
        if old.status not in ("pending", "quarantined"):
            return _no("RevisionConflict")
        launders = write and self._says_beyond(command, old)
        if launders or not model.decides_on(who, old):
            return _no("AccessDenied")

        def effect() -> None:
            if command.decision == "reject":
                old.gone = True
                return
            old.status, old.reviewed = "active", who.principal
            if command.content is not None:
                old.content = command.content
                old.users |= self._own_word()
                old.author = f"agent:{who.agent}" if who.agent else f"user:{who.user}"
                old.user = who.user
                old.weight = self._weight(outside=False)

        result = "forgotten" if command.decision == "reject" else "stored"
        said: Said = ("ok", (result, (str(name),)))
        return said, self._once(key, said, effect)

    def _says_beyond(self, command: c.DecidePending, old: Kept) -> bool:
        """Whether an edit or a reason may say more than this record's readers may read."""
        shown = self.model.inherited(self.who)
        if command.decision == "edit" and (self._launders(old) or shown.untrusted):
            return True
        return bool(command.why) and not (
            shown.audience <= old.audience and shown.labels <= old.labels
        )

    def _rejected(self, old: Kept | None, done: Said) -> Said:
        """What whoever sends a rejection again is told of what is gone."""
        if old is None or not self.model.reads(self.who, old.audience, old.labels):
            return ("NotFound", None)
        may = self.model.decides(self.who, "reject", old.scope)
        return done if may else ("AccessDenied", None)

    # Runs

    def _importruns(self, command: c.ImportRuns, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.may(who, "administer", "global"):
            return _no("AccessDenied")
        ((_, log),) = PARSERS[command.format](command.text).runs
        name = str(run_uuid(log, who.tenant, command.scope))
        if name in model.runs:
            return ("ok", (0, 1)), None

        def effect() -> None:
            model.runs[name] = Course(
                tenant=who.tenant,
                scope=str(command.scope),
                audience={str(command.scope)},
                members=set(),
                entered=set(),
                closed=True,
                trusted=command.trusted,
                vouched_by=who.principal if command.trusted else None,
                imported=True,
                said_by=[f"{name} says" for _ in log.steps],
            )

        return ("ok", (1, 0)), effect

    def _startrun(self, command: c.StartRun, write: bool) -> Plan:
        model, who, scope = self.model, self.who, str(command.scope)
        if not model.may(who, "write", scope):
            return _no("AccessDenied")
        name = derived_uuid("run", who.tenant, who.owner, command.command_id)
        if name in model.runs:
            return self._begun_again(name)

        def effect() -> None:
            shown = model.inherited(who)
            own = {f"agent:{who.agent}"} if who.agent else set[str]()
            model.offered[name, who.name] = shown
            model.runs[name] = Course(
                tenant=who.tenant,
                scope=scope,
                audience={scope, *([who.acting] if who.acting else []), *(shown.audience - own)},
                members={(who.agent, who.user)},
                entered={(who.name, who.sitting)},
                begun_by=(who.agent, who.user),
            )

        return ("ok", True), effect

    def _begun_again(self, name: str) -> Plan:
        """Told as it is now, to who may be shown it; nothing else comes of it."""
        model, who, run = self.model, self.who, self.model.runs[name]
        labels = model.labels_of_run(name)
        if not model.reads(who, run.audience, labels):
            return ("ok", False), None
        audience = set(run.audience)

        def effect() -> None:
            model.show_text(who, model.open_runs(who), audience, labels)

        return ("ok", True), effect

    def _joinrun(self, command: c.JoinRun, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.writes_run(who, command.run_id):
            return _no(model.kept_from_run(who, command.run_id))
        run = model.runs[command.run_id]
        if run.closed:
            return _no("RunClosed")
        audience = run.audience.union([who.acting] if who.acting else [])
        if audience != run.audience and not model.may(who, "read", run.scope):
            return _no("AccessDenied")
        labels = model.labels_of_run(command.run_id) | model.inherited(who).labels
        reads = model.reads(who, audience, labels)

        def effect() -> None:
            shown = model.inherited(who)
            model.show_text(
                who, [command.run_id], shown.audience, shown.labels, untrusted=shown.untrusted
            )
            run.audience |= audience
            run.members.add((who.agent, who.user))
            run.entered.add((who.name, who.sitting))
            if reads:
                model.show_text(who, model.open_runs(who), audience, labels)

        return ("ok", reads), effect

    def _closerun(self, command: c.CloseRun, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.takes_part(who, command.run_id):
            return _no(model.kept_from_run(who, command.run_id))
        run = model.runs[command.run_id]
        ends = run.closed or model.ends_run(who, command.run_id)

        def effect() -> None:
            if ends:
                run.closed = True
            else:
                run.entered.discard((who.name, who.sitting))

        return ("ok", ends), effect

    def _recordevents(self, command: c.RecordEvents, write: bool) -> Plan:
        model, who = self.model, self.who
        if not model.takes_part(who, command.run_id):
            return _no(model.kept_from_run(who, command.run_id))
        run = model.runs[command.run_id]
        if run.closed:
            return _no("RunClosed")
        return ("ok", None), lambda: run.said_by.extend(who.name for _ in command.events)

    def _readrun(self, command: c.ReadRun, write: bool) -> Plan:
        run = self.model.runs.get(command.run_id)
        known = run is not None and run.tenant == self.who.tenant
        labels = self.model.labels_of_run(command.run_id)
        if not known or run is None or not self.model.reads(self.who, run.audience, labels):
            return _no("NotFound")
        self._runs, self._readers = self.model.open_runs(self.who), (set(run.audience), labels)
        self._outside = not run.trusted
        return ("ok", None), None

    def _reviewrun(self, command: c.ReviewRun, write: bool) -> Plan:
        run = self.model.runs.get(command.run_id)
        if run is None or run.tenant != self.who.tenant:
            return _no("NotFound")
        if not self.model.may(self.who, "review", run.scope):
            return _no(self.model.kept_from_run(self.who, command.run_id))
        model = self.model
        names = {agent or user or "" for agent, user in run.members} | set(run.said_by)
        shown = [
            model.offered[command.run_id, one]
            for one in names
            if (command.run_id, one) in model.offered
        ]
        audience = run.audience.union(*(one.audience for one in shown))
        labels: set[str] = set[str]().union(*(one.labels for one in shown))
        knows = model.reads(self.who, audience, labels)
        self._runs = model.open_runs(self.who) if knows else []
        self._readers = (set(audience), labels)
        self._outside = not run.trusted or any(one.untrusted for one in shown)
        return ("ok", None), None

    def episode(self, name: str) -> Kept | None:
        """The dated record that reviewing this run now leaves; None if it has been reviewed so."""
        model, run = self.model, self.model.runs[name]
        if not run.said_by or (once := (str(run.closed), len(run.said_by))) in run.reviewed:
            return None
        run.reviewed.add(once)
        shown = [
            model.offered[name, one] for one in set(run.said_by) if (name, one) in model.offered
        ]
        agents = {f"agent:{agent}" for agent, _ in run.members if agent and not run.imported}
        from_others = run.audience.union(*(one.audience for one in shown)) - agents
        untrusted = not run.trusted or any(one.untrusted for one in shown)
        users = {user for _, user in run.members if user}
        return Kept(
            tenant=run.tenant,
            scope=run.scope,
            audience=frozenset({run.scope, *from_others}),
            labels=frozenset(model.labels_of_run(name)),
            content=f"episode of {name} {once}",
            status="quarantined" if untrusted else "active",
            trusted=not untrusted,
            expires=None,
            author="agent:reviewer",
            weight=0.2 if untrusted else 0.6,
            reviewed=run.vouched_by,
            user=next(iter(users)) if len(users) == 1 else None,
            users=frozenset(users if len(users) == 1 else set[str]()),
            dated=True,
            once=once,
            run=name,
        )
