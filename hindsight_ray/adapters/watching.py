"""Health of a process: one line of JSON, a few numbers and one span for each call at the door.

What is written down is when, for which tenant, by which policy revision, how long and how it ended:
never a text, a query or whose it was. Lines go to the logger `hindsight_ray.requests`, which is
silent until somebody listens. Spans are OpenTelemetry's, which cost nothing until an SDK is set up.
"""

import asyncio
import importlib
import json
import logging
import secrets
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode

from hindsight_ray.errors import InvalidSettings
from hindsight_ray.ports.watching import DOINGS, IN_HAND, Seen, Timed

BUCKETS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
REFUSALS = frozenset({"AccessDenied", "NotFound", "InvalidTicket", "RateLimited", "OverQuota"})
LOG = logging.getLogger("hindsight_ray.requests")
Labels = Mapping[str, str]
Queues = Callable[[], Mapping[str, int]]  # how many wait in each queue of this process
_NONE: Labels = {}
_AGAIN_S = 1.0  # what has not changed, and when the policy was read, is told again so often


class Meters(Protocol):
    """Where numbers go: into this process's text, or to Ray's exporter."""

    def count(self, name: str, labels: Labels) -> None: ...

    def took(self, name: str, seconds: float, labels: Labels) -> None: ...

    def now(self, name: str, value: float, labels: Labels = _NONE) -> None: ...


class DoorWatch:
    """`Watch` for the calls of one process.

    Nobody holds a lease here: each call reads the policy's revision in its own transaction. So what
    is told of the policy is the revision that this process has met last, and when.
    """

    def __init__(self, meters: Meters, process: str) -> None:
        self._meters = meters
        self._process = process
        self._in_hand = 0
        self._queues: Queues = dict
        self._depths: dict[str, int] = {}
        self._policy = 0
        self._read_at_s = 0.0  # by the wall clock, for whoever subtracts it from theirs
        self._told_at_s = float("-inf")

    def look_at(self, queues: Queues) -> None:
        """Tell from now on how many wait in these."""
        self._queues = queues

    @contextmanager
    def request(self, verb: str) -> Generator[Seen]:
        seen = Seen(verb)
        began = time.perf_counter()
        token = IN_HAND.set(Timed(seen, time.perf_counter))
        self._held(1)
        ended = "ok"
        try:
            tracer = trace.get_tracer("hindsight_ray")
            with tracer.start_as_current_span(
                f"hindsight {verb}", record_exception=False, set_status_on_exception=False
            ) as span:
                try:
                    yield seen
                except BaseException as error:
                    ended = type(error).__name__
                    span.set_status(Status(StatusCode.ERROR, ended))
                    raise
                finally:
                    span.set_attribute("hindsight.tenant", seen.tenant)
                    if seen.revision is not None:
                        span.set_attribute("hindsight.revision", seen.revision)
        finally:
            IN_HAND.reset(token)
            self._held(-1)
            self._tell(seen, ended, time.perf_counter() - began)

    def _held(self, step: int) -> None:
        self._in_hand += step
        self._meters.now("hindsight_calls_in_hand", self._in_hand)

    def _tell(self, seen: Seen, ended: str, seconds: float) -> None:
        labels = {"verb": seen.verb}
        self._meters.count("hindsight_calls", {**labels, "ended": ended})
        self._meters.took("hindsight_call_seconds", seconds, labels)
        if ended in REFUSALS:
            self._meters.count("hindsight_refusals", labels)
        for part in seen.degraded:
            self._meters.count("hindsight_degraded_answers", {"without": part})
        now_s = time.monotonic()
        again = now_s - self._told_at_s >= _AGAIN_S
        if again:
            self._told_at_s = now_s
        self._tell_state(seen.decided_at, again=again)
        if LOG.isEnabledFor(logging.INFO):
            line = {
                "request": secrets.token_hex(8), "process": self._process, "verb": seen.verb,
                "tenant": seen.tenant, "revision": seen.revision or seen.decided_at, "ended": ended,
                "ms": _ms(seconds),
                **{f"{doing}_ms": _ms(seen.spent_s.get(doing, 0.0)) for doing in DOINGS},
                "degraded": list(seen.degraded),
            }  # fmt: skip
            LOG.info("%s", json.dumps(line, ensure_ascii=False))

    def _tell_state(self, policy: int, *, again: bool) -> None:
        for queue, depth in self._queues().items():
            if again or self._depths.get(queue) != depth:
                self._depths[queue] = depth
                self._meters.now("hindsight_waiting", depth, {"queue": queue})
        if policy and (again or policy != self._policy):
            self._policy, self._read_at_s = policy, time.time()
            self._tell_policy()

    def _tell_policy(self) -> None:
        self._meters.now("hindsight_policy_revision", self._policy)
        self._meters.now("hindsight_policy_read_at_seconds", self._read_at_s)

    def keep_telling(self) -> None:
        """Tell what has not changed time and again: exporters forget what is not.

        On the running loop, for as long as it runs.
        """
        self._held(0)
        self._tell_state(0, again=True)
        if self._policy:
            self._tell_policy()
        asyncio.get_running_loop().call_later(_AGAIN_S, self.keep_telling)


