"""What a process does whose cluster goes away: its calls are told, Ray is not asked, it parts."""

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
import uvicorn

from hindsight_ray import compose
from hindsight_ray.actors.presence import Presence
from hindsight_ray.actors.reach import Reach
from hindsight_ray.actors.roles import Crew
from hindsight_ray.actors.transport import RayTransport
from hindsight_ray.adapters import listening as listening_at
from hindsight_ray.adapters.home import Home
from hindsight_ray.adapters.listening import answers, listens
from hindsight_ray.domain.commands import ListTenants
from hindsight_ray.entry.listening import listening
from hindsight_ray.entry.while_there import serve_while_there
from hindsight_ray.errors import Unavailable

pytestmark = pytest.mark.covers("cluster.away")


class Cluster:
    """One that listens until it is told not to; counts who has parted from it."""

    def __init__(self, *, here: bool = True) -> None:
        self.here = here
        self.parted = 0
        self.presence = Presence(
            "127.0.0.1:1", self._part, listening=lambda _: self.here, pause_s=0.0
        )

    def _part(self) -> None:
        self.parted += 1


async def test_whoever_waits_for_a_cluster_that_goes_away_is_told_so() -> None:
    cluster = Cluster()

    async def asked() -> None:
        with cluster.presence.waited_for():
            cluster.here = False
            await asyncio.Event().wait()

    with pytest.raises(Unavailable, match="does not answer"):
        await asked()
    await asyncio.wrap_future(cluster.presence.gone)
    assert cluster.parted == 1
    with pytest.raises(Unavailable), cluster.presence.waited_for():
        pytest.fail("asked all the same")
    cluster.presence.close()


async def test_a_hiccup_parts_nobody_and_who_is_cancelled_stays_so() -> None:
    cluster = Cluster()
    begun = asyncio.Event()

    async def asked() -> None:
        with cluster.presence.waited_for():
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(asked())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not cluster.presence.gone.done()
    cluster.presence.close()


async def test_of_a_cluster_that_could_never_be_heard_silence_says_nothing() -> None:
    cluster = Cluster(here=False)
    for _ in range(100):
        with cluster.presence.waited_for():
            await asyncio.to_thread(int)
    cluster.presence.require()
    assert cluster.parted == 0
    cluster.presence.close()


async def test_ray_is_not_asked_for_an_actor_while_the_cluster_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    cluster.here = False
    monkeypatch.setattr("ray.is_initialized", lambda: True)
    monkeypatch.setattr("ray.get_actor", lambda *_, **__: pytest.fail("Ray was asked"))
    with pytest.raises(Unavailable, match="does not answer"):
        await Reach(cluster.presence.require).ask(("broker-0",), lambda actor: actor)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a process that is stopped: the system takes its calls, and it says nothing."""
    monkeypatch.setattr(listening_at, "_ANSWER_S", 0.05)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def _said_by(word: bytes) -> bool:
    async def react(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(word)
        writer.close()

    serving = await asyncio.start_server(react, "127.0.0.1", 0)
    async with serving:
        port = serving.sockets[0].getsockname()[1]
        return await asyncio.to_thread(answers, f"127.0.0.1:{port}")


async def test_a_stopped_process_listens_and_does_not_answer(stopped: str) -> None:
    assert listens(stopped)
    assert not answers(stopped)
    assert await _said_by(b"\0\0\0\4\0\0\0\0\0")
    assert await _said_by(b"")  # one that hangs up is awake


async def test_ray_is_asked_for_nothing_where_its_head_is_stopped(
    stopped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray.init", lambda **_: pytest.fail("Ray was asked"))
    Home.deployed(tmp_path, stopped)  # whose authority is gone
    for asked in (compose.status(stopped), compose.status(home=tmp_path), compose.down(stopped)):
        with pytest.raises(Unavailable, match="says nothing"):
            await asked


async def test_whoever_asks_a_deployment_that_has_ended_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[None] = []

    async def crew_now() -> None:
        asked.append(None)

    def absent(*_: object, **__: object) -> None:
        raise ValueError

    monkeypatch.setattr("ray.is_initialized", lambda: True)
    monkeypatch.setattr("ray.get_actor", absent)
    transport = RayTransport(Crew(2, 1, 1), _nothing, crew_now)
    with pytest.raises(Unavailable, match="has ended"):
        await transport.call("ticket", ListTenants())
    assert len(asked) == 1


async def _nothing() -> None: ...


async def test_serving_ends_in_words_once_the_deployment_has() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        pytest.fail("nobody asks")

    gone: Future[None] = Future()
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="critical"))
    async with listening(0) as listener:
        serving = asyncio.create_task(serve_while_there(server, listener, gone))
        gone.set_result(None)
        with pytest.raises(Unavailable, match="has ended"):
            await serving
