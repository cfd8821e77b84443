"""Who must be able to read a record: the scopes that it carries from where it came from.

An audience is a set of scopes, and its reader must hold `read` on every one; fewer scopes reach
more readers. Stands apart from access, which says what a caller holds: this says what is asked.
"""

import hashlib
from collections.abc import Iterable, Mapping

from hindsight_ray.core.access import AccessSet
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.memory import Sharing
from hindsight_ray.domain.rows import AudienceKey
from hindsight_ray.domain.scope import ScopeName, agent_scope, checked_audience

_KEY_DIGITS = 32


def audience_key(audience: Iterable[str]) -> AudienceKey:
    """32 hex digits of SHA-256 over the sorted scopes: equal for equal sets, and no others.

    Scopes hold no newline, so joining by it is injective.
    """
    text = "\n".join(sorted(set(audience)))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_KEY_DIGITS]


def readable_keys(
    catalogue: Mapping[AudienceKey, tuple[str, ...]], access: AccessSet
) -> frozenset[AudienceKey]:
    """The keys of those audiences of which the caller may read every scope.

    Worked out once for a catalogue: one that has grown is another object.
    """
    if access.keys is None or access.keys[0] is not catalogue:
        found = frozenset(
            key for key, audience in catalogue.items() if access.may_read_all(audience)
        )
        access.keys = (catalogue, found)
    return access.keys[1]


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
