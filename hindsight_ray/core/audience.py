"""Who must be able to read a record: the scopes that it carries from where it came from.

An audience is a set of scopes, and its reader must hold `read` on every one; fewer scopes reach
more readers. Stands apart from access, which says what a caller holds: this says what is asked.
"""

import hashlib
from collections.abc import Iterable, Mapping

from hindsight_ray.core.access import AccessSet
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.memory import Memory, Sharing
from hindsight_ray.domain.rows import AudienceKey
from hindsight_ray.domain.scope import ScopeName, agent_scope, checked_audience

_KEY_DIGITS = 32
_OUTSIDE = "~outside "  # no scope begins so, and it comes last in order


def audience_key(audience: Iterable[str]) -> AudienceKey:
    """32 hex digits of SHA-256 over the sorted scopes: equal for equal sets, and no others.

    Scopes hold no newline, so joining by it is injective.
    """
    text = "\n".join(sorted(set(audience)))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_KEY_DIGITS]


def readable_keys(
    catalogue: Mapping[AudienceKey, tuple[str, ...]], access: AccessSet
) -> frozenset[AudienceKey]:
    """The keys of those audiences of which the caller may read every scope, and text from outside.

    Worked out once for a catalogue: one that has grown is another object.
    """
    if access.keys is None or access.keys[0] is not catalogue:
        found = frozenset(key for key, audience in catalogue.items() if _readable(audience, access))
        access.keys = (catalogue, found)
    return access.keys[1]


def filed_audience(memory: Memory) -> tuple[str, ...]:
    """The audience under whose key a record is filed: its own, marked while it is doubted.

    So a filter by keys keeps text from outside away from whoever may not be shown it, before any
    route's limit: a flood of it pushes nothing else out of their answers.
    """
    audience = tuple(sorted(set(memory.audience)))
    return (*audience, f"{_OUTSIDE}{memory.scope}") if doubted(memory) else audience


def scopes_of(filed: tuple[str, ...]) -> tuple[str, ...]:
    """The scopes of a catalogue's audience, without its mark."""
    return filed[:-1] if filed and filed[-1].startswith(_OUTSIDE) else filed


def doubted(memory: Memory) -> bool:
    """Whether it is text from outside that nobody has accepted."""
    return not memory.source.trusted and memory.source.reviewed_by is None


def shows_doubted(access: AccessSet, scope: str) -> bool:
    """Whether text from outside in a scope that the caller may read is for them.

    Whoever reads it by grant, or as one of a group, is shown it once it has been accepted: it was
    the owner's when the scope was shared.
    """
    return not access.by_grant(scope) or access.may("review", scope)


def _readable(filed: tuple[str, ...], access: AccessSet) -> bool:
    if not filed or not filed[-1].startswith(_OUTSIDE):
        return access.may_read_all(filed)
    scope = filed[-1].removeprefix(_OUTSIDE)
    return access.may_read_all(filed[:-1]) and shows_doubted(access, scope)


def contained_keys(
    catalogue: Mapping[AudienceKey, tuple[str, ...]], audience: Iterable[str]
) -> frozenset[AudienceKey]:
    """The keys of all records that ask nothing of a reader that `audience` does not."""
    outer = frozenset(audience)
    return frozenset(key for key, filed in catalogue.items() if outer.issuperset(scopes_of(filed)))


def doubted_keys(catalogue: Mapping[AudienceKey, tuple[str, ...]]) -> frozenset[AudienceKey]:
    """The keys under which text from outside is filed that nobody has accepted."""
    return frozenset(key for key, filed in catalogue.items() if scopes_of(filed) != filed)


def written_audience(scope: str, caller: Caller) -> tuple[ScopeName, ...]:
    """Of a direct write: its scope, and the user that an agent's ticket acts for.

    So what an agent learns with one user it does not recall for another, wherever it is kept.
    """
    acting = caller.acting_scope
    return checked_audience([scope] if acting is None else [scope, acting])


def run_audience(scope: str, acting: Iterable[str | None]) -> tuple[ScopeName, ...]:
    """Of a run: its scope, and the users that its participants' tickets act for."""
    return checked_audience([scope, *(user for user in acting if user is not None)])


def distilled_audience(
    scope: str,
    run: Iterable[str],
    offered: Iterable[Iterable[str]],
    *,
    sharing: Sharing,
    participants: Iterable[str],
) -> tuple[ScopeName, ...]:
    """Of what a review writes to `scope`: that, the run's audience, and those of what was offered.

    `offered` are the audiences of the memories offered to the cited events, `participants` the
    ids of the run's agents. From a collaborative record their own scopes are left out: by recording
    in the run they disclosed to its readers. Users and other agents never are, and `scope` stays.
    """
    scopes = set(union([run, *offered]))
    if sharing == "collaborative":
        scopes -= {agent_scope(agent) for agent in participants}
    return checked_audience([scope, *scopes])


def union(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Every scope (or label) of any group, sorted: what derives from all of them carries all."""
    return tuple(sorted({item for group in groups for item in group}))


def contained(inner: Iterable[str], outer: Iterable[str]) -> bool:
    """Whether `inner` asks nothing of a reader that `outer` does not: every reader of a record
    with the outer audience may read one with the inner. Holds for labels in the same way."""
    return set(inner) <= set(outer)
