"""Whatever the text, the loader grants no more than a strict reading of it, and Casbin agrees.

The reference below was written from the description of the format alone: one pattern for a row,
and every line must be one, a comment or blank. It knows nothing of names that collide or chains
too long, so the loader may refuse more than it; it may never accept more, or read other words.
"""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.adapters.policy.profiles import policies_folder, shipped_text
from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import ACTIONS, Policy
from hindsight_ray.domain.commands import LoadPolicy
from hindsight_ray.errors import InvalidPolicy
from tests.properties.test_access import CASBIN, SCOPES, _callers
from tests.worlds import START, world

_ID = r"[A-Za-z0-9][A-Za-z0-9._@\-]{0,127}"
_GAP = r"[ \t]*,[ \t]*"
_SUBJECT = rf"(?:agent|user|role):{_ID}"
_TENANT = rf"(?:\*|{_ID})"
_SCOPE = rf"global|agent:{_ID}|user:{_ID}|agent:\*|user:\*|agent:\{{self\}}|user:\{{acting\}}"
_ACTION = "|".join(ACTIONS)
_HEAD = rf"(p){_GAP}({_SUBJECT}){_GAP}({_TENANT}){_GAP}"
_GROUP = rf"(p){_GAP}(role:(?!(?:agent|user)[ \t]*,){_ID}){_GAP}({_TENANT}){_GAP}"
_ROWS = (
    re.compile(rf"{_HEAD}({_SCOPE}){_GAP}({_ACTION}){_GAP}(allow|deny)"),
    re.compile(rf"{_HEAD}(label:{_ID}){_GAP}(read){_GAP}(deny)"),
    re.compile(rf"{_GROUP}(agent:\{{member\}}){_GAP}({_ACTION}){_GAP}(allow|deny)"),
    re.compile(rf"(g){_GAP}({_SUBJECT}){_GAP}(role:{_ID}){_GAP}({_TENANT})"),
)  # fmt: skip
_ODD = (
    "\ufeff", "\x00", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u00a0", "\u200b", "\u0301", "ａ",
    "а", "é", "\r", "\n", "\r\n", ",", "\"", "'", "#", "*", "{", "}", ":", "::", "..", "regexMatch",
    "keyMatch", "%", "\\", "/", "|", "(", ")", "==", "allow", "deny", "alow", "Allow", " ", "\t",
    "role:", "agent:", "user:", "label:", "global", "p", "g", "p2", "e", "administer", "operator",
)  # fmt: skip
_SEEDS = [
    *(shipped_text(f"{name}.csv") for name in ("default", "strict", "team", "research")),
    "\n".join(
        (
            "p, role:support, acme, user:*, read, allow", "g, user:sam, role:support, acme",
            "p, role:agent, acme, label:secret, read, deny",
            "p, role:red, acme, agent:{member}, read, allow", "g, agent:r1, role:red, acme",
        )
    ),
]  # fmt: skip
MUTANTS = 2_500


def _reference(text: str) -> set[tuple[str, ...]] | None:
    """The rows that a strict reader sees; None for a text that is not one of rows alone."""
    found: set[tuple[str, ...]] = set()
    for line in text.split("\n"):
        row = line.removesuffix("\r").strip(" \t")
        if not row or row.startswith("#"):
            continue
        match = next(filter(None, (one.fullmatch(row) for one in _ROWS)), None)
        if match is None:
            return None
        found.add(match.groups())
    return found


def _read(policy: Policy) -> set[tuple[str, ...]]:
    rules = {("p", r.subject, r.tenant, r.object, r.action, r.effect) for r in policy.rules}
    return rules | {("g", one.member, one.role, one.tenant) for one in policy.memberships}


def _holds(text: str) -> bool:
    """Whether the loader takes the text, having checked that it reads it as the reference does."""
    try:
        policy = parse_policy(text)
    except InvalidPolicy:
        return False
    strict = _reference(text)
    assert strict is not None, text
    assert _read(policy) == strict
    return True


