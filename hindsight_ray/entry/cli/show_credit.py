"""How credit looks in a terminal: a table, a timeline, and what supports them."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from hindsight_ray.core.report.counts import counted
from hindsight_ray.core.report.supported import supported
from hindsight_ray.core.report.timeline import credits_of
from hindsight_ray.domain.credit import Attribution, Credit, Credited, Target
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.entry.cli import show


def attribution(
    value: Attribution,
    trajectory: Trajectory,
    kept: Sequence[Credited] = (),
    *,
    steps: bool = False,
) -> RenderableType:
    """Who is credited with what, the most first; with `steps` the run with it; and what else was
    found about the run."""
    numbers = {str(event.event_id): n for n, event in enumerate(trajectory.events, start=1)}
    outcome = f"outcome {show.score(value.outcome)}" if value.outcome is not None else "no outcome"
    head = f"{outcome}, {value.word} by {value.method}"
    if value.policy and value.evaluations:
        head += f", baseline {value.policy}, {counted(value.evaluations, 'replay')}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    if value.abstained is not None:
        parts.append(Text(f"abstained: {value.abstained.reason}", style="yellow"))
    if value.credits:
        parts.append(_table(value.credits, numbers, value.word))
    if value.beside:
        parts += [Text(""), Text("beside it", style="bold"), _table(value.beside, numbers)]
    parts += [Text(f"suspect: {_named(one)}", style="red") for one in value.suspects]
    parts += [Text(f"memory used: {_named(one)}") for one in value.memories]
    if told := supported(value):
        parts.append(Text(f"coverage: {told}", style="dim"))
    if trajectory.events and steps:
        parts += [Text(""), show.timeline(trajectory, credits_of(value), value.word)]
    parts += [_kept(one) for one in kept if one.attribution.method != value.method]
    return Group(*parts)


def _table(
    credits_: Sequence[Credit], numbers: dict[str, int], word: str = "credit"
) -> RenderableType:
    made = show.table(
        "##", f"{word}#", "interval", "method", "evidence", "effect", "to", "what…", "id"
    )
    none = [one for one in credits_ if _is_nothing(one)]
    told = [one for one in credits_ if not _is_nothing(one)] if len(none) > 1 else credits_
    for one in sorted(told, key=lambda one: -abs(one.value)):
        number = numbers.get(one.target.id)
        made.add_row(
            "" if number is None else str(number),
            show.score(one.value),
            f"{show.score(one.low)} … {show.score(one.high)}",
            one.method,
            one.evidence,
            one.effect if one.target.kind == "memory" else "",
            one.target.kind,
            Text(show.line(one.target.label)),
            Text(one.target.id, style="dim"),
        )
    if len(none) < 2:
        return made
    which = ", ".join(f"#{numbers[one.target.id]}" for one in none if one.target.id in numbers)
    more = f": {show.line(which)}" if which else ""
    folded = Text(f"{word} {show.score(0.0)} to {len(none)} more{more}", style="dim")
    return Group(made, folded) if made.row_count else folded


def _is_nothing(one: Credit) -> bool:
    """Whether it is zero and its interval leaves no doubt; by structure none says anything."""
    reach = max(abs(one.low), abs(one.high))
    return show.is_nothing(one.value) and (one.evidence == "structural" or show.is_nothing(reach))


def _kept(one: Credited) -> Text:
    found = one.attribution
    told = f"also kept: {found.method} by {one.by} of {one.at:%Y-%m-%d %H:%M}"
    if found.abstained is not None:
        told += f", which abstained: {found.abstained.reason}"
    return Text(f"{told}; show it with --method '{found.method}'", style="dim")


def _named(target: Target) -> str:
    return f"{target.label or target.kind} ({target.id})"
