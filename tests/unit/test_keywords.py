"""Terms and BM25: what is found by which words, in which script."""

import numpy as np
import pytest

from hindsight_ray.core.keywords import bm25, codes, query_terms, stem, terms
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import KeywordMatches


def _found(question: str, text: str) -> bool:
    return bool(set(query_terms(question)) & set(terms(text)))


def test_english_words_meet_by_their_stems() -> None:
    assert _found("deploying", "We deployed it")
    assert stem("rollbacks") == stem("rollback")


def test_function_words_find_nothing() -> None:
    assert query_terms("what is the") == ()
    assert not _found("is it the", "The cat is on it")


def test_a_code_is_one_term_and_its_pieces_are_terms_too() -> None:
    kept = terms("deploy.rollback failed with ERR-42 in check_out.py")
    assert {"deploy.rollback", "err-42", "check_out.py", "rollback", "42"} <= set(kept)
    assert codes("see ERR-42 and date_format") == {"err-42", "date_format"}


@pytest.mark.covers("search.chinese")
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("重启", "先检查日志再重启服务"),
        ("错误日志", "重启服务之前先检查错误日志"),
        ("ログ", "デプロイの前にログを確認する"),
        ("返金", "返金の前に注文番号を確認してください"),
        ("배포", "배포하기 전에 로그를 확인하세요"),
        ("茶", "小王喜欢喝茶"),
        ("server 重启", "重启server时要小心"),
    ],
)
def test_words_without_spaces_are_found_by_pairs_of_characters(question: str, text: str) -> None:
    assert _found(question, text)


def test_a_longer_run_does_not_match_by_single_characters() -> None:
    assert not _found("日志", "今日の志望")


def test_full_width_and_case_are_folded() -> None:
    assert _found("ＥＲＲ－４２", "err-42")
    assert _found("STRASSE", "straße")


def test_a_question_has_at_most_64_terms() -> None:
    assert len(query_terms(" ".join(f"word{n}" for n in range(500)))) == 64


def test_terms_are_bounded_in_length() -> None:
    assert max(map(len, terms("x" * 10_000))) == 64


def _matches(frequencies: dict[str, dict[str, int]], lengths: dict[str, int]) -> KeywordMatches:
    names = sorted(lengths)
    at = {name: row for row, name in enumerate(names)}
    return KeywordMatches(
        documents=10,
        total_length=100,
        ids=[MemoryUuid(name) for name in names],
        sizes=np.array([lengths[name] for name in names]),
        postings={
            term: (np.array([at[name] for name in rows]), np.array([*rows.values()]))
            for term, rows in frequencies.items()
        },
    )


def test_rare_words_weigh_more_and_long_texts_less() -> None:
    rare = bm25(
        _matches({"rare": {"a": 1}, "common": {"b": 1, "c": 1, "d": 1}}, dict.fromkeys("abcd", 10)),
        limit=4,
    )
    assert [name for name, _ in rare] == ["a", "b", "c", "d"]
    short = bm25(_matches({"t": {"a": 1, "b": 1}}, {"a": 40, "b": 5}), limit=4)
    assert [name for name, _ in short] == ["b", "a"]


def test_nothing_readable_scores_nothing() -> None:
    assert bm25(KeywordMatches(documents=0, total_length=0), limit=5) == []
