"""How a `RowFilter` becomes SQL: a prepared condition for each shape, a list as one value."""

import functools
import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, or_, select

from hindsight_ray.adapters.ledger.sql import dialect
from hindsight_ray.adapters.ledger.sql.schema import (
    audience_keys,
    memories,
    memory_labels,
    micros,
)
from hindsight_ray.domain.rows import RowFilter

Shape = frozenset[str]  # names of the parts of a filter that narrow

_OPTIONAL = ("keys", "scopes", "types", "layers", "task_type", "since", "until")


def shape_of(row_filter: RowFilter) -> Shape:
    """Which parts narrow; filters of one shape share a prepared statement."""
    used = {name for name in _OPTIONAL if getattr(row_filter, name) is not None}
    if row_filter.denied_labels:
        used.add("labels")
    return frozenset(used)


def parameters(row_filter: RowFilter) -> dict[str, Any]:
    """The values that a statement of this filter's shape binds."""
    bound: dict[str, Any] = {
        "tenant": row_filter.tenant,
        "now": micros(row_filter.now),
        "statuses": json.dumps(sorted(row_filter.statuses)),
    }
    for name in ("keys", "scopes", "types", "layers"):
        narrowed = getattr(row_filter, name)
        if narrowed is not None:
            bound[name] = json.dumps(sorted(narrowed))
    if row_filter.denied_labels:
        bound["labels"] = json.dumps(sorted(row_filter.denied_labels))
    if row_filter.task_type is not None:
        bound["task_type"] = row_filter.task_type
    if row_filter.since is not None:
        bound["since"] = micros(row_filter.since)
    if row_filter.until is not None:
        bound["until"] = micros(row_filter.until)
    return bound


def readable_key_numbers() -> Any:
    """The numbers of the audience keys that the filter names."""
    return select(audience_keys.c.number).where(
        audience_keys.c.tenant == bindparam("tenant"),
        audience_keys.c.key.in_(dialect.members(bindparam("keys"))),
    )


@functools.lru_cache(maxsize=512)
def conditions(shape: Shape) -> tuple[ColumnElement[bool], ...]:
    """What a row of `memories` must meet. `since` is included in the window, `until` is not."""
    m = memories.c
    parts: dict[str, Callable[[], ColumnElement[bool]]] = {
        "keys": lambda: m.key.in_(readable_key_numbers()),
        "scopes": lambda: m.scope.in_(dialect.members(bindparam("scopes"))),
        "types": lambda: m.type.in_(dialect.members(bindparam("types"))),
        "layers": lambda: m.layer.in_(dialect.members(bindparam("layers"))),
        "task_type": lambda: or_(m.task_type.is_(None), m.task_type == bindparam("task_type")),
        "since": lambda: m.created_at >= bindparam("since"),
        "until": lambda: m.created_at < bindparam("until"),
        "labels": lambda: (
            ~exists().where(
                memory_labels.c.memory == m.number,
                memory_labels.c.label.in_(dialect.members(bindparam("labels"))),
            )
        ),
    }
    return (
        m.tenant == bindparam("tenant"),
        m.status.in_(dialect.members(bindparam("statuses"))),
        or_(m.expires_at.is_(None), m.expires_at > bindparam("now")),
        *(part() for name, part in parts.items() if name in shape),
    )
