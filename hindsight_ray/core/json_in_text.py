"""Which JSON values may a text be meant as? Every one, the surest first, and how it was had.

As it stands, out of fences and prose, several one after the other, and broken ones as a repair has
mended them, wide signs in the place of JSON's own among them.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import cast

_FENCE = re.compile(r"```[a-zA-Z0-9_-]{0,20}\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_CANDIDATES_MAX = 4
_QUOTED_MAX = 3
_BRACKETS_MAX = 64  # at which an object is looked for
_OPENED_MAX = 2_000
_LEFT_OPEN_MAX = 200
REPAIRED = "broken JSON repaired"
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "＂": '"'})
_NARROW = {"：": ":", "，": ",", "｛": "{", "｝": "}", "［": "[", "］": "]"}
_WIDE = re.compile(
    r'(?<=["}\]\d])\s*[：，｝］]|[｛［]|(?<=[el])，(?=\s*")|[｝］](?=\s*(?:[,，}｝\]］]|\Z))'
)


def readings(text: str) -> Iterator[tuple[object, str]]:
    """Every JSON value that the text may be meant as, the surest first, and how it was had."""
    with contextlib.suppress(ValueError, RecursionError):
        yield _strict(text), ""
    fenced = sorted((m.group(1) for m in _FENCE.finditer(text)), key=len, reverse=True)
    marked = [(one, "taken out of a fence") for one in fenced[:_CANDIDATES_MAX]]
    marked += [(one, "taken out of prose") for one in _bracketed(text)]
    for candidate, how in marked:
        try:
            yield _strict(candidate), how
        except (ValueError, RecursionError):
            continue
    several = _several(text)
    if len(several) > 1:
        yield several, "taken out of prose"
    for candidate, _ in marked:
        yield _repaired(candidate), REPAIRED
    plain = _plain_signs(text)
    if plain != text:
        for candidate in _bracketed(plain):
            yield _repaired(candidate), REPAIRED


def _several(text: str) -> list[object]:
    """The objects that stand in the text one after the other."""
    found: list[object] = []
    start = 0
    for _ in range(_BRACKETS_MAX):
        start = text.find("{", start)
        if start < 0:
            break
        try:
            value, start = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        found.append(value)
    return found


def _plain_signs(text: str) -> str:
    """The text with JSON's own signs where wide ones stand in their places."""
    if '"' not in text:
        text = text.translate(_QUOTES)
    return _WIDE.sub(lambda found: _NARROW[found[0].strip()], text)


def _bracketed(text: str) -> list[str]:
    """From the first bracket to the last that closes it, and to the end where none does."""
    found: list[str] = []
    for opening, closing in (("{", "}"), ("[", "]")):
        start = text.find(opening)
        if start < 0:
            continue
        end = text.rfind(closing)
        if end > start:
            found.append(text[start : end + 1])
        found.append(text[start:])
    return sorted(found, key=lambda one: text.find(one[:1]))


def _strict(text: str) -> object:
    return json.loads(text, parse_constant=_no_number)


def _no_number(_name: str) -> None:
    """`NaN` and infinities are no numbers: nothing was said there."""
    return


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _repaired(text: str) -> object:
    import json_repair  # noqa: PLC0415 - few answers need mending

    opened, closed = (sum(map(text.count, signs)) for signs in ("{[", "}]"))
    if opened > _OPENED_MAX or opened - closed > _LEFT_OPEN_MAX:
        return None  # no answer holds so many or is cut so deep, and a repair would take minutes
    try:
        return cast("object", json_repair.loads(text, skip_json_loads=True))
    except Exception:  # noqa: BLE001 - whatever a repair stumbles over, the answer is unparsable
        return None


def unquoted(text: str) -> object:
    """What a text holds that was quoted, once or more often."""
    for _ in range(_QUOTED_MAX):
        try:
            found = _strict(text)
        except (ValueError, RecursionError):
            break
        if not isinstance(found, str):
            return found
        text = found
    told = readings(text) if text.strip()[:1] in ("{", "[") else iter(())
    return next((one for one, _ in told if _holds(one)), None)


def _holds(value: object) -> bool:
    return isinstance(value, dict | list) and bool(cast("object", value))
