"""Which terms a text is found by, and how well: our own tokens and BM25, alike on every store.

Apart from any store because a server's scoring uses statistics that all scopes share; here they
come from the rows that the caller may read and from no others.
"""

import heapq
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from hindsight_ray.core.english import new_stemmer
from hindsight_ray.domain.ids import MemoryUuid
from hindsight_ray.domain.rows import KeywordMatches

QUERY_TERMS_MAX = 64
_TERM_CHARACTERS_MAX = 64

# Scripts written without spaces, Hangul included for its particles: two characters are a term.
_DENSE = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_DENSE_RUN = re.compile(f"[{_DENSE}]+")
# A code or entity holds a joint (ERR-42, deploy.rollback, date_format, 10.0.0.1, a@b.c).
_CODE = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[-_./:@#+][a-z0-9]++)+")
_WORD = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"[a-z]{3,}\Z")
_STOP_WORDS = (
    "a an the of to in on at is are was were be been am and or for with as by it its this "
    "that these those i you he she we they from has have had do does did will would can "
    "could should what which who when where how my your our their me us them so if then "
    "than"
)
_STOP = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The English stem of a lower-case word; words of other scripts come back as they are."""
    if not _PLAIN.match(word):
        return word
    return new_stemmer().stemWord(word)


def terms(text: str) -> dict[str, int]:
    """How often each term occurs in a text that is kept: what its postings say."""
    return dict(Counter(_terms(text, singles=True)))


def query_terms(text: str) -> tuple[str, ...]:
    """The terms to look up for a question: each once, at most 64, in order of occurrence.

    A single CJK character is looked up only where it stands alone; longer runs by their pairs.
    """
    return tuple(dict.fromkeys(_terms(text, singles=False)))[:QUERY_TERMS_MAX]


def codes(text: str) -> frozenset[str]:
    """The codes and entities of a text (`err-42`, `deploy.rollback`), in lower case."""
    return frozenset(_CODE.findall(_folded(text)))


def words(text: str) -> tuple[str, ...]:
    """Stems and CJK characters in order, without function words or punctuation."""
    found: list[str] = []
    for token in _WORD.findall(_folded(text)):
        for piece in _pieces(token):
            if _DENSE_RUN.match(piece):
                found.extend(piece)
            elif piece not in _STOP:
                found.append(stem(piece))
    return tuple(found)


def bm25(
    matches: KeywordMatches, *, limit: int, k1: float = 1.2, b: float = 0.75
) -> list[tuple[MemoryUuid, float]]:
    """The `limit` best rows by Okapi BM25 (Robertson and Zaragoza 2009), ties by id.

    Statistics are those of `matches`, that is, of the readable rows alone.
    """
    if not matches.documents or limit < 1:
        return []
    average = matches.total_length / matches.documents or 1.0
    flat, slope = k1 * (1 - b), k1 * b / average
    fixed = flat + slope * matches.sizes
    scores = np.zeros(len(matches.sizes))
    for term in sorted(matches.postings):  # a fixed order: equal rows give equal sums
        at, counts = matches.postings[term]
        rarity = math.log1p((matches.documents - len(at) + 0.5) / (len(at) + 0.5))
        scores[at] += counts * (rarity * (k1 + 1)) / (counts + fixed[at])
    matched = np.flatnonzero(scores)
    if len(matched) > limit:  # with all that tie with the last of the best
        reached = scores[matched]
        matched = matched[reached >= np.partition(reached, -limit)[-limit]]
    found = [(matches.ids[row], float(scores[row])) for row in matched.tolist()]
    return heapq.nsmallest(limit, found, key=lambda item: (-item[1], item[0]))


def _terms(text: str, *, singles: bool) -> Iterable[str]:
    folded = _folded(text)
    for code in _CODE.findall(folded):
        yield code[:_TERM_CHARACTERS_MAX]
    for token in _WORD.findall(folded):
        for piece in _pieces(token):
            if _DENSE_RUN.match(piece):
                yield from _pairs(piece, singles=singles)
            elif piece not in _STOP:
                yield stem(piece)[:_TERM_CHARACTERS_MAX]


def _pairs(run: str, *, singles: bool) -> Iterable[str]:
    if singles or len(run) == 1:
        yield from run
    for first, second in pairwise(run):
        yield first + second


def _pieces(token: str) -> Iterable[str]:
    """A token cut where the script changes: `重启server` has two pieces."""
    start = 0
    for run in _DENSE_RUN.finditer(token):
        if run.start() > start:
            yield token[start : run.start()]
        yield run.group()
        start = run.end()
    if start < len(token):
        yield token[start:]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
