"""A cluster of two nodes on this machine, one of which is lost in the middle of writing.

Run as `python -m tests.cluster.losing_a_node HOME` in the environment that `servers` makes. Prints
one JSON document: what was acknowledged, and what is found afterwards.
"""

import asyncio
import contextlib
import json
import sys
import threading
from typing import Any

from ray.cluster_utils import Cluster

from hindsight_ray import compose
from hindsight_ray.actors.plan import Deployed
from hindsight_ray.errors import HindsightError
from tests.cluster.servers import choices

_AGENTS = 3
_STEPS = 24


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


def _added(cluster: Cluster) -> Any:
    """One more node. Ray gives it half a minute, which a busy machine may take."""
    for _ in range(2):
        with contextlib.suppress(Exception):
            return cluster.add_node(num_cpus=2)
    return cluster.add_node(num_cpus=2)


def _answering(address: str) -> Deployed:
    """The deployment, once all of its actors answer."""
    for _ in range(12):
        found = asyncio.run(compose.status(address=address))
        assert found is not None
        if all(one.pid for one in found.actors):
            return found
    raise AssertionError(f"not all answer: {found.actors}")


def _meant(found: Deployed, nodes: list[str]) -> dict[str, str]:
    """The living nodes in turn; the authority where the home is."""
    names = found.crew.names()
    turns = {name: nodes[turn % len(nodes)] for turn, name in enumerate(names)}
    return {**turns, "authority-0": found.node_id}


def _told(writer: Writer) -> dict[str, Any]:
    writer.run_handle.close()
    trajectory = writer.memory.trajectory(writer.run_handle.id)
    last = f"Shelf {writer.number}-{_STEPS - 1} holds item {(_STEPS - 1) * 7919}"
    best = writer.memory.search(last, scopes=["user:lea"]).hits[0]
    return {
        "events": writer.events,
        "found": [event.summary for event in trajectory.events],
        "gaps": len(trajectory.gaps),
        "memories": writer.memories,
        "kept": [writer.memory.get(name).id for name in writer.memories],
        "best": [best.memory.content == last, *sorted(best.routes)],
    }


def main(home: str) -> dict[str, Any]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    lost = _added(cluster)
    cluster.wait_for_nodes()
    numbers = {"brokers": 3, "recorder_hosts": 3, "reviewers": 1}
    with compose.connect_sync(address=cluster.address, home=home, **choices(), **numbers) as client:
        found = _answering(cluster.address)
        before = {one.name: one.node_id for one in found.actors}
        nodes = sorted({found.node_id, lost.node_id, *before.values()})
        writers = [Writer(client, number) for number in range(_AGENTS)]
        for writer in writers:
            writer.start()
        writers[0].half.wait()
        gone = [name for name, node in before.items() if node == lost.node_id]
        cluster.remove_node(lost, allow_graceful=False)
        for writer in writers:
            writer.join()
        result: dict[str, Any] = {
            "lost": gone, "steps": _STEPS, "placed": before, "meant": _meant(found, nodes),
            "writers": [_told(writer) for writer in writers],
        }  # fmt: skip
        after = _answering(cluster.address)
        result["actors"] = len(after.actors)
        result["moved"] = all(one.node_id != lost.node_id for one in after.actors)
        asyncio.run(compose.down(address=cluster.address))
    cluster.shutdown()
    return result


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
