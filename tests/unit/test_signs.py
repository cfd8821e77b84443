"""Signs, currencies and scripts are part of what is said: nothing is equal but for them."""

import time
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hindsight_ray.core.claims import clash, same_claim
from hindsight_ray.core.conflict import likeness, read, same_value
from hindsight_ray.core.keywords import codes, terms
from hindsight_ray.core.lookalikes import undisguised
from hindsight_ray.core.words import singular, tokens
from hindsight_ray.domain.rows import EmbeddingSpace

SPACE = EmbeddingSpace("m", 4, duplicate_at=0.95, merge_at=0.85)


@pytest.mark.covers("write.signs")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("The balance of acct is 5 euros", "The balance of acct is -5 euros"),
        ("The balance of acct is 5 euros", "The balance of acct is - 5 euros"),
        ("The temperature of freezer 3 is -18", "The temperature of freezer 3 is 18"),
        ("The price of tea is $5", "The price of tea is €5"),
        ("The price of tea is $5", "The price of tea is -$5"),
        ("The limit of the pool is >7", "The limit of the pool is <7"),
        ("The rate of x is 5%", "The rate of x is 5"),
        ("The desk is called Marketing", "The desk is called Markets"),
        ("the desk of the marketing team", "the desk of the market team"),
        ("We ask accounts first", "We ask accounting first"),
        ("They work for an organ", "They work for an organization"),
        ("We write it in C", "We write it in C++"),
        ("We write it in C++", "We write it in C#"),
        ("Sort them when a<b", "Sort them when a>b"),
        ("Ask team 🚀 first", "Ask team 🔥 first"),
        ("Ask कि first", "Ask की first"),
        ("Ask ไม่ first", "Ask ไม้ first"),
        ("Ask team A first", "Ask the team first"),
        ("The zone of it is UTC+1", "The zone of it is UTC-1"),
        ("The version of it is 1,10", "The version of it is 110"),
    ],
)
def test_what_a_sign_or_a_letter_tells_apart_is_never_the_same(new: str, kept: str) -> None:
    for one, other in ((new, kept), (kept, new)):
        assert likeness(read(one), read(other), 1.0, SPACE) not in ("same", "fuller", "briefer")
        assert not same_claim(one, other)
        assert not same_value(read(one), read(other), "some_topic")


@pytest.mark.covers("write.signs")
def test_what_a_topic_is_called_takes_no_word_out_of_its_values() -> None:
    assert not same_value(read("the market team"), read("the marketing team"), "market_lead")


@pytest.mark.covers("write.duplicate")
@pytest.mark.parametrize(
    ("word", "one"),
    [("policies", "policy"), ("boxes", "box"), ("matches", "match"), ("pods", "pod"),
     ("news", "news"), ("bus", "bus"), ("axis", "axis"), ("marketing", "marketing"),
     ("physics", "physics"), ("series", "series"), ("gas", "gas")],
)  # fmt: skip
def test_a_plural_loses_its_ending_and_nothing_more(word: str, one: str) -> None:
    assert singular(word) == one


@pytest.mark.covers("write.signs")
def test_words_keep_their_signs_and_marks() -> None:
    assert tokens("The price, in C++: -$5 (or 5%)") == [
        "The", "price", "in", "C", "+", "+", "-", "$", "5", "or", "5", "%",
    ]  # fmt: skip
    assert tokens("हिन्दी की") == ["हिन्दी", "की"]
    assert tokens("from -5 to 3-5") == ["from", "-5", "to", "3-5"]


@pytest.mark.covers("write.unrelated")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("The owner of accounts is Dana", "The owner of accounting is Eve"),
        ("The lead of markets is Lea", "The lead of marketing is Mia"),
        ("The owner of C is Dana", "The owner of C++ is Eve"),
        ("The owner of C is Dana", "The owner of C# is Eve"),
        ("The owner of कि is Dana", "The owner of की is Eve"),
        ("The owner of -5 is Dana", "The owner of 5 is Eve"),
        ("The owner of x-1 is Dana", "The owner of x+1 is Eve"),
        ("The owner of x² is Dana", "The owner of x2 is Eve"),
        ("The owner of team 🚀 is Dana", "The owner of team 🔥 is Eve"),
        ("The timeout of a<b is 5 seconds", "The timeout of a>b is 6 seconds"),
        ("The owner of billing (EU) is Dana", "The owner of billing EU is Eve"),
        ("Dana is the owner of Yahoo!", "Eve is the owner of Yahoo"),
        ("The room (a) is red", "The room a is blue"),
        ("The head of sales is Kim", "The head of sales is Canadian"),
        ("The owner of billing is Dana", "The owner of billing is Swedish"),
        ("The author of the paper is Kim", "The author of the paper is Lee"),
        ("The parent of Tom is Kim", "The parent of Tom is Lee"),
        ("The contact for billing is Dana", "The contact for billing is Eve"),
        ("The balance of acct is 5", "The balance of acct is +5"),
        ("The limit of the pool is >7", "The limit of the pool is >8"),
    ],
)
def test_what_may_be_two_things_is_never_certainly_one(new: str, kept: str) -> None:
    for one, other in ((new, kept), (kept, new)):
        found = clash(one, other)
        assert found is None or not found.certain


