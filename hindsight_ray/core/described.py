"""How is a tool call said where nobody has said it? `harvest(place=north field) → 9 sacks`.

In a bounded length, whatever was given. A value that stands under a secret's name is left out here
already; what else is secret is masked with every other text where it is recorded. The agent waits
for it, so little is done for what is short and plain.
"""

from itertools import islice
from typing import Any, cast

from hindsight_ray.core.digest import bounded_canonical
from hindsight_ray.core.redaction import names_secret
from hindsight_ray.core.steps import RESULT_SIGN, one_line, shortened
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX, cut_text

_CALL_CHARACTERS = 480  # what came back gets the rest
_VALUE_CHARACTERS = 200
_VALUES_MAX = 20
_PLAIN_MAX = 10**18
_LEFT_OUT = "…"


def described(name: str, arguments: Any, came_back: str) -> tuple[str, bool]:
    """The call and what came back, and whether anything of it was cut."""
    call, less = (name, False) if arguments is None else _call(name, arguments)
    said = call + RESULT_SIGN + came_back if came_back else call
    plain = said.isprintable() and call.isascii() and came_back.isascii()
    if plain and len(said) <= SUMMARY_CHARACTERS_MAX:
        return said, less  # as nearly all are
    shown, cut = cut_text(said, SUMMARY_CHARACTERS_MAX)
    return shown, cut or less


def _call(name: str, arguments: Any) -> tuple[str, bool]:
    found: list[str] = []
    less = False
    if isinstance(arguments, dict):
        named = cast("dict[Any, Any]", arguments)
        for key, value in islice(named.items(), _VALUES_MAX):
            shown, cut = _value(key)
            less = less or cut
            if names_secret(shown):
                found.append(f"{shown}={_LEFT_OUT}")
                continue
            text, cut = _value(value)
            less = less or cut
            found.append(f"{shown}={text}")
        many = len(named) > _VALUES_MAX
    else:
        listed = (
            cast("list[Any] | tuple[Any, ...]", arguments)
            if isinstance(arguments, list | tuple)
            else (arguments,)
        )
        values = [_value(value) for value in listed[:_VALUES_MAX]]
        found = [text for text, _ in values]
        less = any(cut for _, cut in values)
        many = len(listed) > _VALUES_MAX
    call = f"{name}({', '.join(found)}{', …' if many else ''})"
    if len(call) > _CALL_CHARACTERS:
        return shortened(call, _CALL_CHARACTERS), True
    return call if call.isprintable() else one_line(call), less or many


def _value(value: Any) -> tuple[str, bool]:
    if type(value) is str:
        text, cut = value, False
    elif type(value) is int and -_PLAIN_MAX < value < _PLAIN_MAX:
        return str(value), False
    elif isinstance(value, str):
        text, cut = str(value), False
    else:
        text, cut = bounded_canonical(value)
    if len(text) <= _VALUE_CHARACTERS:
        return text, cut
    return text[: _VALUE_CHARACTERS - 1] + _LEFT_OUT, True
