"""The matcher is the one that the compiled access implements, or the model is refused."""

import re

import pytest

from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.core.policy_model import checked_model
from hindsight_ray.errors import InvalidPolicy

MODEL = shipped_text("model.conf")


def _with(old: str, new: str) -> str:
    assert old in MODEL
    return MODEL.replace(old, new)


FAULTS = {
    "a regex matcher": (_with("p.obj == r.obj", "regexMatch(r.obj, p.obj)"), "calls `regexMatch`"),
    "a prefix matcher": (_with("p.obj == r.obj", "keyMatch(r.obj, p.obj)"), "calls `keyMatch`"),
    "an eval": (_with("p.obj == r.obj", "eval(p.obj)"), "calls `eval`"),
    "a method call": (_with("p.obj == r.obj", "r.obj.startswith(p.obj)"), "calls `r.obj.starts"),
    "a containment test": (_with("p.obj == r.obj", "p.obj in r.obj"), "a word of Python"),
    "an inequality": (_with("p.obj == r.obj", "p.obj != r.obj"), "inequality"),
    "a dropped test": (_with("p.act == r.act && ", ""), "another `m`"),
    "an acting that carries more": (
        _with('r.act == "review"', 'r.act == "review" || r.act == "share"'),
        "another `m`",
    ),
    "an effect that lets allow win": (
        _with("some(where (p.eft == allow)) && !some(where (p.eft == deny))",
              "some(where (p.eft == allow))"),
        "another `e`",
    ),
    "roles without tenants": (_with("g = _, _, _", "g = _, _"), "another `g`"),
    "a second grouping": (_with("g = _, _, _", "g = _, _, _\ng2 = _, _"), "'g2'"),
    "a repeated matcher": (MODEL + "\nm = true\n", "repeats `m`"),
    "another section": (MODEL + "\n[other]\nx = 1\n", "'x' in [other]"),
    "a byte order mark": ("\ufeff" + MODEL, "byte order mark"),
    "a missing matcher": (re.sub(r"(?m)^m = .*$", "", MODEL), "lacks `m`"),
    "nothing": ("", "lacks"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_model_that_says_something_else_is_refused(name: str) -> None:
    text, fault = FAULTS[name]
    with pytest.raises(InvalidPolicy) as refusal:
        checked_model(text)
    assert fault in refusal.value.message


def test_the_shipped_model_is_accepted_whatever_its_spaces() -> None:
    assert checked_model(MODEL) == MODEL
    checked_model(MODEL.replace("\n", "\r\n").replace(" && ", "&&"))


def test_casbin_does_not_start_with_a_model_that_says_something_else() -> None:
    with pytest.raises(InvalidPolicy):
        CasbinPolicies(FAULTS["a regex matcher"][0])