def _mutant(draw: random.Random) -> str:
    text = draw.choice(_SEEDS)
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        place = draw.randrange(len(lines))
        kind = draw.randrange(7)
        if kind == 0:  # somewhere, something that does not belong there
            at = draw.randint(0, len(text))
            text = text[:at] + draw.choice(_ODD) + text[at + draw.randint(0, 2) :]
            continue
        line = lines[place]
        fields = line.split(",")
        if kind == 1:
            lines.insert(draw.randrange(len(lines) + 1), line)
        elif kind == 2:
            del lines[place]
        elif kind == 3:
            draw.shuffle(fields)
            lines[place] = ",".join(fields)
        elif kind == 4:
            fields[draw.randrange(len(fields))] = draw.choice(_ODD)
            lines[place] = ",".join(fields)
        elif kind == 5:
            lines[place] = line[: draw.randint(0, len(line))]
        else:
            at = draw.randint(0, len(line))
            lines[place] = line[:at] + draw.choice(_ODD) + line[at:]
        text = "\n".join(lines)
    return text


@pytest.mark.covers("G5.fuzz")
@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_refused_or_read_as_it_stands(seed: int) -> None:
    draw = random.Random(seed)
    taken = sum(_holds(_mutant(draw)) for _ in range(MUTANTS // 4))
    assert MUTANTS // 40 < taken < MUTANTS // 4  # the fuzz reaches both sides


_line = st.one_of(
    st.builds(
        ",".join, st.lists(st.sampled_from((*_ODD, "p", "role:a", "acme", "read")), max_size=7)
    ),
    st.builds(
        "{}, {}, {}, {}, {}, {}".format,
        st.sampled_from(("p", "g", "P", " p")),
        st.sampled_from(("agent:a1", "role:r1", "role:agent", "user:u1", "agent:", "role:*", "r1")),
        st.sampled_from(("acme", "*", "**", "", "a/b")),
        st.sampled_from((*SCOPES, "agent:*", "agent:{member}", "label:x", "label:*", "agent:{x}")),
        st.sampled_from((*ACTIONS, "*", "Read", "read|write")),
        st.sampled_from(("allow", "deny", "allow ", "allow#", "DENY")),
    ),
    st.text(max_size=12),
)


@pytest.mark.covers("G5.fuzz")
@settings(max_examples=200)
@given(st.lists(_line, max_size=6).map("\n".join))
def test_any_lines_are_refused_or_read_as_they_stand(text: str) -> None:
    _holds(text)


@pytest.mark.covers("G5.fuzz", "G5.agree")
@settings(max_examples=40)
@given(lines=st.lists(_line, max_size=8).map("\n".join), caller=_callers)
async def test_what_is_taken_grants_what_casbin_grants(lines: str, caller: object) -> None:
    try:
        policy = parse_policy(lines)
    except InvalidPolicy:
        return
    access = compile_access(PolicyIndex.of(policy), caller, START)  # type: ignore[arg-type]
    await CASBIN.check(policy, START)
    for scope in SCOPES:
        enforced = await CASBIN.enforce(policy, caller, "read", scope, START)  # type: ignore[arg-type]
        assert access.may("read", scope) == enforced


@pytest.mark.covers("G5.fuzz", "G5.reload")
async def test_no_bad_file_takes_the_place_of_the_last_good_policy(tmp_path: Path) -> None:
    draw = random.Random(20)
    refused = 0
    async with world(tmp_path) as home:
        operator = await home.operator()
        async with home.world.ledger.reading() as unit:
            good = await unit.policy.current()
        for _ in range(120):
            text = _mutant(draw)
            if _holds(text):
                continue
            with pytest.raises(InvalidPolicy):
                await home.ask(operator, LoadPolicy(text=text))
            refused += 1
            async with home.world.ledger.reading() as unit:
                assert await unit.policy.current() == good
    assert refused > 20


def test_the_shipped_files_are_read_by_both() -> None:
    for file in policies_folder().glob("*.csv"):
        assert _holds(file.read_text(encoding="utf-8"))
