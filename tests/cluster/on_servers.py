"""A deployment over PostgreSQL and Weaviate from `up` to `down` and up again, and what came of it.

Run as `python -m tests.cluster.on_servers HOME ROUNDS` in the environment that `servers` makes;
with `own` after them it starts servers of its own and kills those too. Prints one JSON document.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from hindsight_ray import compose
from hindsight_ray.actors.plan import Deployed
from hindsight_ray.domain.answer import Found
from hindsight_ray.errors import NotFound, Unavailable
from tests.cluster import health
from tests.cluster.servers import choices, environment
from tests.cluster.storms import Storm
from tests.contracts.test_model_reviews import LESSON, by_kind, kind_of, lesson
from tests.servers import postgres, weaviate
from tests.servers.process import ServerFailed, ServerProcess
from tests.servers.scripted_model import Answer, ScriptedModel, scripted_model

BROKERS, HOSTS = 2, 2
_ROUNDS_PER_STORM = 5
_TURNS = 300
_PAUSE_S = 0.1
SECRET = "the lighthouse key hangs behind the clock"


class Deployment:
    """The deployment of a home, as whoever operates it has it in hand."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def up(self, settings: dict[str, Any]) -> dict[str, Any]:
        config = self.home.parent / "settings.yaml"
        config.write_text(yaml.safe_dump(settings))
        return self._said("up", "--config", str(config))

    def scale(self, **numbers: int) -> dict[str, Any]:
        named = (("--" + name.replace("_", "-"), str(n)) for name, n in numbers.items())
        return self._said("scale", *(word for pair in named for word in pair))

    def down(self) -> dict[str, Any]:
        return self._said("down")

    def found(self) -> Deployed:
        found = asyncio.run(compose.status(home=self.home))
        assert found is not None
        return found

    def kill(self, actor: str) -> int:
        pid = self.restarted(actor, 0)
        os.kill(pid, signal.SIGKILL)
        return pid

    def restarted(self, actor: str, killed: int) -> int:
        """The actor's process, once there is one that answers and is not the one killed."""
        for _ in range(_TURNS):
            with suppress(Unavailable):  # the authority, who is asked for all, may take its time
                pid = dict(self.found().pids)[actor]
                if pid not in (0, killed):
                    return pid
            _pause()
        raise AssertionError(f"{actor} was not restarted")

    def _said(self, *words: str) -> dict[str, Any]:
        program = str(Path(sys.executable).with_name("hindsight-ray"))
        command = [program, "--home", str(self.home), "--json"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"`{' '.join(words)}`: {done.stdout}{done.stderr}")
        said: dict[str, Any] = json.loads(done.stdout)
        return said


class Reviewed:
    """A model that keeps the first question waiting until it is told to go on."""

    def __init__(self, model: ScriptedModel) -> None:
        self.asked = threading.Event()  # the first time
        self.go_on = threading.Event()
        self.questions = 0
        answers = by_kind(ReviewAnswer=lesson())

        def answer(question: dict[str, Any]) -> Answer | str:
            self.questions += kind_of(question) == "ReviewAnswer"
            self.asked.set()
            assert self.go_on.wait(60)
            said: Answer | str = answers(question)
            return said

        model.script(answer)


def used(client: Any, deployment: Deployment, reviewed: Reviewed) -> dict[str, Any]:
    """Run, record, write, search, share, revoke; a review that loses its reviewer on the way."""
    alice = client.as_caller(client.issue_ticket(tenant="acme", agent="planner", user="alice"))
    guest = client.as_caller(client.issue_ticket(tenant="acme", agent="guest"))
    kept = alice.write(SECRET, scope="agent:planner", command_id="secret")
    with alice.run(goal="Light the lamp", task_type="operate") as run:
        found = alice.search("where is the lighthouse key", run=run)
        choice = run.decide("Look behind the clock", used=found.ids)
        for number in range(5):
            run.tool("rollback", arguments={"release": number}, result="ok", causes=[choice])
        run.tool("rollback", arguments={"release": 40}, error="release 40 is pinned")
        run.tool("rollback", arguments={"release": 41}, result="ok")
        for number in range(5):
            run.state(f"lamp {number} is lit")
        run.outcome(1.0)
    assert reviewed.asked.wait(60)  # the run's end has started a review by itself
    busy = [one.name for one in deployment.found().actors if one.running and "rev" in one.name]
    killed = {name: deployment.kill(name) for name in busy}
    reviewed.go_on.set()
    for name, pid in killed.items():
        deployment.restarted(name, pid)
    learned = _until(lambda: alice.search("rollback refused as pinned"), _learned)
    questions = reviewed.questions
    for _ in range(3):
        try:
            guest.get(kept.ids[0])
        except NotFound:
            """Three refusals, which are counted."""
    keeper = client.as_caller(client.issue_ticket(tenant="acme", agent="keeper"))
    keeper.write("The vault is in Basel", scope="agent:keeper", command_id="vault")
    keeper.share("agent:keeper", to="agent:guest", actions=["read"])
    shared = guest.search("where is the vault", scopes=["agent:keeper"])
    keeper.revoke("agent:keeper", to="agent:guest")
    revoked = guest.search("where is the vault", scopes=["agent:keeper"])
    trajectory = alice.trajectory(run.id)
    maintained = client.operator("acme").maintain()
    return {
        "looked at": maintained.looked_at, "swept": maintained.swept,
        "routes": sorted(found.hits[0].routes), "degraded": list(found.degraded),
        "events": len(trajectory.events), "gaps": len(trajectory.gaps),
        "reviewers killed": busy, "learned": _learned(learned), "questions": questions,
        "reviewed": [len(alice.review(run.id).stored) for _ in range(2)],
        "asked again": reviewed.questions - questions, "shared": len(shared.ids),
        "revoked": len(revoked.ids), "revision": revoked.revision,
        "credit": sum(one.value for one in alice.attribute(run.id).credits),
    }  # fmt: skip


