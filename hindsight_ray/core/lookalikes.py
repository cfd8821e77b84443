"""Does a statement write a word with letters of another script that look alike?

`bіlling` with a Cyrillic і, or with a sign that is not shown, is a word to nobody but a machine.
Only words that mix Latin with Cyrillic or Greek letters are read so: whole words of those scripts
are what they are.
"""

import re
import unicodedata

_LOOK = str.maketrans(
    "аеорсухіјѕһԁԛԝӏкмтвнАВЕКМНОРСТХУІЈЅԌԚԜοαιρυνκτεΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwlkmtbhABEKMHOPCTXYIJSGQWoaipuvkteABEZHIKMNOPTYX",
)
_MIXED = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")
_OTHER = re.compile("[\u0370-\u03ff\u0400-\u052f]")


def undisguised(text: str) -> str:
    """The text as it looks: without signs that are not shown, and mixed words in Latin letters."""
    if text.isascii():
        return text
    shown = "".join(ch for ch in text if unicodedata.category(ch) != "Cf")
    return _MIXED.sub(_in_latin, shown)


def _in_latin(word: re.Match[str]) -> str:
    said = word.group()
    return said.translate(_LOOK) if _LATIN.search(said) and _OTHER.search(said) else said
