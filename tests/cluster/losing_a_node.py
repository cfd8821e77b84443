"""A cluster of three nodes on this machine, one of which is lost in the middle of writing.

Run as `python -m tests.cluster.losing_a_node HOME`, `HINDSIGHT_POSTGRES_DSN` set. Prints one JSON
document: what was acknowledged, and what is found afterwards.
"""

import asyncio
import json
import sys
import threading
from typing import Any

from ray.cluster_utils import Cluster

from hindsight_ray import compose
from hindsight_ray.errors import HindsightError

_AGENTS = 4
_STEPS = 40


class Writer(threading.Thread):
    """Records and writes, trying again what failed, and remembers what was acknowledged."""

    def __init__(self, client: Any, number: int) -> None:
        super().__init__()
        ticket = client.issue_ticket(tenant="acme", agent=f"writer-{number}", user="lea")
        self.memory = client.as_caller(ticket)
        self.run_handle = self.memory.run(goal=f"Write {number}", task_type="write")
        self.number = number
        self.half = threading.Event()
        self.events: list[str] = []
        self.memories: list[str] = []

    def run(self) -> None:
        try:
            for step in range(_STEPS):
                self._event(f"step {step}")
                self._memory(f"Shelf {self.number}-{step} holds item {step * 7919}", step)
                if step == _STEPS // 3:
                    self.half.set()
        finally:
            self.half.set()

    def _event(self, text: str) -> None:
        self.run_handle.decide(text)
        for _ in range(40):
            try:
                self.run_handle.flush()
            except HindsightError:
                continue
            self.events.append(text)
            return

    def _memory(self, text: str, step: int) -> None:
        for _ in range(40):
            try:
                receipt = self.memory.write(
                    text, scope="user:lea", command_id=f"{self.number}-{step}"
                )
            except HindsightError:
                continue
            self.memories.append(receipt.ids[0])
            return


def main(home: str) -> dict[str, Any]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    lost = cluster.add_node(num_cpus=2)
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    choices = {
        "ledger": "postgresql", "embedding": "hashed", "brokers": 3, "recorder_hosts": 3,
        "reviewers": 1,
    }  # fmt: skip
    with compose.connect_sync(address=cluster.address, home=home, **choices) as client:
        found = asyncio.run(compose.status(address=cluster.address))
        assert found is not None
        before = {one.name: one.node_id for one in found.actors}
        writers = [Writer(client, number) for number in range(_AGENTS)]
        for writer in writers:
            writer.start()
        writers[0].half.wait()
        gone = [name for name, node in before.items() if node == lost.node_id]
        cluster.remove_node(lost, allow_graceful=False)
        for writer in writers:
            writer.join()
        result: dict[str, Any] = {"lost": gone, "steps": _STEPS, "writers": []}
        for writer in writers:
            writer.run_handle.close()
            trajectory = writer.memory.trajectory(writer.run_handle.id)
            result["writers"].append(
                {
                    "events": writer.events,
                    "found": [event.summary for event in trajectory.events],
                    "gaps": len(trajectory.gaps),
                    "memories": writer.memories,
                    "kept": [writer.memory.get(name).id for name in writer.memories],
                }
            )
        after = asyncio.run(compose.status(address=cluster.address))
        assert after is not None
        result["living"] = sum(one.pid > 0 for one in after.actors)
        result["actors"] = len(after.actors)
        asyncio.run(compose.down(address=cluster.address))
    cluster.shutdown()
    return result


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
