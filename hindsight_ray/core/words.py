"""The words of a statement as rules compare them: codes whole, Chinese and Japanese by signs."""

import re

_TOKEN = re.compile(
    r"[^\W_]+(?:['\u2019][^\W_]+)*(?:[-_./:@][^\W_]+)*"  # words, n't, codes, numbers with points
)
_DENSE = re.compile(
    r"ません|ない|なし|です|ます|如果|除非|直到|有时|[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


def listed(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


def tokens(text: str) -> list[str]:
    """The words in order, as they are written; marks and spaces are left out."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        start = 0
        for dense in _DENSE.finditer(token):
            if dense.start() > start:
                found.append(token[start : dense.start()])
            found.append(dense.group())
            start = dense.end()
        if start < len(token):
            found.append(token[start:])
    return found
