"""Which words a text certainly lacks, seen before it is taken apart.

A new statement is compared with twenty kept ones, and nearly all of them are about something else.
Taking one apart costs many times what a look for a few words costs. What is found here proves
nothing; what is not found is not there.
"""

from collections.abc import Iterable
from functools import lru_cache

from hindsight_ray.core.forms import plain_text
from hindsight_ray.core.words import one_spelling


def lacks(text: str, words: Iterable[str], beyond: int = 0) -> bool:
    """Whether more than `beyond` of these folded words, or parts of one, are nowhere in the text.

    Words are unbroken in every reading of a text, whatever it folds or leaves out.
    """
    letters = _letters(text)
    missing = 0
    for word in words:
        if word not in letters:
            missing += 1
            if missing > beyond:
                return True
    return False


@lru_cache(maxsize=4_096)
def _letters(text: str) -> str:
    """The text as rules read it, folded: with a comma or other signs they read it in two ways."""
    if text.isascii() and "," not in text:
        return text.casefold()
    return f"{one_spelling(text)}\n{plain_text(text)}".casefold()
