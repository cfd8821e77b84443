"""Which colour stands for which credit? Blue helped, red harmed, white neither.

Both ends stay apart for eyes that do not tell red from green.
"""

NO_CREDIT = "#d9d9d9"
INK = "#1a1a1a"
FLAG = "#d95f02"
_HARMED, _NONE, _HELPED = (178, 24, 43), (247, 247, 247), (33, 102, 172)
_DARK = 0.45  # luminance below which text on it is white


def credit_colour(value: float, most: float) -> str:
    """The colour of a share, `most` being the greatest size that any has."""
    reach = min(abs(value) / most, 1.0) if most > 0 else 0.0
    end = _HELPED if value > 0 else _HARMED
    mixed = [round(none + (full - none) * reach) for none, full in zip(_NONE, end, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def text_colour(fill: str) -> str:
    """Black or white, whichever is read better on `fill`."""
    red, green, blue = (int(fill[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < _DARK else INK
