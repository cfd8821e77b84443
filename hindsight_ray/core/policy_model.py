"""Is this text the matcher that the compiled access implements?

An operator reads `model.conf` and edits csv profiles; a matcher that says something else would make
Casbin and the compiled access disagree, so it is refused with the reason rather than followed.
"""

import re
from typing import NoReturn

from hindsight_ray.errors import InvalidPolicy

_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*\(")
_FORBIDDEN = (
    (re.compile(r"[<>]|!="), "compares by order or inequality"),
    (re.compile(r"(?<![\w.\"])(in|not|is|lambda|for|if)(?![\w\"])"), "uses a word of Python"),
)
_EXPECTED: dict[tuple[str, str], str] = {
    ("request_definition", "r"): "agent,agent_role,user,user_role,tenant,obj,cls,act",
    ("policy_definition", "p"): "sub,tenant,obj,act,eft",
    ("role_definition", "g"): "_,_,_",
    ("policy_effect", "e"): "some(where(p.eft==allow))&&!some(where(p.eft==deny))",
    ("matchers", "m"): (
        '(p.tenant==r.tenant||p.tenant=="*")&&p.act==r.act'
        '&&(p.obj==r.obj||(p.obj=="agent:*"&&r.cls=="agent")||(p.obj=="user:*"&&r.cls=="user")'
        '||(p.obj=="label:*"&&r.cls=="label")||(p.obj=="agent:{self}"&&r.obj==r.agent)'
        '||(p.obj=="user:{acting}"&&r.obj==r.user)'
        '||(p.obj=="agent:{member}"&&r.cls=="agent"&&g(r.obj,p.sub,r.tenant)))'
        "&&(g(r.agent,p.sub,r.tenant)||g(r.agent_role,p.sub,r.tenant)"
        '||((p.eft=="deny"||r.agent=="agent:"||r.act=="read"||r.act=="write"||r.act=="forget"'
        '||r.act=="review")&&(g(r.user,p.sub,r.tenant)||g(r.user_role,p.sub,r.tenant))))'
    ),
}


def checked_model(text: str) -> str:
    """Return `text` if it states the one model, apart from spaces and comments.

    Raises `InvalidPolicy` naming line and fault: a regex or prefix matcher, another effect, …
    """
    if text.startswith("\ufeff"):
        _refuse(1, "starts with a byte order mark; save the file as UTF-8 without one")
    found: dict[tuple[str, str], int] = {}
    section = ""
    for line, raw in enumerate(text.split("\n"), start=1):
        row = raw.removesuffix("\r").strip(" \t")
        if not row or row.startswith("#"):
            continue
        if row.startswith("[") and row.endswith("]"):
            section = row[1:-1]
            continue
        name, equals, value = row.partition("=")
        place = (section, name.strip())
        if not equals or place not in _EXPECTED:
            _refuse(line, f"has {name.strip()!r} in [{section}], which this model does not know")
        if place in found:
            _refuse(line, f"repeats `{name.strip()}` of line {found[place]}")
        found[place] = line
        if section == "matchers":
            _check_matcher(line, value)
        if re.sub(r"\s+", "", value) != _EXPECTED[place]:
            _refuse(line, f"states another `{name.strip()}` than the compiled access implements")
    for section, name in _EXPECTED.keys() - found.keys():
        _refuse(0, f"lacks `{name}` in [{section}]")
    return text


def _check_matcher(line: int, matcher: str) -> None:
    for call in _CALL.findall(matcher):
        if call != "g":
            _refuse(line, f"calls `{call}`; matchers hold equality tests and `g` alone")
    for pattern, fault in _FORBIDDEN:
        if pattern.search(matcher):
            _refuse(line, f"{fault}; matchers hold equality tests and `g` alone")


def _refuse(line: int, fault: str) -> NoReturn:
    raise InvalidPolicy(f"`model` line {line}: {fault}", line=line, fault=fault)
