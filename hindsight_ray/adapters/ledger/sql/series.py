"""Which numbers of agents' events are missing, without reading again what is known to be whole.

An agent numbers its events within a run and an incarnation of itself. Events are only ever added,
so a series that was whole up to a number in committed rows stays so: this process remembers it, and
a batch costs what is new in it, however long the run is.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    bindparam,
    case,
    exists,
    func,
    not_,
    or_,
    select,
    union_all,
)
from sqlalchemy.engine import Connection

from hindsight_ray.adapters.ledger.sql import asked
from hindsight_ray.adapters.ledger.sql.ready import Ready
from hindsight_ray.adapters.ledger.sql.schema import events
from hindsight_ray.domain.event import SequenceGap
from hindsight_ray.domain.ids import AgentName

_KEPT = 20_000
_e = events.c
_OF_AGENT = (_e.run == bindparam("run"), _e.agent == bindparam("agent"))
_known: BindParameter[str] = bindparam("incarnation")


def _part(*within: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return select(_e.incarnation, _e.seq).where(*_OF_AGENT, *within)


_LATER = union_all(
    _part(_e.incarnation < _known),
    _part(_e.incarnation == _known, _e.seq >= bindparam("first")),
    _part(_e.incarnation > _known),
).subquery()
_SERIES = Ready(
    select(_LATER.c.incarnation, func.count(), func.max(_LATER.c.seq))
    .group_by(_LATER.c.incarnation)
    .order_by(_LATER.c.incarnation)
)
_NUMBERS = Ready(
    select(_e.seq)
    .where(*_OF_AGENT, _e.incarnation == bindparam("incarnation"), _e.seq >= bindparam("first"))
    .order_by(_e.seq)
)
_OF_ASKED = (_e.run == asked.number(1), _e.agent == asked.text(2))
_OTHERS = or_(
    exists().where(*_OF_ASKED, _e.incarnation < asked.text(3)),
    exists().where(*_OF_ASKED, _e.incarnation > asked.text(3)),
)
_WHOLE_TO = (
    select(case((func.count() == func.max(_e.seq) + 1 - asked.number(4), func.max(_e.seq))))
    .where(*_OF_ASKED, _e.incarnation == asked.text(3), _e.seq >= asked.number(4))
    .scalar_subquery()
)
_PLAINLY_WHOLE = Ready(
    select(case((not_(_OTHERS), _WHOLE_TO))).select_from(asked.ASKED).order_by(asked.number(0))
)
_AGENTS = Ready(select(_e.agent).where(_e.run == bindparam("run")).distinct().order_by(_e.agent))

Whole = tuple[
    str, int
]  # an incarnation, and the first of its numbers that is not known to be there


class KnownSeries:
    """For runs' agents, by the run's own number: their longest series that is whole."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._whole: OrderedDict[tuple[int, str], Whole] = OrderedDict()

    def of(self, run: int, agent: str) -> Whole:
        with self._guard:
            return self._whole.get((run, agent), ("", 0))

    def keep(self, run: int, agent: str, whole: Whole) -> None:
        """Remember what was seen in rows that are committed."""
        with self._guard:
            if whole[1] >= self._whole.get((run, agent), whole)[1]:
                self._whole[(run, agent)] = whole
            self._whole.move_to_end((run, agent))
            while len(self._whole) > _KEPT:
                self._whole.popitem(last=False)


def agents_of(connection: Connection, run: int) -> list[str]:
    """Whoever has recorded in the run."""
    return [agent for (agent,) in _AGENTS.rows(connection, {"run": run})]


def missing(
    connection: Connection, run: int, agent: str, known: Whole
) -> tuple[list[SequenceGap], Whole]:
    """The agent's missing numbers, and its longest series that is whole."""
    asked = {"run": run, "agent": agent}
    incarnation, first = known
    gaps: list[SequenceGap] = []
    longest = known
    for name, count, last in _SERIES.rows(
        connection, {**asked, "incarnation": incarnation, "first": first}
    ):
        start = first if name == incarnation else 0
        if count == last + 1 - start:
            longest = max(longest, (name, last + 1), key=_length)
            continue
        series = {**asked, "incarnation": name, "first": start}
        seqs = [seq for (seq,) in _NUMBERS.rows(connection, series)]
        gaps += _between(agent, name, seqs, start)
    return gaps, longest


def missing_of_all(
    connection: Connection, agents: Sequence[tuple[int, str, Whole]]
) -> list[tuple[Sequence[SequenceGap], Whole]]:
    """`missing` of many, each a run, an agent and the series to begin with.

    One question for all whose only series is whole, as nearly every one is.
    """
    rows = [(run, agent, *known) for run, agent, known in agents]
    found = _PLAINLY_WHOLE.rows(connection, asked.asked(rows))
    return [
        missing(connection, run, agent, known) if last is None else ((), (known[0], last + 1))
        for (run, agent, known), (last,) in zip(agents, found, strict=True)
    ]


def _length(whole: Whole) -> int:
    return whole[1]


def _between(agent: str, incarnation: str, seqs: Sequence[int], expected: int) -> list[SequenceGap]:
    gaps: list[SequenceGap] = []
    for seq in seqs:
        if seq > expected:
            gaps.append(
                SequenceGap(
                    agent=AgentName(agent), incarnation=incarnation, first=expected, last=seq - 1
                )
            )
        expected = seq + 1
    return gaps
