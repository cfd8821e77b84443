"""Numbers of an actor, handed to Ray's exporter, from which Prometheus reads those of all nodes.

Every node's agent serves them where it is installed (`ray[default]`), with `ray_` before each name.
"""

from collections.abc import Mapping
from typing import Any

from ray.util import metrics

from hindsight_ray.adapters.watching import BUCKETS_S

_metrics: Any = metrics  # typed in part only
_NONE: Mapping[str, str] = {}


class RayMeters:
    """`Meters` by `ray.util.metrics`. Ray adds the node; `process` says which actor it was."""

    def __init__(self, process: str) -> None:
        self._process = {"process": process}
        self._made: dict[str, Any] = {}

    def count(self, name: str, labels: Mapping[str, str]) -> None:
        self._meter(_metrics.Counter, name, labels).inc(1, tags={**labels, **self._process})

    def took(self, name: str, seconds: float, labels: Mapping[str, str]) -> None:
        meter = self._meter(_metrics.Histogram, name, labels, boundaries=list(BUCKETS_S))
        meter.observe(seconds, tags={**labels, **self._process})

    def now(self, name: str, value: float, labels: Mapping[str, str] = _NONE) -> None:
        self._meter(_metrics.Gauge, name, labels).set(value, tags={**labels, **self._process})

    def _meter(self, kind: Any, name: str, labels: Mapping[str, str], **choices: Any) -> Any:
        if name not in self._made:
            tags = (*labels, *self._process)
            self._made[name] = kind(name, description=name, tag_keys=tags, **choices)
        return self._made[name]
