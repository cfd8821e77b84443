"""The errors a caller may catch: one base, one subclass per thing somebody would handle.

Every message names the thing, the rule it broke and the next step. Details are keywords, so that
logs can be structured; every error pickles, because it travels between Ray processes.
"""

from typing import Any


class HindsightError(Exception):
    """Base of every error that hindsight_ray raises on purpose.

    `message` is for people, `details` for programs: plain picklable values under stable names.
    """

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuilt, (type(self), self.message, self.details))


def _rebuilt(kind: type[HindsightError], message: str, details: dict[str, Any]) -> HindsightError:
    return kind(message, **details)


class InvalidInput(HindsightError):
    """A value breaks its rule: an id, a scope, a time, a text, a number. Nothing was changed."""


class InvalidVector(InvalidInput):
    """A vector is not finite, is zero, or has another dimension than its space."""


class SpaceMismatch(InvalidInput):
    """The embedding model or dimension is not the one this home is pinned to."""


class InvalidPolicy(InvalidInput):
    """A policy file has a fault; the last good policy stays in force."""


class InvalidImport(InvalidInput):
    """A file to import cannot be read as the format it was said to have."""


class InvalidSettings(InvalidInput):
    """A setting or command-line choice is out of range or contradicts another."""


class InvalidTicket(HindsightError):
    """A ticket is absent, forged, expired, foreign or revoked. Which of them is not said."""


class AccessDenied(HindsightError):
    """The caller may not do this. The rule behind it is told only by `why`, to auditors."""


class NotFound(HindsightError):
    """Nothing of that name is there for this caller: absent and forbidden look the same."""


class CommandReused(HindsightError):
    """A command id came back with another payload."""


class EventConflict(HindsightError):
    """An event id or sequence number came back with other content."""


class RunClosed(HindsightError):
    """The run has ended; it takes no more events or participants."""


class RevisionConflict(HindsightError):
    """The record has moved on from the revision that the command named."""


class BufferFull(HindsightError):
    """An agent's event buffer is full and the settings say to fail instead of waiting."""


class Busy(HindsightError):
    """The scope kept changing, or a lock did not come free in time. Try again."""


class Unfinished(HindsightError):
    """The intent is committed but not carried out yet; it will be. Ask again by command id."""


class RateLimited(HindsightError):
    """Too many calls for one ticket; `details["retry_after_s"]` says when to come back."""


class OverQuota(HindsightError):
    """A stated limit on size or number would be passed."""


class HomeInUse(HindsightError):
    """A deployment owns this home: use it through its address."""


class HomeInvalid(HindsightError):
    """The folder is not a home, or a newer release wrote it."""


class Unavailable(HindsightError):
    """A store, a model or the deployment cannot be reached; nothing was acknowledged."""


class StoreRefused(HindsightError):
    """The memory store will not take an object as it is; `details["reasons"]` says why, by id."""


class StorageFailed(HindsightError):
    """The disk refused: full, read-only or damaged. Nothing was acknowledged."""


class ModelFailed(HindsightError):
    """A model's answer could not be had or used; what it was asked about is kept."""
