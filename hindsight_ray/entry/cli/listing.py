"""How a table fits where it is printed: no id, name or time is ever broken over lines.

Columns of prose fold. Where even so there is no room, each row is put down as fields below one
another, which a terminal may wrap and still copy whole.
"""

import re
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_PROSE_MIN = 16  # cells that a column of prose has, if it has so much to say
_WORD_MAX = 48  # cells of a word of prose that is not broken; a name may be as long
_WORD = re.compile(r"[!-~]+")
_BETWEEN = 2  # cells between columns
PROSE = "…"  # at a heading's end


class Listing(Table):
    """A table whose columns are `no_wrap` but for those of prose."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(console, options)
        if widths is None:
            yield from self._below_one_another()
            return
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)

    def _widths(self, console: Console, options: ConsoleOptions) -> list[int] | None:
        """What each column gets; None where not all have what they need."""
        need: list[int] = []
        want: list[int] = []
        for column in self.columns:
            cells = [Measurement.get(console, options, one) for one in column.cells]
            cells.append(Measurement.get(console, options, column.header))
            most = max(one.maximum for one in cells)
            words = max(map(_longest_word, column.cells), default=0)
            want.append(most)
            need.append(most if column.no_wrap else min(most, max(_PROSE_MIN, words)))
        room = options.max_width - _BETWEEN * len(need) - sum(need)
        return None if room < 0 else _filled(need, want, room)

    def _below_one_another(self) -> RenderResult:
        names = [_text(column.header).plain for column in self.columns]
        longest = max(map(len, names), default=0)
        columns = [list(column.cells) for column in self.columns]
        for number in range(self.row_count):
            if number:
                yield Text("")
            for name, cells in zip(names, columns, strict=True):
                cell = cells[number]
                said = _text(cell)
                if said.plain:
                    yield Text.assemble((f"{name:<{longest}}  ", "dim"), said)


def _text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell))


def _longest_word(cell: RenderableType) -> int:
    """Of those that a name or an id can be: Chinese, say, may be broken anywhere."""
    return min(max(map(len, _WORD.findall(_text(cell).plain)), default=0), _WORD_MAX)


def _filled(need: Sequence[int], want: Sequence[int], room: int) -> list[int]:
    """What is needed, and the rest of the room shared out among those who want more."""
    given = list(need)
    while room > 0 and (short := [n for n, one in enumerate(given) if one < want[n]]):
        share = max(1, room // len(short))
        for number in short:
            more = min(share, want[number] - given[number], room)
            given[number] += more
            room -= more
    return given
