"""Commands and events without what their tenant does not keep, before anything else sees them.

Writes and updates are not here: they mask what they keep themselves, and say so in their receipt.
"""

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

from hindsight_ray.core.redaction import redacted, refused, spotless
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.credit import Credit, Target
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.run import Annotation, Run, WorkingState
from hindsight_ray.domain.text import (
    CONTENT_CHARACTERS_MAX,
    QUERY_CHARACTERS_MAX,
    SUMMARY_CHARACTERS_MAX,
    cut_text,
)
from hindsight_ray.errors import HindsightError, InvalidInput

C = TypeVar("C", bound=c.Command)
_KEEPS_ALL = Privacy(secrets="keep", personal="keep")


def cleaned(command: C, privacy: Privacy) -> C:
    """The command as it may go on. Raises `InvalidInput` for a text that is refused."""
    clean = _CLEAN.get(type(command))
    return command if clean is None or privacy == _KEEPS_ALL else clean(command, privacy)


def clean_error(error: HindsightError, privacy: Privacy) -> HindsightError:
    """The error as it may be told and logged: values that it quotes are masked like any text."""
    if privacy == _KEEPS_ALL:
        return error
    message, count = redacted(error.message, privacy)
    details = dict(error.details)
    for name, value in error.details.items():
        if isinstance(value, str):
            details[name], masked = redacted(value, privacy)
            count += masked
    return type(error)(message, **details) if count else error


def clean_event(event: Event, privacy: Privacy) -> Event:
    """An event with its texts masked: its summary, its tool's error, its snapshot."""
    if spotless(_texts(event), privacy):
        return event
    changes = _masked(event, privacy, summary=SUMMARY_CHARACTERS_MAX)
    if event.tool is not None:
        fields = {"error_text": SUMMARY_CHARACTERS_MAX, "error_type": SUMMARY_CHARACTERS_MAX}
        of_tool = _masked(event.tool, privacy, **fields)
        if of_tool:
            changes["tool"] = event.tool.model_copy(update=of_tool)
    if event.snapshot is not None:
        of_snapshot = _masked(
            event.snapshot, privacy, **dict.fromkeys(_SNAPSHOT, SUMMARY_CHARACTERS_MAX)
        )
        if of_snapshot:
            changes["snapshot"] = event.snapshot.model_copy(update=of_snapshot)
    return event.model_copy(update=changes) if changes else event


def clean_run(run: Run, privacy: Privacy) -> Run:
    """A run that was recorded elsewhere, with its goal and intent masked."""
    changes = _masked(run, privacy, goal=SUMMARY_CHARACTERS_MAX, intent=SUMMARY_CHARACTERS_MAX)
    return run.model_copy(update=changes) if changes else run


def clean_annotation(annotation: Annotation, privacy: Privacy) -> Annotation:
    changes = _masked(annotation, privacy, text=SUMMARY_CHARACTERS_MAX)
    return annotation.model_copy(update=changes) if changes else annotation


def no_refused(privacy: Privacy, field: str, *texts: str) -> None:
    """Raise `InvalidInput`, without the text, if one of them holds what the tenant refuses."""
    if any(refused(text, privacy) for text in texts):
        raise InvalidInput(
            f"`{field}` holds a secret or personal data, which this tenant does not keep;"
            " leave it out",
            field=field,
        )


_SNAPSHOT = ("goal", "subtask", "last_user_input")


def _texts(event: Event) -> list[str]:
    """The texts that `clean_event` masks."""
    texts = [event.summary]
    tool, snapshot = event.tool, event.snapshot
    if tool is not None and (tool.error_text or tool.error_type):
        texts += (tool.error_text, tool.error_type)
    if snapshot is not None:
        texts += (snapshot.goal, snapshot.subtask, snapshot.last_user_input)
    return texts


def _masked(value: Any, privacy: Privacy, **limits: int) -> dict[str, object]:
    """The fields that change, cut to their limits: a mask may be longer than what it masks."""
    changes: dict[str, object] = {}
    for field, limit in limits.items():
        text: str = getattr(value, field)
        clean, count = redacted(text, privacy)
        if count:
            changes[field] = cut_text(clean, limit)[0]
    return changes


