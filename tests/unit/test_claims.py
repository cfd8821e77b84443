"""Two values for one thing: what the form of two statements says about whether both can hold."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.claims import Clash, clash, same_claim

CERTAIN, SUGGESTED = Clash(certain=True), Clash(certain=False)


@pytest.mark.covers("write.claims")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("The owner of billing is Dana", "The owner of billing is Chen"),
        ("Billing's retry limit is 5", "Billing's retry limit is 8"),
        ("The gateway has Monday as its backup day", "The backup day of the gateway is Friday"),
        ("For search, Dana was chosen as owner", "The owner of search is Chen"),
        ("The release manager of atlas is Dana", "The release manager of atlas is Chen"),
        ("The weekly meeting is on Tuesday", "The weekly meeting is on Thursday"),
        ("The cluster has 3 nodes", "The cluster has five nodes"),
        ("Requests time out after 30 seconds", "Requests time out after 60 seconds"),
        ("The portal is up", "The portal is down"),
        ("The checkout page is green", "The checkout page is blue"),
        ("Every 30 days the keys are changed", "Every 60 days the keys are changed"),
        ("Atlas is on version 1.4", "Atlas is on version 2.0"),
        ("Answers have 3 sentences", "Answers have 5 sentences"),
        ("退款需要三天", "退款需要五天"),
        ("The deadline of Atlas is 3 May 2026", "The deadline of Atlas is 2026-05-04"),
        ("The deadline of Atlas is May 3", "The deadline of Atlas is 4th of May"),
        ("The deadline of Atlas is Dec. 24, 2026", "The deadline of Atlas is 24 December 2027"),
        ("项目的截止日期是5月3日", "项目的截止日期是2026年5月4日"),
        ("支付服务的端口是8080", "支付服务的端口是9000"),
    ],
)
def test_a_thing_that_has_one_value_is_given_two(new: str, kept: str) -> None:
    assert clash(new, kept) == CERTAIN
    assert clash(kept, new) == CERTAIN


@pytest.mark.covers("write.claims")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("Billing is led by Dana", "Billing is led by Chen"),  # there may be two
        ("The region of billing is Oslo", "The region of billing is Norway"),  # one in the other
        ("The log format of billing is JSON", "The log format of billing is plain text"),
        ("The mood of the team is calm", "The mood of the team is good"),
        ("Backups run every week on Monday", "Backups run every week on Friday"),
        ("The limit of the cache is 60 seconds", "The limit of the cache is 5 minutes"),
        ("We keep at least 3 copies", "We keep at least 5 copies"),
        ("My brother is Tom", "My brother is Tim"),
        ("支付服务由王芳负责", "支付服务由李雷负责"),
        ("We use Kafka for the queue of billing", "We use Redis for the queue of billing"),
        ("The night run starts at 01:00", "02:30 is when the night run starts"),
    ],
)
def test_a_form_that_only_suggests_one_value_leaves_it_to_a_person(new: str, kept: str) -> None:
    assert clash(new, kept) == SUGGESTED
    assert clash(kept, new) == SUGGESTED


@pytest.mark.covers("write.unrelated")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("Release 41 of billing failed", "Release 42 of billing failed"),
        ("Ticket 311 about billing is open", "Ticket 312 about billing is open"),
        ("The author of release 41 is Dana", "The author of release 42 is Chen"),
        ("Dana reviewed billing", "Chen reviewed billing"),
        ("Billing depends on zlib", "Billing depends on curl"),
        ("Billing supports Go", "Billing supports Rust"),
        ("Billing was slow on Monday", "Billing was slow on Tuesday"),
        ("A member of the team is Dana", "A member of the team is Chen"),
        ("One of the owners of billing is Dana", "One of the owners of billing is Chen"),
        ("The owner of billing is also Dana", "The owner of billing is Chen"),
        ("The owner of billing might be Dana", "The owner of billing is Chen"),
        ("The problem of billing is clock drift", "The problem of billing is slow disks"),
        ("The risk of the move is cost", "The risk of the move is delay"),
        ("The owner of billing is Chen Li", "The owner of billing is Chen"),
        ("The port of billing is 80", "The port of search is 81"),
        ("Table 5 seats 4 people", "Table 6 seats 4 people"),
        ("Alice has 2 meetings on Monday", "Alice has 2 meetings on Tuesday"),
        ("Dana works in the shop on Monday", "Dana works in the shop on Tuesday"),
        ("The bus to Oslo stops here at 9:00", "The bus to Oslo stops here at 10:00"),
        ("Step 3 takes 5 minutes", "Step 4 takes 5 minutes"),
        ("Buy 3 apples", "Buy 5 apples"),
        ("The plan for 5 users costs 9 euros", "The plan for 8 users costs 9 euros"),
        ("The page with 3 images is slow", "The page with 5 images is slow"),
        ("The rule for 3 nodes works", "The rule for 5 nodes works"),
        ("The check every 30 days is slow", "The check every 60 days is slow"),
        ("A card with $51 balance", "A card with $262 balance"),
        ("Its port is 80", "Its port is 81"),
        ("It waits 30 seconds", "It waits 60 seconds"),
        ("This host is up", "This host is down"),
        ("My team's lead is Dana", "Your team's lead is Chen"),
        ("My copy of the book is red", "Your copy of the book is blue"),
        ("The lead of the universal team is Dana", "The lead of the university team is Chen"),
        ("The port of billing is 80", "The limit of billing is 81"),
        ("The build took 5 minutes", "The build took 7 minutes"),
        ("The job restarted 3 times", "The job restarted 5 times"),
        ("Dana can restart billing", "Chen can restart billing"),
        ("Billing may be deployed on Monday", "Billing may be deployed on Friday"),
        ("If 3 retries fail, page Dana", "If 5 retries fail, page Dana"),
        ("The cake is sweet", "The cake is round"),
        ("My sister is tall", "My sister is kind"),
        ("The owners of billing are Dana", "The owners of billing are Chen"),
        ("Alice likes tea", "Alice likes coffee"),
        ("第3天要检查日志", "第5天要检查日志"),
        ("王芳参加了评审", "李雷参加了评审"),
        ("订单队列依赖缓存", "订单队列依赖数据库"),
        ("支付服务的问题是时钟", "支付服务的问题是磁盘"),
        ("退款用了三天", "退款用了五天"),
        ("The deadline of Atlas is 3 May", "The deadline of Atlas is 2026-05-03"),
        ("The deadline may slip by 3 May", "The deadline may slip by 4 May"),
    ],
)
def test_what_can_hold_together_is_left_alone(new: str, kept: str) -> None:
    assert clash(new, kept) is None
    assert clash(kept, new) is None


@pytest.mark.covers("write.claims")
@pytest.mark.parametrize(
    ("new", "kept"),
    [
        ("Billing has Dana as its owner", "The owner of billing is Dana"),
        ("For billing, JSON was chosen as log format", "The log format of billing is JSON"),
        ("Dana leads the billing team", "The billing team is led by Dana"),
        ("Go is what billing is written in", "Billing is written in Go"),
        ("支付服务的负责人是王芳", "支付服务由王芳负责"),
        ("The deadline of Atlas is March 3rd, 2026", "The deadline of Atlas is 2026-03-03"),
        ("项目的截止日期是2026年5月3日", "项目的截止日期是2026-05-03"),
    ],
)
def test_one_value_in_two_forms_is_said_twice(new: str, kept: str) -> None:
    assert same_claim(new, kept)
    assert clash(new, kept) is None


_SUBJECTS = (
    "billing", "the cart 12", "the cart 13", "our portal", "your portal", "my portals",
    "team Falcon", "the universal store", "the university store", "支付服务",
)  # fmt: skip
_ATTRIBUTES = ("owner", "port", "backup day", "log format", "timeout", "status colour")
_VALUES = ("Dana", "Chen", "8080", "3", "Monday", "red", "JSON", "plain text", "01:00", "王芳")
_FORMS = (
    "The {a} of {s} is {v}",
    "{s} has {v} as its {a}",
    "for {s}, {v} was chosen as {a}",
    "{s}'s {a} is {v}",
    "{s} has a {a} of {v}",
    "{v} is the {a} of {s}",
    "{s}的{a}是{v}",
    "Changes to the {a} of {s} need approval from {v}",
    "{s} keeps its {a} for {v}",
    "The {a} of {s} failed on {v}",
    "We use {v} for the {a} of {s}",
    "{s} waits {v} seconds for its {a}",
)
_THINGS = tuple(itertools.product(_SUBJECTS, _ATTRIBUTES))


def _said(thing: tuple[str, str], form: str, value: str) -> str:
    return form.format(s=thing[0], a=thing[1], v=value)


@pytest.mark.covers("write.unrelated")
@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(_THINGS), min_size=2, max_size=2, unique=True),
    st.tuples(st.sampled_from(_FORMS), st.sampled_from(_FORMS)),
    st.tuples(st.sampled_from(_VALUES), st.sampled_from(_VALUES)),
)
def test_values_of_different_things_never_clash(
    things: list[tuple[str, str]], forms: tuple[str, str], values: tuple[str, str]
) -> None:
    one, other = (_said(*said) for said in zip(things, forms, values, strict=True))
    assert clash(one, other) is None
    assert not same_claim(one, other)


@pytest.mark.covers("write.unrelated")
@settings(max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_read_alike_both_ways_and_nothing_clashes_with_itself(
    one: str, other: str
) -> None:
    assert clash(one, other) == clash(other, one)
    assert clash(one, one) is None
