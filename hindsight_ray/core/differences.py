"""In what do two calls of one tool differ? Said in few words, or not at all.

Calls are compared by their arguments where those are JSON, else word by word; a difference in more
than three places is none that advice could carry.
"""

import difflib
import json
import re
from collections.abc import Iterator

from hindsight_ray.core.values import Fields, as_list, as_object

_TOKENS = re.compile(r"[A-Za-z0-9_.@-]+|[^\sA-Za-z0-9]")
_WORD = re.compile(r"[^\W_]")
_OF_A_CASE = re.compile(r"\d")
_PLACES_MAX = 3


def difference(before: str, after: str) -> str:
    """How `after` differs: `with x instead of y`, `with another n`, `also with z`, `without w`; or
    "" if too much."""
    old, new = _arguments(before), _arguments(after)
    if old is not None and new is not None:
        parts = list(_of_values("", old, new))
    else:
        parts = list(_of_words(before, after))
    return " and ".join(dict.fromkeys(parts)) if 0 < len(parts) <= _PLACES_MAX else ""


def _arguments(call: str) -> Fields | None:
    start = call.find("{")
    if start < 0:
        return None
    try:
        return as_object(json.loads(call[start:]))
    except (ValueError, RecursionError):
        return None


def _of_values(path: str, old: object, new: object) -> Iterator[str]:
    if old == new:
        return
    was, now = as_object(old), as_object(new)
    listed, listing = as_list(old), as_list(new)
    if was is not None and now is not None:
        for key in dict.fromkeys([*was, *now]):
            if key not in now:
                yield f"without {_named(key, was[key])}"
            elif key not in was:
                yield f"also with {_named(key, now[key])}"
            else:
                yield from _of_values(key, was[key], now[key])
    elif listed is not None and listing is not None:
        yield from _of_lists(path, listed, listing)
    else:
        yield _instead(f"{path} " if path else "", _said(new), _said(old))


def _of_lists(path: str, old: list[object], new: list[object]) -> Iterator[str]:
    gone = [one for one in old if one not in new]
    come = [one for one in new if one not in old]
    if len(gone) == len(come):
        for was, now in zip(gone, come, strict=True):
            yield from _of_values(path, was, now)
        return
    if gone and come and path:
        yield f"with other {path}"
        return
    yield from (f"without {_named(path, one, 'one of its ')}" for one in gone)
    yield from (f"also with {_named(path, one, 'more of its ')}" for one in come)


def _named(key: str, value: object, of_several: str = "") -> str:
    said = _said(value)
    return f"{of_several}{key}" if key and _OF_A_CASE.search(said) else f"{key} {said}"


def _instead(key: str, now: str, was: str) -> str:
    if key and _OF_A_CASE.search(now) and _OF_A_CASE.search(was):
        return f"with another {key.strip()}"
    return f"with {key}{now} instead of {was}"


def _said(value: object) -> str:
    """A value in few signs: a text bare, an object as its values."""
    if isinstance(value, str):
        return value
    fields = as_object(value)
    if fields is not None:
        return "/".join(_said(one) for one in fields.values())
    return json.dumps(value, ensure_ascii=False)


def _of_words(before: str, after: str) -> Iterator[str]:
    old, new = list(_TOKENS.finditer(before)), list(_TOKENS.finditer(after))
    matcher = difflib.SequenceMatcher(
        None, [t.group() for t in old], [t.group() for t in new], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        was, now = _slice(before, old[a:b]), _slice(after, new[c:d])
        if not _WORD.search(was + now):
            continue
        if not _WORD.search(now):
            yield f"without {was}"
        elif not _WORD.search(was):
            yield f"also with {now}"
        else:
            yield _instead(_key(new, c), now, was)


def _slice(text: str, tokens: list[re.Match[str]]) -> str:
    return text[tokens[0].start() : tokens[-1].end()] if tokens else ""


def _key(tokens: list[re.Match[str]], at: int) -> str:
    """The argument's name before a changed value, as far as `name=` or `"name":` shows it."""
    for back in range(at - 1, max(at - 5, -1), -1):
        word = tokens[back].group()
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word):
            return f"{word} " if back < at - 1 else ""
        if word not in (":", "=", '"', "'"):
            return ""
    return ""