def _started(command: c.StartRun, privacy: Privacy) -> c.StartRun:
    no_refused(privacy, "goal", command.goal, command.intent)
    limits = {"goal": SUMMARY_CHARACTERS_MAX, "intent": SUMMARY_CHARACTERS_MAX}
    return command.model_copy(update=_masked(command, privacy, **limits))


def _recorded(command: c.RecordEvents, privacy: Privacy) -> c.RecordEvents:
    events = tuple([clean_event(event, privacy) for event in command.events])
    if all(map(is_, events, command.events)):
        return command
    return command.model_copy(update={"events": events})


def _set(command: c.SetWorking, privacy: Privacy) -> c.SetWorking:
    state = command.state
    no_refused(privacy, "state", state.goal, state.subtask, *state.state.values())
    limits = dict.fromkeys(("goal", "subtask"), SUMMARY_CHARACTERS_MAX)
    changes = _masked(state, privacy, **limits)
    changes["state"] = {name: redacted(text, privacy)[0] for name, text in state.state.items()}
    return command.model_copy(update={"state": WorkingState.model_validate(dict(state) | changes)})


def _noted(command: c.Note, privacy: Privacy) -> c.Note:
    no_refused(privacy, "text", command.text)
    return command.model_copy(update=_masked(command, privacy, text=SUMMARY_CHARACTERS_MAX))


def _asserted(command: c.AssertOutcome, privacy: Privacy) -> c.AssertOutcome:
    limit = CONTENT_CHARACTERS_MAX
    return command.model_copy(update=_masked(command, privacy, evaluator=limit))


def _asked(command: c.Search, privacy: Privacy) -> c.Search:
    return command.model_copy(update=_masked(command, privacy, query=QUERY_CHARACTERS_MAX))


def _asked_many(command: c.SearchMany, privacy: Privacy) -> c.SearchMany:
    searches = tuple(_asked(one, privacy) for one in command.searches)
    return command.model_copy(update={"searches": searches})


def _decided(command: c.DecidePending, privacy: Privacy) -> c.DecidePending:
    no_refused(privacy, "why", command.why)  # the content is masked where it is kept
    return command.model_copy(update=_masked(command, privacy, why=SUMMARY_CHARACTERS_MAX))


def _submitted(command: c.SubmitCredits, privacy: Privacy) -> c.SubmitCredits:
    """Whatever of it says something: labels of targets, reasons, names of methods."""
    found = command.attribution
    whole = _masked(found, privacy, method=CONTENT_CHARACTERS_MAX, policy=SUMMARY_CHARACTERS_MAX)
    if found.abstained is not None:
        limits = {"method": CONTENT_CHARACTERS_MAX, "reason": SUMMARY_CHARACTERS_MAX}
        whole["abstained"] = found.abstained.model_copy(
            update=_masked(found.abstained, privacy, **limits)
        )
    for field in ("credits", "beside"):
        ones: tuple[Credit, ...] = getattr(found, field)
        whole[field] = tuple(_credit(one, privacy) for one in ones)
    for field in ("suspects", "memories"):
        targets: tuple[Target, ...] = getattr(found, field)
        whole[field] = tuple(_target(one, privacy) for one in targets)
    return command.model_copy(update={"attribution": found.model_copy(update=whole)})


def _credit(credit: Credit, privacy: Privacy) -> Credit:
    changes = _masked(credit, privacy, method=CONTENT_CHARACTERS_MAX)
    return credit.model_copy(update=changes | {"target": _target(credit.target, privacy)})


def _target(target: Target, privacy: Privacy) -> Target:
    return target.model_copy(update=_masked(target, privacy, label=SUMMARY_CHARACTERS_MAX))


_CLEAN: dict[type[c.Command], Callable[[Any, Privacy], Any]] = {
    c.StartRun: _started,
    c.RecordEvents: _recorded,
    c.SetWorking: _set,
    c.Note: _noted,
    c.AssertOutcome: _asserted,
    c.Search: _asked,
    c.SearchMany: _asked_many,
    c.DecidePending: _decided,
    c.SubmitCredits: _submitted,
}