_FORMS = (
    "The {a} of {s} is {v}", "{s}'s {a} is {v}", "{s} has {v} as its {a}",
    "for {s}, {v} was chosen as {a}", "{v} is the {a} of {s}", "{s}的{a}是{v}",
    "The {s} is {v}", "{s} has a {a} of {v}",
)  # fmt: skip
_SIGNS = st.text("+-#$€%<>=&|~^*/\\'\"()[]_!?:;,.·²①🚀🔥\u093f\u0940\u0301 ", max_size=3)
_NAMES = st.tuples(st.sampled_from(["C", "billing", "x", "क", "支付", "a"]), _SIGNS, _SIGNS)


def _said(subject: str, form: str, attribute: str, value: str) -> str:
    return form.format(s=subject, a=attribute, v=value)


def _letters(text: str) -> str:
    return "".join(text.casefold().split()).strip(".。")


@pytest.mark.covers("write.unrelated")
@settings(max_examples=200)
@example(("C", "", ""), ("C", "+", "+"), _FORMS[0], ("owner", "Dana", "Eve"))
@example(("x", "²", ""), ("x", "!", ""), _FORMS[4], ("port", "80", "81"))
@example(("C", "", ":"), ("C", ":", ""), _FORMS[0], ("port", "80", "81"))
@example(("C", "", ""), ("C", "!", ""), _FORMS[1], ("owner", "Dana", "Eve"))
@given(
    _NAMES,
    _NAMES,
    st.sampled_from(_FORMS),
    st.sampled_from([("owner", "Dana", "Eve"), ("port", "80", "81"), ("colour", "red", "blue")]),
)
def test_things_whose_names_differ_never_clash_for_certain(
    one: tuple[str, str, str], other: tuple[str, str, str], form: str, said: tuple[str, str, str]
) -> None:
    mine, theirs = (f"{before}{name}{after}".strip() for name, before, after in (one, other))
    assume(mine and theirs and _letters(mine) != _letters(theirs))
    attribute, value, another = said
    found = clash(_said(mine, form, attribute, value), _said(theirs, form, attribute, another))
    assert found is None or not found.certain


@pytest.mark.covers("write.claims")
def test_a_stray_comma_makes_no_second_thing_and_nothing_certain() -> None:
    kept = "The owner of billing is Dana"
    found = clash("The owner of billing, is Eve", kept)
    assert found is not None
    assert not found.certain
    assert clash("The owner of billing, cart is Eve", kept) is None


@pytest.mark.covers("write.claims")
def test_a_word_of_two_scripts_is_read_as_it_looks() -> None:
    assert undisguised("The owner of b\u0456lling is Eve") == "The owner of billing is Eve"
    assert undisguised("bil\u200bling") == "billing"
    assert undisguised("Владелец счетов") == "Владелец счетов"
    assert undisguised("Ελλάδα and 支付服务") == "Ελλάδα and 支付服务"


@pytest.mark.covers("write.duplicate")
@pytest.mark.parametrize(
    "word",
    ["rarely", "hardly", "seldom", "barely", "scarcely", "almost", "nearly", "may", "formerly",
     "sometimes", "never", "previous", "most"],
)  # fmt: skip
def test_a_word_that_turns_a_statement_is_no_more_of_it(word: str) -> None:
    plain = "Deploys to production require written approval from the platform lead before Friday"
    turned = plain.replace("require", f"{word} require")
    for one, other in ((turned, plain), (plain, turned)):
        assert likeness(read(one), read(other), 1.0, SPACE) in ("different", "opposite")


@pytest.mark.covers("write.duplicate")
@pytest.mark.parametrize("word", ["几乎", "很少", "难得"])
def test_a_chinese_word_that_turns_a_statement_is_no_more_of_it(word: str) -> None:
    plain = "生产环境部署需要平台负责人批准"
    assert likeness(read(plain.replace("需要", f"{word}需要")), read(plain), 1.0, SPACE) == (
        "different"
    )


def _spent(work: Callable[[str], object], text: str) -> float:
    """The least CPU time of three."""
    spent: list[float] = []
    for turn in range(3):
        said = text + " " * turn  # nothing is remembered
        start = time.process_time()
        work(said)
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.covers("write.linear")
@pytest.mark.parametrize("sign", ["a", "由", "5 ", "a-", "-", "is ", "的", "x the owner of "])
@pytest.mark.parametrize(
    "work",
    [codes, terms, read, lambda text: clash(text, text + "x"), undisguised],
    ids=["codes", "terms", "read", "clash", "undisguised"],
)
def test_reading_eight_times_as_much_takes_no_square_of_it(
    work: Callable[[str], object], sign: str
) -> None:
    short, long = sign * 2_000, sign * 16_000
    # A square would take 64 times; what takes next to nothing is not measured by its noise.
    assert _spent(work, long) < 24 * _spent(work, short) + 0.02
