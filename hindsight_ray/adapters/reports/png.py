"""A figure as a PNG image, painted by Matplotlib without a display.

Matplotlib is no part of a plain installation: `pip install hindsight-ray[png]`.
"""

import importlib
import importlib.util
import io
import warnings
from typing import Any, cast

from hindsight_ray.core.report.shapes import Arrow, Box, Disc, Figure, Rule, Shape, Words, head_of
from hindsight_ray.errors import Unavailable

_DPI = 144
_HEAD = 64.0  # pixels above the figure
_PX_PER_INCH = 96.0
_PIXELS_MAX = 30_000  # of a side: what image viewers still open
_FONTS = ("Noto Sans", "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei")


def png(figure: Figure, heading: tuple[str, str]) -> bytes:
    """The image under a title and a line that says how the run came out.

    Raises `Unavailable` where Matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise Unavailable(
            "`--png` needs Matplotlib: install `hindsight-ray[png]`, or write a page with `--html`"
        )
    # Optional and slow to load; its types say little, so it is used without them.
    matplotlib = cast("Any", importlib.import_module("matplotlib"))
    font_manager = cast("Any", importlib.import_module("matplotlib.font_manager"))
    agg = cast("Any", importlib.import_module("matplotlib.backends.backend_agg"))
    drawing = cast("Any", importlib.import_module("matplotlib.figure"))
    known = {font.name for font in font_manager.fontManager.ttflist}
    fonts = [name for name in _FONTS if name in known]
    size = (figure.across / _PX_PER_INCH, (figure.down + _HEAD) / _PX_PER_INCH)
    dpi = min(_DPI, _PIXELS_MAX / max(*size))
    with matplotlib.rc_context({"font.family": fonts}), warnings.catch_warnings():
        # A character that no font here has is drawn as a box; the page shows it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas = drawing.Figure(figsize=size, dpi=dpi, facecolor="white")
        agg.FigureCanvasAgg(canvas)
        axes = canvas.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, figure.across)
        axes.set_ylim(figure.down, -_HEAD)
        axes.set_axis_off()
        for order, shape in enumerate((*_headed(*heading), *figure.shapes)):
            _paint(axes, shape, order)
        held = io.BytesIO()
        canvas.savefig(held, format="png", dpi=dpi, metadata={"Title": heading[0]})
    return held.getvalue()


def _headed(title: str, lead: str) -> tuple[Words, Words]:
    return (
        Words(12, 30 - _HEAD, title, 17, bold=True),
        Words(12, 52 - _HEAD, lead, 12, fill="#555555"),
    )


def _paint(axes: Any, shape: Shape, order: int) -> None:
    patches = cast("Any", importlib.import_module("matplotlib.patches"))

    match shape:
        case Disc():
            look: dict[str, Any] = {"facecolor": shape.fill, "edgecolor": shape.stroke}
            style = _style((4.0, 2.5) if shape.dashed else None, shape.width)
            axes.add_patch(
                patches.Circle((shape.x, shape.y), shape.radius, zorder=order, **look, **style)
            )
            if shape.text:
                at = Words(shape.x, shape.y + 4, shape.text, 11, "middle", shape.text_fill)
                _paint(axes, at, order)
        case Box():
            corner = (shape.x, shape.y)
            look = {"facecolor": shape.fill, "edgecolor": shape.stroke, "linewidth": _points(1.0)}
            axes.add_patch(
                patches.Rectangle(corner, shape.across, shape.down, zorder=order, **look)
            )
        case Arrow():
            _arrow(axes, shape, order)
        case Rule():
            style = _style(shape.gaps, shape.width)
            line = ([shape.x0, shape.x1], [shape.y0, shape.y1])
            axes.plot(*line, color=shape.stroke, zorder=order, **style)
        case Words():
            anchors = {"start": "left", "middle": "center", "end": "right"}
            axes.text(
                shape.x, shape.y, shape.text, fontsize=_points(shape.size), color=shape.fill,
                ha=anchors[shape.anchor], va="baseline", weight="bold" if shape.bold else "normal",
                zorder=order, parse_math=False,
            )  # fmt: skip


def _arrow(axes: Any, arrow: Arrow, order: int) -> None:
    patches = cast("Any", importlib.import_module("matplotlib.patches"))
    path = cast("Any", importlib.import_module("matplotlib.path"))

    points = [(arrow.x0, arrow.y0), (arrow.bend_x, arrow.bend_y), (arrow.x1, arrow.y1)]
    curve = path.Path(points, [path.Path.MOVETO, path.Path.CURVE3, path.Path.CURVE3])
    style = _style(arrow.gaps, arrow.width)
    axes.add_patch(
        patches.PathPatch(curve, fill=False, edgecolor=arrow.stroke, zorder=order, **style)
    )
    head = patches.Polygon(list(head_of(arrow)), facecolor=arrow.stroke, zorder=order)
    axes.add_patch(head)


def _style(gaps: tuple[float, float] | None, width: float) -> dict[str, Any]:
    found: dict[str, Any] = {"linewidth": _points(width)}
    if gaps is not None:
        found["linestyle"] = (0, [part / width for part in gaps])
    return found


def _points(pixels: float) -> float:
    return pixels * 72.0 / _PX_PER_INCH
