"""What a process is told that Ray does not let into a cluster, or is too slow for."""

import pytest
import ray
from ray.exceptions import AuthenticationError

from hindsight_ray.actors import cluster
from hindsight_ray.errors import Unavailable

pytestmark = pytest.mark.covers("cluster.slow")
SLOW = Exception("The current node timed out during startup.")


def _attached(
    monkeypatch: pytest.MonkeyPatch, address: str | None, error: Exception, *, own: bool = False
) -> str:
    def init(**_: object) -> None:
        raise error

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(cluster, "use_token", lambda make: None)
    monkeypatch.setattr(cluster, "_require_answer", lambda _: None)
    monkeypatch.setattr(cluster, "_started", {address} if own else set())
    with pytest.raises(Unavailable) as told:
        cluster.attach(address)
    return told.value.message


def test_a_ray_that_is_slow_to_start_is_unavailable_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = _attached(monkeypatch, None, SLOW)
    assert "try again" in said
    assert "token" not in said


def test_one_that_this_process_has_started_and_that_is_slow_is_not_said_to_refuse_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for error in (SLOW, ConnectionError("no answer")):
        said = _attached(monkeypatch, "127.0.0.1:1", error, own=True)
        assert "try again" in said
        assert "token" not in said


def test_a_refused_token_is_told_from_silence_where_ray_tells_them_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = _attached(monkeypatch, "127.0.0.1:1", AuthenticationError("no"))
    assert "refuses the token" in refused
    assert "busy" not in refused
    silent = _attached(monkeypatch, "127.0.0.1:1", ConnectionError("no answer"))
    assert "does not answer in time" in silent
    assert "token" in silent
