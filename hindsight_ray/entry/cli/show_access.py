"""How answers about access look: who sees what, what would change, is the audit whole."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from hindsight_ray.core.policy_diff import Change, Difference
from hindsight_ray.core.report.counts import counted
from hindsight_ray.domain.audit import AuditReport
from hindsight_ray.domain.commands import SeersAnswer, SeesAnswer
from hindsight_ray.entry.cli import show

_APART_MAX = 5  # names said behind "but not"; the JSON has them all


def seers(value: SeersAnswer) -> RenderableType:
    made = show.table("who…", "rule…", "by way of…", "until", "shared by")
    for one in value.seers:
        made.add_row(
            _who(one.who, one.but_not),
            one.rule or "",
            " → ".join(one.role_path),
            "" if one.until is None else one.until.isoformat(),
            one.grantor or "",
        )
    head = f"{value.action} on {value.scope} at policy revision {value.revision}"
    parts: list[RenderableType] = [Text(head, style="bold"), made]
    if not value.complete:
        parts.append(Text("there are more than are listed", style="yellow"))
    return show.stacked(*parts)


def sees(value: SeesAnswer) -> RenderableType:
    made = show.table("scope", "may…")
    for scope, actions in value.scopes.items():
        made.add_row(scope, " ".join(actions))
    head = f"{value.who} at policy revision {value.revision}"
    parts: list[RenderableType] = [Text(head, style="bold"), made]
    if value.denied_labels:
        parts.append(Text(f"never sees records labelled {', '.join(value.denied_labels)}"))
    if not value.complete:
        parts.append(Text("there are more than are listed", style="yellow"))
    return show.stacked(*parts)


def difference(value: Difference) -> RenderableType:
    if not value.changes and value.complete:
        return Text(f"nobody gains or loses anything{_ended(value)}", style="dim")
    made = show.table("", "tenant", "who…", "action", "object", "by…")
    for one in value.changes:
        made.add_row(
            Text("gains", style="green") if one.gained else Text("loses", style="red"),
            one.tenant,
            _who(one.who, one.but_not),
            one.action,
            one.object,
            Text(_because(one)),
        )
    parts: list[RenderableType] = [made] if value.changes else []
    if value.grants_ended and value.changes:
        parts.append(Text(_ended(value).removeprefix("; ")))
    if not value.complete:
        said = (
            "not all was looked at: too many callers and scopes; there may be more than is listed"
        )
        parts.append(Text(said, style="yellow"))
    return show.stacked(*parts)


def _ended(value: Difference) -> str:
    if not value.grants_ended:
        return ""
    return f"; {counted(value.grants_ended, 'grant')} of people would end with it"


def difference_document(value: Difference) -> dict[str, Any]:
    return {
        "changes": [
            {
                "tenant": one.tenant,
                "who": one.who,
                "but_not": one.but_not,
                "action": one.action,
                "object": one.object,
                "change": "gains" if one.gained else "loses",
                "by": _because(one),
            }
            for one in value.changes
        ],
        "complete": value.complete,
        "rules_added": value.rules_added,
        "rules_removed": value.rules_removed,
        "memberships_added": value.memberships_added,
        "memberships_removed": value.memberships_removed,
        "grants_ended": value.grants_ended,
    }


def _who(who: str, but_not: tuple[str, ...]) -> str:
    if not but_not:
        return who
    more = len(but_not) - _APART_MAX
    said = ", ".join(but_not[:_APART_MAX]) + (f" and {more} more" if more > 0 else "")
    return f"{who}, but not {said}"


def _because(one: Change) -> str:
    """The rule that now gives it, that now denies it, or that gave it before."""
    return one.after.rule or one.before.rule or ""


def audit_report(value: AuditReport) -> RenderableType:
    if not value.faults and value.seal is None:
        said = f"{counted(value.entries, 'entry')}, whole, and signed by nobody"
        return Text(said, style="yellow" if value.entries else "dim")
    if not value.faults:
        signed = "signed to the end" if not value.unsigned else f"{value.unsigned} not signed"
        return Text(f"{counted(value.entries, 'entry')}, whole, {signed}", style="green")
    made = show.table("writer", "entry#", "fault")
    for one in value.faults:
        made.add_row(one.writer or "a seal", str(one.place or ""), Text(one.fault, style="red"))
    return show.stacked(Text(f"{counted(value.entries, 'entry')}", style="bold"), made)
