"""Approved experience as documents for an ordinary knowledge base, with where it comes from."""

import json
from collections.abc import Iterable

from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.upkeep import Knowledge, Lineage

TITLE_CHARACTERS = 80


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
    lines += [f"{number}. {_line(step)}" for number, step in enumerate(one.steps, start=1)]
    lines += [""] if one.steps else []
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
    return " ".join(text.split())


def _text(text: str) -> str:
    """Text as a paragraph: a line that would open a heading or a list is none of ours."""
    return "\n".join(
        "\\" + line if line[:1] in "#-*+>|=" else line for line in text.strip().splitlines()
    )
