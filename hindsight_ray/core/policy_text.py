"""Is this text a policy? A strict reader in front of Casbin, because Casbin fails open.

A row that Casbin would skip, cut or read as something else is refused here with its line and
fault, and so is the whole text: a policy is in force as it was written or not at all.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NoReturn, cast

from hindsight_ray.domain.access import (
    ACTIONS,
    Membership,
    Policy,
    Revision,
    Rule,
)
from hindsight_ray.errors import InvalidPolicy

ROWS_MAX = 500_000
CHARACTERS_MAX = 64_000_000
ROLES_IN_CHAIN_MAX = 9
IMPLICIT_ROLES = ("role:agent", "role:user")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}\Z")
_PATTERNS = ("agent:*", "user:*", "agent:{self}", "agent:{member}", "user:{acting}")
ObjectClass = Literal["global", "agent", "user", "label"]


@lru_cache(maxsize=65_536)
def object_class(target: str) -> ObjectClass | None:
    """The class of a scope or `label:<id>`; None for everything else, patterns included."""
    if target == "global":
        return "global"
    kind, _, name = target.partition(":")
    if kind in ("agent", "user", "label") and _NAME.match(name):
        return cast(ObjectClass, kind)
    return None


def parse_policy(text: str, revision: int = 0) -> Policy:
    """Return the policy that `text` states, or raise `InvalidPolicy` naming line and fault.

    Rows are `p, subject, tenant, object, action, effect` and `g, member, role, tenant`; lines that
    start with `#` and empty lines are left out. No quoting, no wildcards but those of `Rule`.
    """
    rules: list[Rule] = []
    memberships: list[Membership] = []
    seen: dict[str, int] = {}
    lines: dict[str, int] = {}  # subject -> the line that first names it
    links: dict[str, int] = {}  # member or role -> the membership that first names it
    for line, fields in _rows(text):
        row = _row(fields, line)
        first = seen.setdefault(str(row), line)
        if first != line:
            _refuse(line, f"repeats line {first}; take one of them out")
        if isinstance(row, Rule):
            rules.append(row)
            lines.setdefault(row.subject, line)
        else:
            memberships.append(row)
            for name in (row.member, row.role):
                lines.setdefault(name, line)
                links.setdefault(name, line)
    if not rules:
        raise InvalidPolicy("`policy` holds no rule (`p, …`): it would deny everything", line=0)
    _check_names(lines)
    _check_roles(rules, memberships, links)
    return Policy(revision=Revision(revision), rules=tuple(rules), memberships=tuple(memberships))


def checked_rule(rule: Rule) -> Rule:
    """Return the rule if its parts have the known forms, else raise `InvalidPolicy`."""
    for fault in (
        _subject_fault(rule.subject),
        _tenant_fault(rule.tenant),
        _object_fault(rule.object, rule.action, rule.effect),
        _group_fault(rule.subject, rule.object),
    ):
        if fault is not None:
            raise InvalidPolicy(f"`rule` {rule} is not valid: {fault}", rule=str(rule))
    return rule


def checked_membership(membership: Membership) -> Membership:
    """Return the membership if its parts have the known forms, else raise `InvalidPolicy`."""
    fault = (
        _subject_fault(membership.member)
        or _role_fault(membership.role)
        or _tenant_fault(membership.tenant)
    )
    if fault is not None:
        raise InvalidPolicy(f"`membership` {membership} is not valid: {fault}")
    return membership


def checked_subject(text: str) -> str:
    """Return `agent:<id>`, `user:<id>` or `role:<id>`, else raise `InvalidPolicy`."""
    fault = _subject_fault(text)
    if fault is not None:
        raise InvalidPolicy(f"`subject` {text!r} is not valid: {fault}", value=text)
    return text


def _refuse(line: int, fault: str) -> NoReturn:
    raise InvalidPolicy(
        f"`policy` line {line}: {fault}; the last good policy stays in force",
        line=line,
        fault=fault,
    )


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    if text.startswith("\ufeff"):
        _refuse(1, "starts with a byte order mark; save the file as UTF-8 without one")
    if len(text) > CHARACTERS_MAX:
        _refuse(0, f"has {len(text)} characters; at most {CHARACTERS_MAX} are read")
    for line, raw in enumerate(text.split("\n"), start=1):
        if line > ROWS_MAX:
            _refuse(line, f"is beyond the {ROWS_MAX} lines that a policy may have")
        row = raw.removesuffix("\r").strip(" \t")
        if not row or row.startswith("#"):
            continue
        for character in row:
            if not " " <= character <= "~" and character != "\t":
                _refuse(line, _character_fault(row, character))
        yield line, [part.strip(" \t") for part in row.split(",")]


def _character_fault(row: str, character: str) -> str:
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    if unicodedata.normalize("NFC", row) != row:
        return f"holds {name} in a decomposed form (not NFC); ids are ASCII"
    return f"holds {name}, which no id may; ids are ASCII"


def _row(fields: Sequence[str], line: int) -> Rule | Membership:
    kind = fields[0]
    expected = {"p": 6, "g": 4}.get(kind)
    if expected is None:
        _refuse(line, f"starts with {kind!r}; rows start with `p` or `g`")
    if len(fields) != expected:
        form = "p, subject, tenant, object, action, effect"
        form = form if kind == "p" else "g, member, role, tenant"
        _refuse(line, f"has {len(fields)} fields instead of {expected} (`{form}`)")
    if "" in fields:
        _refuse(line, f"has an empty field {fields.index('') + 1}; Casbin takes it for a wildcard")
    return _rule(fields, line) if kind == "p" else _membership(fields, line)


def _rule(fields: Sequence[str], line: int) -> Rule:
    _, subject, tenant, target, action, effect = fields
    if effect not in ("allow", "deny"):
        _refuse(line, f"has the effect {effect!r}; it is `allow` or `deny`")
    if action not in ACTIONS:
        _refuse(line, f"has the action {action!r}; actions are {', '.join(ACTIONS)}")
    fault = (
        _subject_fault(subject)
        or _tenant_fault(tenant)
        or _object_fault(target, action, effect)
        or _group_fault(subject, target)
    )
    if fault is not None:
        _refuse(line, fault)
    return Rule.model_construct(
        subject=subject,
        tenant=tenant,
        object=target,
        action=action,
        effect=effect,
        until=None,
        grantor=None,
    )


def _membership(fields: Sequence[str], line: int) -> Membership:
    _, member, role, tenant = fields
    fault = _subject_fault(member) or _role_fault(role) or _tenant_fault(tenant)
    if fault is None and member == role:
        fault = f"makes {role!r} a member of itself"
    if fault is not None:
        _refuse(line, fault)
    return Membership(member=member, role=role, tenant=tenant)


@lru_cache(maxsize=65_536)
def _subject_fault(text: str) -> str | None:
    kind, _, name = text.partition(":")
    if kind in ("agent", "user", "role") and _NAME.match(name):
        return None
    if "*" in text or "{" in text:
        return f"has the subject {text!r}; patterns stand in objects only, never in subjects"
    return f"has the subject {text!r}; subjects are `agent:<id>`, `user:<id>` or `role:<id>`"


@lru_cache(maxsize=65_536)
def _role_fault(text: str) -> str | None:
    kind, _, name = text.partition(":")
    if kind == "role" and _NAME.match(name):
        return None
    return f"has the role {text!r}; a role is `role:<id>`"


@lru_cache(maxsize=65_536)
def _tenant_fault(text: str) -> str | None:
    if text == "*" or _NAME.match(text):
        return None
    return f"has the tenant {text!r}; a tenant is an id or `*` alone"


@lru_cache(maxsize=65_536)
def _object_fault(target: str, action: str, effect: str) -> str | None:
    kind = object_class(target)
    if kind == "label":
        if effect != "deny":
            return f"allows on {target!r}; a label can only deny"
        if action != "read":
            return f"denies `{action}` on {target!r}; a label denies `read`, and so all the rest"
        return None
    if kind is not None or target in _PATTERNS:
        return None
    return (
        f"has the object {target!r}; objects are `global`, `agent:<id>`, `user:<id>`,"
        " `label:<id>`, `agent:*`, `user:*`, `agent:{self}`, `agent:{member}` and `user:{acting}`"
    )


def _group_fault(subject: str, target: str) -> str | None:
    if target != "agent:{member}":
        return None
    if subject in IMPLICIT_ROLES:
        return f"has {target!r} on {subject!r}, which nobody is given; `agent:*` means every agent"
    if not subject.startswith("role:"):
        return f"has {target!r} on {subject!r}; only a role has members"
    return None


def _check_names(lines: dict[str, int]) -> None:
    roles = {subject.removeprefix("role:") for subject in lines if subject.startswith("role:")}
    for subject, line in lines.items():
        if subject.startswith("user:") and subject.removeprefix("user:") in roles:
            _refuse(line, f"names {subject!r} like a role; rename the one or the other")


def _check_roles(
    rules: Sequence[Rule], memberships: Sequence[Membership], lines: dict[str, int]
) -> None:
    """Refuse roles that give nothing, circles, and chains that Casbin would cut short."""
    giving = {rule.subject for rule in rules} | {one.member for one in memberships}
    above: dict[str, list[str]] = {}
    for one in memberships:
        if one.role not in giving:
            _refuse(lines[one.role], f"gives the role {one.role!r}, which no rule mentions")
        above.setdefault(one.member, []).append(one.role)
    depth: dict[str, int] = {}
    for start in above:
        _measure(start, above, depth, lines)
    for member, links in depth.items():
        roles = links + (1 if member.startswith("role:") else 0)
        if roles > ROLES_IN_CHAIN_MAX:
            _refuse(
                lines[member],
                f"begins a chain of {roles} roles at {member!r};"
                f" at most {ROLES_IN_CHAIN_MAX} are followed",
            )


def _measure(
    start: str, above: dict[str, list[str]], depth: dict[str, int], lines: dict[str, int]
) -> None:
    """Fill `depth` with the longest chain of memberships from `start`, without recursion."""
    open_now: set[str] = set()
    stack = [start]
    while stack:
        name = stack[-1]
        if name in depth:
            stack.pop()
            open_now.discard(name)
            continue
        open_now.add(name)
        waiting = [role for role in above.get(name, ()) if role not in depth]
        for role in waiting:
            if role in open_now:
                _refuse(lines[role], f"closes a circle of roles through {role!r}")
        if waiting:
            stack.append(waiting[0])
        else:
            depth[name] = max((depth[role] + 1 for role in above.get(name, ())), default=0)
