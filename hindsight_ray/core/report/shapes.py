"""What figures are made of: a handful of shapes in pixels, whoever paints them.

Apart from the layout and the painters, so that the page and the image show the same figure.
"""

from dataclasses import dataclass
from typing import Literal

Anchor = Literal["start", "middle", "end"]


Corners = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Disc:
    """A circle with a text in it. `dashed` is for its outline."""

    x: float
    y: float
    radius: float
    fill: str
    stroke: str
    width: float = 1.0
    dashed: bool = False
    title: str = ""
    text: str = ""
    text_fill: str = "#000000"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; `x` and `y` are its upper left corner."""

    x: float
    y: float
    across: float
    down: float
    fill: str
    stroke: str = "none"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A quadratic curve with a head at its end. `gaps` are the lengths of dash and gap, if any."""

    x0: float
    y0: float
    bend_x: float
    bend_y: float
    x1: float
    y1: float
    stroke: str
    width: float
    gaps: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    stroke: str
    width: float = 1.0
    gaps: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    size: float = 12.0
    anchor: Anchor = "start"
    fill: str = "#222222"
    bold: bool = False


Shape = Disc | Box | Arrow | Rule | Words


@dataclass(frozen=True, slots=True)
class Figure:
    """Shapes from back to front, the size that holds them, and what is left out, in words."""

    across: float
    down: float
    shapes: tuple[Shape, ...]
    label: str
    note: str = ""


def head_of(arrow: Arrow, length: float = 8.0, half: float = 3.5) -> Corners:
    """The three corners of an arrow's head, its point first."""
    along_x, along_y = arrow.x1 - arrow.bend_x, arrow.y1 - arrow.bend_y
    size = max((along_x**2 + along_y**2) ** 0.5, 1e-9)
    along_x, along_y = along_x / size, along_y / size
    foot_x, foot_y = arrow.x1 - length * along_x, arrow.y1 - length * along_y
    return (
        (arrow.x1, arrow.y1),
        (foot_x - half * along_y, foot_y + half * along_x),
        (foot_x + half * along_y, foot_y - half * along_x),
    )
