"""The small examples of the documentation, run as they are printed."""

import asyncio
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from examples.cooperative.__main__ import run as cooperative
from examples.ops_team.__main__ import asked as of_the_ops_team
from hindsight_ray import compose
from hindsight_ray.entry.bearer import call_of
from hindsight_ray.entry.http.app import http_app
from hindsight_ray.entry.listening import http_server, listening
from hindsight_ray.entry.rate import Rates

_TEXT = (pathlib.Path(__file__).parents[2] / "docs" / "examples.md").read_text(encoding="utf-8")
_SHOWN: dict[str, str] = dict(re.findall(r"(?ms)^## (.*?)\n.*?```python\n(.*?)```", _TEXT))
_STORIES: tuple[Callable[[list[str]], object], ...] = (cooperative, of_the_ops_team)
_OVER_HTTP = "Record a run over HTTP"


def _played(title: str) -> None:
    scope: dict[str, Any] = {"__name__": "example"}
    exec(compile(_SHOWN[title], title, "exec"), scope)  # noqa: S102 - our own


@pytest.mark.parametrize("title", sorted(set(_SHOWN) - {_OVER_HTTP}))
def test_an_example_runs_as_printed(
    title: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _played(title)


async def test_a_run_is_recorded_over_http_as_printed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with compose.open(tmp_path / "home") as hindsight, listening(0) as listener:
        ticket = await hindsight.issue_ticket(tenant="acme", agent="planner", user="alice")
        monkeypatch.setenv("URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("TOKEN", ticket.token)
        server = http_server(http_app(call_of(hindsight), Rates(5.0, 5.0)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.to_thread(_played, _OVER_HTTP)
        server.should_exit = True
        await serving
    assert "Roll back release 41" in capsys.readouterr().out


@pytest.mark.parametrize("story", _STORIES)
@pytest.mark.parametrize(("word", "code"), [("--help", 0), ("--hlep", 2)])
def test_a_story_that_is_asked_for_help_does_not_play(
    story: Callable[[list[str]], object], word: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        story([word])
    assert left.value.code == code
    assert "--json" in "".join(capsys.readouterr())
