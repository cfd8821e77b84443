"""Shared memory for teams of agents: recorded, reviewed, searched, and credited, as policy allows.

`open` keeps a memory in this process, `connect` uses a deployment on Ray; both give a `Hindsight`.
Names are loaded when they are first used: importing the package costs milliseconds, and loads
neither Ray nor a database.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hindsight_ray import errors as errors

if TYPE_CHECKING:
    from hindsight_ray.client.hindsight import Hindsight as Hindsight
    from hindsight_ray.client.memory import Memory as Memory
    from hindsight_ray.client.run import RunRecorder as RunRecorder
    from hindsight_ray.client.sync import Synchronous as Synchronous
    from hindsight_ray.client.wrapping import recorded as recorded
    from hindsight_ray.compose import connect as connect
    from hindsight_ray.compose import connect_sync as connect_sync
    from hindsight_ray.compose import open as open  # noqa: A004 - the public name
    from hindsight_ray.compose import open_sync as open_sync
    from hindsight_ray.core.attribution.environment import Environment as Environment
    from hindsight_ray.core.attribution.environment import Restored as Restored
    from hindsight_ray.core.attribution.environment import Script as Script
    from hindsight_ray.core.attribution.environment import check_environment as check_environment
    from hindsight_ray.domain.answer import Found as Found
    from hindsight_ray.domain.caller import Caller as Caller
    from hindsight_ray.domain.caller import Ticket as Ticket
    from hindsight_ray.domain.commands import Search as Search
    from hindsight_ray.domain.credit import Attribution as Attribution
    from hindsight_ray.domain.credit import Credit as Credit
    from hindsight_ray.domain.event import Event as Event
    from hindsight_ray.domain.event import MemoryRef as MemoryRef
    from hindsight_ray.domain.hit import Hit as Hit
    from hindsight_ray.domain.memory import Scene as Scene
    from hindsight_ray.domain.receipt import Grant as Grant
    from hindsight_ray.domain.receipt import Receipt as Receipt
    from hindsight_ray.domain.review import ReviewReport as ReviewReport
    from hindsight_ray.domain.run import Flushed as Flushed
    from hindsight_ray.domain.run import Outcome as Outcome
    from hindsight_ray.domain.run import Run as Run
    from hindsight_ray.domain.run import Trajectory as Trajectory
    from hindsight_ray.domain.settings import Settings as Settings
    from hindsight_ray.errors import AccessDenied as AccessDenied
    from hindsight_ray.errors import BufferFull as BufferFull
    from hindsight_ray.errors import Busy as Busy
    from hindsight_ray.errors import CommandReused as CommandReused
    from hindsight_ray.errors import EventConflict as EventConflict
    from hindsight_ray.errors import HindsightError as HindsightError
    from hindsight_ray.errors import HomeInUse as HomeInUse
    from hindsight_ray.errors import HomeInvalid as HomeInvalid
    from hindsight_ray.errors import InvalidImport as InvalidImport
    from hindsight_ray.errors import InvalidInput as InvalidInput
    from hindsight_ray.errors import InvalidPolicy as InvalidPolicy
    from hindsight_ray.errors import InvalidSettings as InvalidSettings
    from hindsight_ray.errors import InvalidTicket as InvalidTicket
    from hindsight_ray.errors import InvalidVector as InvalidVector
    from hindsight_ray.errors import ModelFailed as ModelFailed
    from hindsight_ray.errors import NotFound as NotFound
    from hindsight_ray.errors import OverQuota as OverQuota
    from hindsight_ray.errors import RateLimited as RateLimited
    from hindsight_ray.errors import RevisionConflict as RevisionConflict
    from hindsight_ray.errors import RunClosed as RunClosed
    from hindsight_ray.errors import SpaceMismatch as SpaceMismatch
    from hindsight_ray.errors import StorageFailed as StorageFailed
    from hindsight_ray.errors import StoreRefused as StoreRefused
    from hindsight_ray.errors import Unavailable as Unavailable
    from hindsight_ray.errors import Unfinished as Unfinished

_WHERE = {
    "AccessDenied": "errors",
    "Attribution": "domain.credit",
    "BufferFull": "errors",
    "Busy": "errors",
    "Caller": "domain.caller",
    "CommandReused": "errors",
    "Credit": "domain.credit",
    "Environment": "core.attribution.environment",
    "Event": "domain.event",
    "EventConflict": "errors",
    "Flushed": "domain.run",
    "Found": "domain.answer",
    "Grant": "domain.receipt",
    "Hindsight": "client.hindsight",
    "HindsightError": "errors",
    "Hit": "domain.hit",
    "HomeInUse": "errors",
    "HomeInvalid": "errors",
    "InvalidImport": "errors",
    "InvalidInput": "errors",
    "InvalidPolicy": "errors",
    "InvalidSettings": "errors",
    "InvalidTicket": "errors",
    "InvalidVector": "errors",
    "Memory": "client.memory",
    "MemoryRef": "domain.event",
    "ModelFailed": "errors",
    "NotFound": "errors",
    "Outcome": "domain.run",
    "OverQuota": "errors",
    "RateLimited": "errors",
    "Receipt": "domain.receipt",
    "Restored": "core.attribution.environment",
    "ReviewReport": "domain.review",
    "RevisionConflict": "errors",
    "Run": "domain.run",
    "RunClosed": "errors",
    "RunRecorder": "client.run",
    "Scene": "domain.memory",
    "Script": "core.attribution.environment",
    "Search": "domain.commands",
    "Settings": "domain.settings",
    "SpaceMismatch": "errors",
    "StorageFailed": "errors",
    "StoreRefused": "errors",
    "Synchronous": "client.sync",
    "Ticket": "domain.caller",
    "Trajectory": "domain.run",
    "Unavailable": "errors",
    "Unfinished": "errors",
    "check_environment": "core.attribution.environment",
    "connect": "compose",
    "connect_sync": "compose",
    "open": "compose",
    "open_sync": "compose",
    "recorded": "client.wrapping",
}

__all__ = list(_WHERE)  # pyright: ignore[reportUnsupportedDunderAll] - one list, not two


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{where}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
