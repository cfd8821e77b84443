"""Approved experience as documents for an ordinary knowledge base, with where it comes from."""

import json
import re
from collections.abc import Iterable

from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.upkeep import Knowledge, Lineage

TITLE_CHARACTERS = 80

# What opens a heading, a list, a quotation, a table, code, a definition or a rule, at a line's
# beginning; a list's number does so with the sign after it. A tag may stand anywhere.
_OPENING = frozenset("#-*+>|=`~_[:$")
_NUMBER = re.compile(r"[0-9]+(?=[.)])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def document(memory: Memory, reviewed_by: str) -> Knowledge:
    """The memory as a document. What its reader may not see has been taken out before."""
    scene = memory.scene
    title = memory.content if scene is None else f"{scene.task_type}: {memory.content}"
    if len(title) > TITLE_CHARACTERS:
        title = title[: TITLE_CHARACTERS - 1].rstrip() + "…"
    return Knowledge(
        title=title,
        advice=memory.content,
        steps=memory.steps,
        type=memory.type,
        scope=memory.scope,
        audience=memory.audience,
        labels=memory.labels,
        task_type=None if scene is None else scene.task_type,
        tools=() if scene is None else scene.tools,
        intent="" if scene is None else scene.intent,
        applicability=None if scene is None else scene.applicability,
        sharing=None if scene is None else scene.sharing,
        confidence=memory.confidence,
        status=memory.status,
        lineage=Lineage(
            memory_id=memory.id,
            revision=memory.revision,
            run=memory.source.run,
            events=memory.source.events,
            derived_from=tuple(f"{ref.id}@{ref.revision}" for ref in memory.derived_from),
            agent=memory.source.agent,
            prompt=memory.source.prompt,
            reviewed_by=reviewed_by,
            created_at=memory.created_at,
        ),
    )


def as_jsonl(documents: Iterable[Knowledge]) -> str:
    """One JSON object a line."""
    return "".join(
        json.dumps(one.model_dump(mode="json"), ensure_ascii=False) + "\n" for one in documents
    )


def as_markdown(documents: Iterable[Knowledge]) -> str:
    """One section a document, under a heading; its scope and lineage as a list below the advice."""
    return "\n".join(_section(one) for one in documents)


def _section(one: Knowledge) -> str:
    lines = [f"## {_line(one.title)}", "", _text(one.advice), ""]
    steps = [_unopened(_line(step)) for step in one.steps]
    lines += [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    lines += [""] if steps else []
    told = {
        "applies to": one.task_type,
        "tools": ", ".join(one.tools),
        "intent": one.intent,
        "scope": one.scope,
        "readers need": ", ".join(one.audience),
        "labels": ", ".join(one.labels),
        "learned by": one.lineage.agent,
        "approved by": one.lineage.reviewed_by,
        "from run": one.lineage.run,
        "from events": ", ".join(one.lineage.events),
        "derived from": ", ".join(one.lineage.derived_from),
        "memory": f"{one.lineage.memory_id}, revision {one.lineage.revision},"
        f" {one.lineage.created_at.date().isoformat()}",
    }
    lines += [f"- {name}: {_line(value)}" for name, value in told.items() if value]
    return "\n".join([*lines, ""])


def _line(text: str) -> str:
    return _TAG.sub("&lt;", " ".join(text.split()))


def _text(text: str) -> str:
    """Text as paragraphs: no line of it opens a heading or a list, which would seem to be ours."""
    return "\n".join(_unopened(_line(line)) for line in text.strip().splitlines())


def _unopened(line: str) -> str:
    number = _NUMBER.match(line)
    if number is not None:
        return f"{line[: number.end()]}\\{line[number.end() :]}"
    return f"\\{line}" if line[:1] in _OPENING else line
