"""An attribution as one page that needs nothing else: figure, tables, and what supports them.

Whatever was recorded stands in it as text and never as markup; the page may load and run nothing.
"""

from collections.abc import Iterable, Sequence
from html import escape

from hindsight_ray.core.attribution.provenance import by_agent
from hindsight_ray.core.report.counts import counted
from hindsight_ray.core.report.shapes import Figure
from hindsight_ray.core.report.supported import supported
from hindsight_ray.core.report.svg import FONT, svg
from hindsight_ray.core.report.timeline import step_numbers, timeline
from hindsight_ray.core.steps import shortened
from hindsight_ray.domain.credit import Attribution, Credit, Target
from hindsight_ray.domain.run import Trajectory

_STYLE = f"""
body {{ font-family: {FONT}; color: #1a1a1a; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  line-height: 1.45; }}
h1 {{ font-size: 1.35rem; margin-bottom: .2rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.05rem; margin-top: 2rem; }}
.goal {{ overflow-wrap: anywhere; white-space: pre-line; }}
.lead {{ color: #555; margin-top: 0; overflow-wrap: anywhere; }}
.holder {{ container-type: inline-size; }} .wider {{ display: none; }}
.figure {{ overflow-x: auto; border: 1px solid #ddd; }}
.figure svg {{ display: block; width: 100%; height: auto; margin: 0 auto; }}
.why {{ background: #fff4e5; border-left: 4px solid #d95f02; padding: .6rem 1rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .9rem; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #eee;
  vertical-align: top; white-space: nowrap; }}
td.what {{ white-space: normal; overflow-wrap: anywhere; width: 100%; }}
td.number {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }}
td.bar {{ width: 160px; }}
@media (max-width: 60rem) {{
  table, tbody, tr, td, td.what, td.bar {{ display: block; width: auto; }}
  tr.names {{ display: none; }} tr {{ border-bottom: 1px solid #ddd; padding: .5rem 0; }}
  td, td.number {{ border: 0; padding: .1rem 0; text-align: left; white-space: normal; }}
  td.what {{ font-weight: 600; }}
  td[data-name]::before {{ content: attr(data-name) " "; color: #666; }}
}}
.dim {{ color: #666; }} code {{ font-size: .8rem; color: #666; }}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TITLE_CHARACTERS = 90  # of a goal in a heading; the whole of a longer one stands below it
_BAR = 150.0
_SMALLEST = 0.8  # of a figure's size; where there is less room it is scrolled


def page(trajectory: Trajectory, attribution: Attribution) -> str:
    """The page, in UTF-8 text."""
    figure = timeline(trajectory, attribution)
    run = trajectory.run
    title, lead = heading(trajectory, attribution)
    parts = [
        f"<h1>{_t(title)}</h1>",
        f'<p class="lead">{_t(lead)}</p>',
        f'<p class="goal">{_t(run.goal)}</p>'
        if title != shortened(run.goal, len(run.goal))
        else "",
        _abstention(attribution),
        _figure(figure),
        f'<p class="dim">{_t(figure.note)}</p>' if figure.note else "",
        *_tables(trajectory, attribution),
        _support(attribution),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Attribution of {_t(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def heading(trajectory: Trajectory, attribution: Attribution) -> tuple[str, str]:
    """What the page and the image are headed by: the goal in a line, and how the run came out."""
    run = trajectory.run
    outcome = "no outcome" if attribution.outcome is None else f"outcome {attribution.outcome:+.2f}"
    lead = f"{outcome}, {attribution.word} by {attribution.method}"
    if attribution.policy:
        lead += f" against the baseline {attribution.policy!r}"
    if attribution.evaluations:
        lead += f", {counted(attribution.evaluations, 'replay')}"
    return shortened(run.goal, _TITLE_CHARACTERS), f"{lead} · run {run.run_id}"


def _figure(figure: Figure) -> str:
    """As wide as there is room for, not so small that nobody reads it; then it says it scrolls."""
    least, most = round(figure.across * _SMALLEST), round(figure.across)
    return (
        f"<style>.figure svg {{ min-width: {least}px; max-width: {most}px; }}"
        f" @container (max-width: {least}px) {{ .wider {{ display: block; }} }}</style>\n"
        '<div class="holder"><div class="figure" tabindex="0" role="region"'
        f' aria-label="Figure">{svg(figure)}</div>\n'
        '<p class="dim wider">The figure goes on to the right: scroll it →</p></div>'
    )


def _abstention(attribution: Attribution) -> str:
    if attribution.abstained is None:
        return ""
    return f'<p class="why">No credit is given: {_t(attribution.abstained.reason)}.</p>'


def _tables(trajectory: Trajectory, attribution: Attribution) -> list[str]:
    numbers = {one: f"#{number}" for one, number in step_numbers(trajectory.events).items()}
    word = attribution.word
    found = [_table(word.capitalize(), attribution.credits, numbers, word)]
    agents = any(one.target.kind == "agent" for one in attribution.beside)
    if attribution.scale == "share" and not agents:  # scores sum to nothing
        summed = by_agent(attribution.credits, trajectory.events)
        found.append(_table("The same, summed for each agent", summed, numbers))
    found.append(_table("Beside it", attribution.beside, numbers))
    found.append(_named("Suspect steps", attribution.suspects, numbers))
    found.append(_named("Memories used on the way", attribution.memories, numbers))
    return found


def _table(
    heading: str, credits_: Sequence[Credit], numbers: dict[str, str], word: str = "credit"
) -> str:
    if not credits_:
        return ""
    reach = max(max(abs(one.low), abs(one.high), abs(one.value)) for one in credits_)
    rows = "\n".join(_row(one, reach, numbers, word) for one in credits_)
    names = ("", "what", word, "interval", "", "method", "evidence")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f'<h2>{_t(heading)}</h2>\n<table><tr class="names">{head}</tr>\n{rows}\n</table>'


def _row(one: Credit, reach: float, numbers: dict[str, str], word: str) -> str:
    what = one.target.label or one.target.id
    if one.target.kind == "memory":
        what += f" ({one.effect})"
    cells = (
        f"<td>{_t(numbers.get(one.target.id, one.target.kind))}</td>",
        f'<td class="what">{_t(what)}</td>',
        f'<td class="number" data-name="{word}">{one.value:+.3f}</td>',
        f'<td class="number" data-name="interval">{one.low:+.3f} … {one.high:+.3f}</td>',
        f'<td class="bar">{_bar(one, reach)}</td>',
        f'<td data-name="method">{_t(one.method)}</td>',
        f'<td data-name="evidence">{_t(one.evidence)}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"


def _bar(one: Credit, reach: float) -> str:
    """The interval as a line, the value as a dot, zero as a mark; from -reach to reach."""

    def at(value: float) -> float:
        return (value / reach + 1) * _BAR / 2 if reach > 0 else _BAR / 2

    low, high, middle = at(one.low), at(one.high), at(one.value)
    colour = "#2166ac" if one.value > 0 else "#b2182b" if one.value < 0 else "#666666"
    return (
        f'<svg width="{_BAR + 8:.0f}" height="14" viewBox="-4 0 {_BAR + 8:.0f} 14">'
        f'<line x1="{_BAR / 2:.1f}" y1="0" x2="{_BAR / 2:.1f}" y2="14" stroke="#bbbbbb"/>'
        f'<line x1="{low:.1f}" y1="7" x2="{high:.1f}" y2="7" stroke="{colour}" stroke-width="2"'
        f' opacity="0.5"/><circle cx="{middle:.1f}" cy="7" r="3.5" fill="{colour}"/></svg>'
    )


def _named(heading: str, targets: Iterable[Target], numbers: dict[str, str]) -> str:
    items = "\n".join(
        f"<li>{_t(numbers.get(one.id, ''))} {_t(one.label or one.id)}</li>" for one in targets
    )
    return f"<h2>{_t(heading)}</h2>\n<ul>\n{items}\n</ul>" if items else ""


def _support(attribution: Attribution) -> str:
    told = supported(attribution)
    return f'<h2>What supports it</h2>\n<p class="dim">{_t(told)}.</p>' if told else ""


def _t(text: str) -> str:
    return escape("".join(max(one, " ") for one in text))
