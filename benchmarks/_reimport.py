"""How often importing public logs embeds: the first time, and again."""

import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks._lived import Counting
from hindsight_ray.adapters.models.local import static
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import ImportRuns, ListRuns, ReviewRun
from hindsight_ray.ports import Purpose, Vector
from hindsight_ray.service.load_logs import load_logs
from hindsight_ray.service.review import review
from hindsight_ray.service.runs import listed
from tests.worlds import Staged, world

_LOG = "tau_airline/runs_tasks_0_24.json"


class _Asked(RememberingEmbedder):
    """Counts what it is asked for, known or not."""

    texts = 0

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self.texts += len(texts)
        return await super().embed(texts, purpose)


async def embedded_twice(data: pathlib.Path) -> list[dict[str, Any]]:
    """Texts embedded by a second import and review, and the share that the first one saved."""
    if not (data / _LOG).is_file():
        return []
    text = (data / _LOG).read_text(encoding="utf-8")
    counting = Counting(static())
    asked = _Asked(counting)
    with tempfile.TemporaryDirectory() as folder:
        async with world(pathlib.Path(folder) / "home", embedder=asked) as home:
            operator = await home.caller(agent="operator")
            await _gone_through(home, operator, text)
            first, wanted = counting.texts, asked.texts
            await _gone_through(home, operator, text)
    again = counting.texts - first
    saved = 1 - first / wanted if wanted else 0.0
    return [
        {
            "id": "lifecycle.reimport",
            "what": f"texts embedded by importing again (before: {first})",
            "value": again, "bound": 0, "holds": again == 0, "unit": "count",
        },
        {
            "id": "lifecycle.first_import",
            "what": f"of {wanted} texts of a first import and review, those that were known",
            "value": round(saved, 4), "bound": 1.0, "holds": True, "unit": "ratio",
        },
    ]  # fmt: skip


async def _gone_through(home: Staged, operator: Caller, text: str) -> None:
    fields = {"format": "openai-messages", "text": text, "scope": "global"}
    await load_logs(home.world, operator, ImportRuns.model_validate(fields))
    await home.jobs.finish()
    for line in await listed(home.world, operator, ListRuns(limit=100)):
        await review(home.world, operator, ReviewRun(run_id=line.run.run_id))
