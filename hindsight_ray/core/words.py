"""The words of a statement as rules compare them: codes whole, Chinese and Japanese by signs.

What is neither a letter nor mere punctuation counts too: `C` and `C++`, `5` and `-5`, `$5` and
`5%`, `a<b` and `a>b` are not the same words.
"""

import re
import unicodedata

# Marks that only part words; what they join (codes, numbers with points) is one word.
PUNCTUATION = ".,;:!?\"'`()[]{}。，、；：！？…「」『』（）《》“”‘’-–—·"
_BESIDE = PUNCTUATION + "/@*"
_WORD = r"[^\W_]+(?:['\u2019][^\W_]+)*(?:[-_./:@][^\W_]+)*"  # words, n't, codes, numbers
_BEGINS = r"(?<![\w)\]])"
_TOKEN = re.compile(
    rf"(?:{_BEGINS}[-+](?=\d))?{_WORD}"  # -5
    rf"|{_BEGINS}-(?=\s?[^\w\s]?\d)"  # -$5, - 5
    rf"|[^\w\s{re.escape(_BESIDE)}]"
)
_DENSE = re.compile(
    r"ません|ない|なし|です|ます|如果|除非|直到|有时|几乎|很少|难得|未必|[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
_PLURALS = (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", ""))
_NO_PLURALS = ("ss", "us", "is", "ws", "ics", "eries", "ecies")


def one_spelling(text: str) -> str:
    """The text with compatible signs made one (NFKC), and one apostrophe: what every rule reads."""
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'")


def listed(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


def singular(word: str) -> str:
    """A lower-case word without the ending of a plural (or of "she runs"), and nothing more: no
    stem, since `markets` and `marketing` are not the same."""
    if len(word) > 3 and word.isascii() and word.isalpha() and not word.endswith(_NO_PLURALS):
        for ending, left in _PLURALS:
            if word.endswith(ending):
                return word.removesuffix(ending) + left
    return word


def tokens(text: str) -> list[str]:
    """The words and signs in order, as they are written; punctuation and spaces are left out."""
    found: list[str] = []
    end, open_ended = -1, False  # where the last one ended, and whether with a combining mark
    for match in _TOKEN.finditer(text):
        token = match.group()
        if not token.isascii():
            marked = unicodedata.category(token[0]).startswith("M")
            if match.start() == end and found and (marked or open_ended):
                found[-1] += token  # most scripts of India write vowels so, within a word
                end, open_ended = match.end(), True
                continue
        found += _pieces(token)
        end, open_ended = match.end(), False
    return found


def _pieces(token: str) -> list[str]:
    if token.isascii():
        return [token]
    found: list[str] = []
    start = 0
    for dense in _DENSE.finditer(token):
        if dense.start() > start:
            found.append(token[start : dense.start()])
        found.append(dense.group())
        start = dense.end()
    if start < len(token):
        found.append(token[start:])
    return found
