"""Commands and events without what their tenant does not keep, before anything else sees them.

Writes and updates are only refused here: they mask what they keep themselves, and say so in their
receipt.
"""

from operator import is_
from typing import TypeVar

from hindsight_ray.core.redaction import redacted, refused, spotless
from hindsight_ray.core.texts import changed, texts_by_field, texts_of
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import Value
from hindsight_ray.domain.event import Event
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.errors import HindsightError, InvalidInput

C = TypeVar("C", bound=c.Command)
V = TypeVar("V", bound=Value)
_KEEPS_ALL = Privacy(secrets="keep", personal="keep")

# What is only recorded or asked: masked even where texts are refused.
_RECORDED: frozenset[type[c.Command]] = frozenset({
    c.RecordEvents, c.Search, c.SearchMany, c.ListRuns, c.AssertOutcome, c.SubmitCredits,
})  # fmt: skip
_MASK_THEMSELVES: frozenset[type[c.Command]] = frozenset({c.Write, c.Update})
# An import is cleaned run by run, once it is read. The rest is nothing that is kept to be read: a
# policy's names and a model's address are what they are, and an object to explain is an id.
_AS_THEY_ARE: frozenset[type[c.Command]] = frozenset({
    c.ImportRuns, c.LoadPolicy, c.Reembed, c.Calibrate, c.Why,
})  # fmt: skip
# By which things are told apart: masked, two of them would be one.
_NAMES: dict[type[c.Command], tuple[str, ...]] = {
    c.Write: ("topic", "project"),
    c.StartRun: ("project",),
    c.CloseProject: ("project",),
}


def cleaned(command: C, privacy: Privacy) -> C:
    """The command as it may go on. Raises `InvalidInput` for a text that is refused."""
    kind = type(command)
    if privacy == _KEEPS_ALL or kind in _AS_THEY_ARE:
        return command
    _no_unkept_names(command, privacy)
    if isinstance(command, c.RecordEvents):
        return _recorded(command, privacy)
    if kind not in _RECORDED and "refuse" in (privacy.secrets, privacy.personal):
        for field, texts in texts_by_field(command).items():
            no_refused(privacy, field, *texts)
    return command if kind in _MASK_THEMSELVES else masked(command, privacy)[0]


def masked(value: V, privacy: Privacy) -> tuple[V, int]:
    """The value with each of its texts masked, and how many marks that took."""
    count = 0

    def mask(text: str) -> str:
        nonlocal count
        clean, found = redacted(text, privacy)
        count += found
        return clean

    made = changed(value, mask)
    return made, count


def clean_error(error: HindsightError, privacy: Privacy) -> HindsightError:
    """The error as it may be told and logged: values that it quotes are masked like any text."""
    if privacy == _KEEPS_ALL:
        return error
    message, count = redacted(error.message, privacy)
    details = dict(error.details)
    for name, value in error.details.items():
        if isinstance(value, str):
            details[name], found = redacted(value, privacy)
            count += found
    return type(error)(message, **details) if count else error


def clean_event(event: Event, privacy: Privacy) -> Event:
    """An event with its texts masked; most have none that could hold anything, told at once."""
    return event if spotless(texts_of(event), privacy) else masked(event, privacy)[0]


def no_refused(privacy: Privacy, field: str, *texts: str) -> None:
    """Raise `InvalidInput`, without the text, if one of them holds what the tenant refuses."""
    if any(refused(text, privacy) for text in texts):
        raise InvalidInput(
            f"`{field}` holds a secret or personal data, which this tenant does not keep;"
            " leave it out",
            field=field,
        )


def _no_unkept_names(command: c.Command, privacy: Privacy) -> None:
    strict = Privacy(
        secrets="keep" if privacy.secrets == "keep" else "refuse",
        personal="keep" if privacy.personal == "keep" else "refuse",
    )
    for field in _NAMES.get(type(command), ()):
        no_refused(strict, field, getattr(command, field) or "")
    if isinstance(command, c.SetWorking):
        no_refused(strict, "state", *command.state.state)


def _recorded(command: c.RecordEvents, privacy: Privacy) -> c.RecordEvents:
    events = tuple([clean_event(event, privacy) for event in command.events])
    if all(map(is_, events, command.events)):
        return command
    return command.model_copy(update={"events": events})
