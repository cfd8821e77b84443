"""How a call is said where nobody has said it: short, readable, and without secrets."""

import pytest

from hindsight_ray.core.described import described
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("arguments", "came_back", "said"),
    [
        ({"place": "north field"}, "9 sacks", "harvest(place=north field) → 9 sacks"),
        ({"n": 2, "dry": True}, "", "harvest(n=2, dry=true)"),
        (["a", 1, {"b": [2]}], "ok", 'harvest(a, 1, {"b":[2]}) → ok'),
        ("everything", "ok", "harvest(everything) → ok"),
        ({}, "7", "harvest() → 7"),
        (None, "7", "harvest → 7"),
        (None, "", "harvest"),
        ({"地": "北田"}, "九袋", "harvest(地=北田) → 九袋"),
        ({"note": "two\nlines"}, "two\nlines", "harvest(note=two lines) → two\nlines"),
    ],
)
def test_a_call_is_said_by_its_arguments_and_what_came_back(
    arguments: object, came_back: str, said: str
) -> None:
    assert described("harvest", arguments, came_back) == (said, False)


@pytest.mark.parametrize(
    "name", ["password", "db_password", "apiKey", "access_token", "Authorization", "密码"]
)
def test_what_stands_under_a_secrets_name_is_left_out(name: str) -> None:
    said, _ = described("login", {"user": "al", name: "correct horse battery"}, "ok")
    assert said == f"login(user=al, {name}=…) → ok"


@pytest.mark.parametrize("name", ["tokens", "max_tokens", "passenger", "primary_key", "compass"])
def test_names_that_only_look_like_a_secrets_keep_their_values(name: str) -> None:
    assert described("f", {name: "3"}, "")[0] == f"f({name}=3)"


@pytest.mark.parametrize(
    "arguments",
    [
        {f"k{n}": n for n in range(1_000)},
        {"text": "x" * 100_000},
        list(range(1_000)),
        {"k" * 10_000: 1},
        "x" * 100_000,
        [10**5_000],
    ],
)
def test_whatever_is_long_is_cut_and_said_to_be(arguments: object) -> None:
    said, cut = described("f", arguments, "done")
    assert cut
    assert len(said) < SUMMARY_CHARACTERS_MAX
    assert said.endswith(" → done")
    assert described("f", arguments, "r" * 5_000)[0].count("r") > 400


def test_what_is_no_text_becomes_text_that_can_be_kept() -> None:
    said, _ = described("f", {"a": "\ud800\0"}, "b\0")
    assert said == "f(a=\ufffd\ufffd) → b\ufffd"
