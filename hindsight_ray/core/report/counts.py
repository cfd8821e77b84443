"""How many of what, in words: one run, two runs."""

_VOWELS = "aeiou"


def counted(number: int, one: str) -> str:
    """The number and its noun, which is given as for one: `1 memory`, `1,200 memories`."""
    if number == 1:
        return f"1 {one}"
    ends_soft = one.endswith("y") and one[-2:-1] not in _VOWELS
    return f"{number:,} {one[:-1]}ies" if ends_soft else f"{number:,} {one}s"