class PlainMeters:
    """Keeps the numbers in this process; `text` is the exposition that Prometheus reads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._counts: dict[tuple[str, str], int] = defaultdict(int)
        self._times: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = defaultdict(float)
        self._now: dict[tuple[str, str], float] = {}

    def count(self, name: str, labels: Labels) -> None:
        with self._guard:
            self._counts[name, _labelled(labels)] += 1

    def took(self, name: str, seconds: float, labels: Labels) -> None:
        key = name, _labelled(labels)
        with self._guard:
            within = self._times.setdefault(key, [0] * (len(BUCKETS_S) + 1))
            for i, bound in enumerate(BUCKETS_S):
                within[i] += seconds <= bound
            within[-1] += 1
            self._sums[key] += seconds

    def now(self, name: str, value: float, labels: Labels = _NONE) -> None:
        with self._guard:
            self._now[name, _labelled(labels)] = value

    def text(self) -> str:
        """Every number in Prometheus's text format."""
        with self._guard:
            lines = [
                f"# TYPE {name}_total counter" for name in sorted({n for n, _ in self._counts})
            ]
            lines += [
                f"{name}_total{{{labels}}} {number}"
                for (name, labels), number in sorted(self._counts.items())
            ]
            for (name, labels), within in sorted(self._times.items()):
                lines += _histogram(name, labels, within, self._sums[name, labels])
            lines += [
                f"{name}{{{labels}}} {value:.15g}" if labels else f"{name} {value:.15g}"
                for (name, labels), value in sorted(self._now.items())
            ]
        return "\n".join(lines) + "\n"


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 3)


def _histogram(name: str, labels: str, within: Sequence[int], total: float) -> list[str]:
    bounds = [*(f"{bound:g}" for bound in BUCKETS_S), "+Inf"]
    lines = [
        f'{name}_bucket{{{labels},le="{bound}"}} {number}'
        for bound, number in zip(bounds, within, strict=True)
    ]
    return [*lines, f"{name}_sum{{{labels}}} {total:g}", f"{name}_count{{{labels}}} {within[-1]}"]


def _labelled(labels: Labels) -> str:
    return ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))


def log_to_stderr() -> None:
    """Have this process write its lines to standard error, once each."""
    if not LOG.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        LOG.propagate = False


def set_up_tracing(hook: str) -> None:
    """Call `module:function` in this process, once, so that spans go somewhere.

    Raises `InvalidSettings` if there is no such function.
    """
    if hook in _SET_UP:
        return
    module, _, function = hook.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidSettings(
            f"`tracing_setup` {hook!r} names no function of this process: {error}; it is written"
            " `module:function`",
            setting="tracing_setup",
        ) from error
    found()
    _SET_UP.add(hook)


_SET_UP: set[str] = set()
PLAIN = PlainMeters()  # of this process, whichever homes it has open
