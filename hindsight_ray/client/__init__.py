"""The client: what agents and operators hold in their hands, the same embedded and on Ray."""

from hindsight_ray.client.hindsight import Hindsight, opening
from hindsight_ray.client.loop import LoopThread
from hindsight_ray.client.memory import Memory
from hindsight_ray.client.opening import Opening
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.client.sync import Synchronous, opened
from hindsight_ray.client.transport import Connection, OperatorToken, Transport

__all__ = [
    "Connection",
    "Hindsight",
    "LoopThread",
    "Memory",
    "Opening",
    "OperatorToken",
    "RunRecorder",
    "Synchronous",
    "Transport",
    "opened",
    "opening",
]
