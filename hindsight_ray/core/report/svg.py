"""A figure as SVG text, to stand within a page or by itself. Nothing in it is fetched or run."""

from html import escape

from hindsight_ray.core.report.shapes import Arrow, Box, Disc, Figure, Rule, Shape, Words, head_of

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
_NAMESPACE = "http://www.w3.org/2000/svg"


def svg(figure: Figure) -> str:
    """The figure as one `svg` element with its label for those who hear it."""
    size = f'width="{_n(figure.across)}" height="{_n(figure.down)}"'
    box = f'viewBox="0 0 {_n(figure.across)} {_n(figure.down)}"'
    head = f'<svg xmlns="{_NAMESPACE}" {size} {box} role="img" font-family="{escape(FONT)}">'
    body = "\n".join(_painted(shape) for shape in figure.shapes)
    return f"{head}\n<title>{_text(figure.label)}</title>\n{body}\n</svg>"


def _painted(shape: Shape) -> str:
    match shape:
        case Disc():
            return _disc(shape)
        case Box():
            fields = f'x="{_n(shape.x)}" y="{_n(shape.y)}" width="{_n(shape.across)}"'
            fields += f' height="{_n(shape.down)}" fill="{shape.fill}" stroke="{shape.stroke}"'
            return f"<rect {fields}>{_title(shape.title)}</rect>"
        case Arrow():
            return _arrow(shape)
        case Rule():
            fields = f'x1="{_n(shape.x0)}" y1="{_n(shape.y0)}" x2="{_n(shape.x1)}"'
            fields += f' y2="{_n(shape.y1)}" stroke="{shape.stroke}"'
            return f'<line {fields} stroke-width="{_n(shape.width)}"{_gaps(shape.gaps)}/>'
        case Words():
            weight = ' font-weight="600"' if shape.bold else ""
            fields = f'x="{_n(shape.x)}" y="{_n(shape.y)}" font-size="{_n(shape.size)}"'
            fields += f' text-anchor="{shape.anchor}" fill="{shape.fill}"{weight}'
            return f"<text {fields}>{_text(shape.text)}</text>"


def _disc(disc: Disc) -> str:
    at = f'cx="{_n(disc.x)}" cy="{_n(disc.y)}" r="{_n(disc.radius)}"'
    dash = _gaps((4.0, 2.5)) if disc.dashed else ""
    look = f'fill="{disc.fill}" stroke="{disc.stroke}" stroke-width="{_n(disc.width)}"{dash}'
    circle = f"<circle {at} {look}/>"
    if disc.text:
        place = f'x="{_n(disc.x)}" y="{_n(disc.y + 4)}" text-anchor="middle" font-size="11"'
        circle += f'<text {place} fill="{disc.text_fill}">{_text(disc.text)}</text>'
    return f"<g>{_title(disc.title)}{circle}</g>"


def _arrow(arrow: Arrow) -> str:
    path = f"M{_n(arrow.x0)} {_n(arrow.y0)} Q{_n(arrow.bend_x)} {_n(arrow.bend_y)}"
    path += f" {_n(arrow.x1)} {_n(arrow.y1)}"
    corners = " ".join(f"{_n(x)},{_n(y)}" for x, y in head_of(arrow))
    line = f'<path d="{path}" fill="none" stroke="{arrow.stroke}"'
    line += f' stroke-width="{_n(arrow.width)}"{_gaps(arrow.gaps)}/>'
    return f'{line}<polygon points="{corners}" fill="{arrow.stroke}"/>'


def _gaps(gaps: tuple[float, float] | None) -> str:
    return "" if gaps is None else f' stroke-dasharray="{_n(gaps[0])} {_n(gaps[1])}"'


def _title(text: str) -> str:
    return f"<title>{_text(text)}</title>" if text else ""


def _text(text: str) -> str:
    """Escaped, and without the control characters that XML has no place for."""
    return escape("".join(max(one, " ") for one in text), quote=False)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
