"""What a process does whose cluster goes away: its calls are told, Ray is not asked, it parts."""

import asyncio
from concurrent.futures import Future

import pytest
import uvicorn

from hindsight_ray.actors.presence import Presence
from hindsight_ray.actors.reach import Reach
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
