"""How many tokens may a text become? A bound from above, without any model's tokenizer.

Byte-pair tokenizers never make more tokens than bytes, keep ordinary words together, and cut what
is rare. So a word counts a token for every three letters, one in capitals or a long one for every
two, a code or a name in mixed case one for each character, a sign one, and whatever is not ASCII
one for each of its bytes.
"""

import re

_ORDINARY = 12  # letters: longer words are put together from pieces
_PIECES = re.compile(r"[A-Za-z0-9]+|[^\x00-\x7f]+|[^\sA-Za-z0-9]|\n+|[ \t\r\f\v]{2,}")


def tokens_at_most(text: str) -> int:
    """An upper bound of the text's tokens; measured against two tokenizers in the tests."""
    return sum(_of(piece) for piece in _PIECES.findall(text))


def fitting(text: str, tokens: int) -> str:
    """The longest beginning of `text` that surely has at most so many tokens."""
    count = 0
    for piece in _PIECES.finditer(text):
        count += _of(piece.group())
        if count > tokens:
            return text[: piece.start()].rstrip() if piece.start() else ""
    return text


def _of(piece: str) -> int:
    if not piece.isascii():
        return len(piece.encode("utf-8", "replace"))
    if piece.isspace():
        return 1 + len(piece) // 8
    plain = piece.islower() or piece[1:].islower()
    if piece.isalpha() and plain and len(piece) <= _ORDINARY:
        return -(-len(piece) // 3)
    if piece.isalpha() and (plain or piece.isupper()):
        return -(-len(piece) // 2)
    return len(piece)