def _learned(found: Found) -> bool:
    return any(hit.memory.content == LESSON for hit in found.hits)


def _until(ask: Callable[[], Found], there: Callable[[Found], bool]) -> Found:
    for _ in range(_TURNS):
        found = ask()
        if there(found):
            break
        _pause()
    return found


def stormed(
    client: Any, deployment: Deployment, rounds: int, servers: dict[str, ServerProcess]
) -> list[dict[str, Any]]:
    """Kill a broker, a host and the authority in every round, then each server of our own.

    Where servers are killed too, all by themselves; else all at once, which takes less time.
    """
    crew = deployment.found().crew
    told: list[dict[str, Any]] = []
    for first in range(0, rounds, _ROUNDS_PER_STORM):
        storm = Storm(client, f"user{first}", crew.brokers, crew.recorder_hosts)
        with storm.blowing():
            for turn in range(first, min(rounds, first + _ROUNDS_PER_STORM)):
                for names in storm.victims(turn, at_once=not servers):
                    storm.struck(deployment.kill, deployment.restarted, names)
                for process in servers.values():
                    storm.go_on()
                    process.kill()
                    _up_again(process)
                    storm.go_on()
        told.append(storm.told())
    return told


def _up_again(process: ServerProcess) -> None:
    for _ in range(_TURNS):
        try:
            process.start()
        except ServerFailed:  # PostgreSQL's orphans have not noticed yet that they are alone
            _pause()
        else:
            return
    raise AssertionError("the server does not come up again")


def _pause() -> None:
    threading.Event().wait(_PAUSE_S)


@contextmanager
def _servers(*, own: bool) -> Iterator[dict[str, ServerProcess]]:
    """The servers that this process may kill; those that others started it may not."""
    with ExitStack() as stack:
        if not own:
            yield {}
            return
        folder = stack.enter_context(postgres.own_folder())
        ledger = postgres.start(folder / "postgres")
        stack.callback(ledger.process.stop)
        store = weaviate.start(folder / "weaviate")
        stack.callback(store.process.stop)
        os.environ.update(environment(ledger, store))
        yield {"postgres": ledger.process, "weaviate": store.process}


def main(home: Path, rounds: int, *, own: bool) -> dict[str, Any]:
    deployment = Deployment(home)
    result: dict[str, Any] = {}
    with _servers(own=own) as servers, scripted_model() as model:
        reviewed = Reviewed(model)
        settings = {
            **choices(), **health.SETTINGS, "brokers": 1, "recorder_hosts": HOSTS, "reviewers": 2,
            "chat_strong": "openai/gpt-4o", "chat_api_base": model.address, "chat_timeout_s": 60,
        }  # fmt: skip
        result["up"] = deployment.up(settings)
        try:
            with compose.connect_sync(home=home) as client:
                result["used"] = used(client, deployment, reviewed)
                result["health"] = health.told(SECRET, result["used"]["revision"])
                result["scaled"] = deployment.scale(brokers=BROKERS)
                result["stormed"] = stormed(client, deployment, rounds, servers)
            result["down"] = deployment.down()
            result["after"] = asyncio.run(compose.status(home=home)) is None
            fewer = {"brokers": 1, "recorder_hosts": 1, "reviewers": 1}
            result["again"] = deployment.up({**settings, **fewer})
            with compose.connect_sync(home=home) as client:
                ticket = client.issue_ticket(tenant="acme", agent="planner", user="alice")
                alice = client.as_caller(ticket)
                found = alice.search("where is the lighthouse key")
                result["kept"] = [hit.memory.content == SECRET for hit in found.hits[:1]]
        finally:
            deployment.down()
    return result


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves by the way of `down`
    given = main(Path(sys.argv[1]), int(sys.argv[2]), own=sys.argv[3:] == ["own"])
    sys.stdout.write(json.dumps(given) + "\n")
