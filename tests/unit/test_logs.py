"""Importers: what becomes of each message, what is refused, and that ids are always the same."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_ray.core.logs import openai_messages, who_and_when
from hindsight_ray.core.logs.formats import PARSERS
from hindsight_ray.core.logs.names import agent_id
from hindsight_ray.core.logs.results import failure_of
from hindsight_ray.core.logs.shape import LogRun, Recorded, recorded
from hindsight_ray.domain.ids import checked_name
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.errors import InvalidImport
from tests.trajectories import START


def call(name: str, arguments: object, id_: str | None = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": id_, "type": "function", "function": function}


def turn(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answer(content: str, id_: str | None = "c1", name: str | None = None) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": id_, "name": name}


def one_run(document: object, format_: str = "openai-messages") -> LogRun:
    parsed = PARSERS[format_](json.dumps(document))
    assert parsed.refused == ()
    ((_, run),) = parsed.runs
    return run


def kept(run: LogRun, **fields: Any) -> Recorded:
    given_fields = {"tenant": "acme", "scope": GLOBAL, "vouched_by": "agent:operator"}
    return recorded(run, **{**given_fields, "now": START, **fields})


MESSAGES = [
    {"role": "system", "content": "Policy"},
    {"role": "user", "content": "Book seat 2"},
    turn(call("book", {"seat": 1})),
    answer("Error: seat 1 is taken"),
    turn(call("book", {"seat": 2})),
    answer('{"booked": 2}'),
    {"role": "assistant", "content": "Done"},
]


def test_each_message_is_one_event_whose_causes_lead_back_to_the_question() -> None:
    made = kept(one_run(MESSAGES))
    assert [event.kind for event in made.events] == [
        "state", "user", "decision", "tool", "decision", "tool", "decision",
    ]  # fmt: skip
    ids = [event.event_id for event in made.events]
    at = [[ids.index(cause) for cause in event.causes] for event in made.events]
    assert at == [[], [], [0, 1], [2], [3], [4], [5]]
    evidence = [event.edge_evidence for event in made.events]
    assert evidence[3] == evidence[5] == "observed"
    assert evidence[2] == evidence[4] == "inferred"
    assert {event.agent for event in made.events} == {"assistant"}
    assert [event.seq for event in made.events] == list(range(7))
    bad, good = made.events[3], made.events[5]
    assert bad.tool is not None
    assert good.tool is not None
    assert (bad.tool.status, bad.tool.error_text) == ("error", "seat 1 is taken")
    assert (good.tool.status, good.tool.name) == ("ok", "book")
    assert bad.summary == 'book {"seat":1} → Error: seat 1 is taken'
    assert made.run.goal == "Book seat 2"
    assert made.run.tools == ("book",)
    assert made.run.imported
    assert made.run.closed_at is not None


@pytest.mark.parametrize(
    "document",
    [MESSAGES, [MESSAGES], {"messages": MESSAGES}, [{"messages": MESSAGES}], {"traj": MESSAGES}],
)
def test_every_way_to_wrap_a_message_list_is_read(document: object) -> None:
    assert len(one_run(document).steps) == len(MESSAGES)


def test_a_reward_a_task_and_its_trials_are_kept_apart_and_comparable() -> None:
    info = {"task": {"instruction": "You are ann. You want seat 2 and hide it"}}
    items = [
        {"task_id": 1, "trial": trial, "reward": reward, "info": info, "traj": MESSAGES}
        for trial, reward in ((0, 0.0), (1, 1.0))
    ]
    parsed = openai_messages.parse(json.dumps(items))
    first, second = (run for _, run in parsed.runs)
    assert (first.reward, second.reward) == (0.0, 1.0)
    assert first.digest != second.digest
    assert kept(first).run.goal_digest == kept(second).run.goal_digest


def test_the_goal_is_what_the_agents_were_told_and_never_the_played_users_instruction() -> None:
    hidden = "You are ann. You want seat 2 and hide it"
    first, second = (
        kept(one_run({"info": {"task": {"instruction": told}}, "traj": MESSAGES}))
        for told in (hidden, hidden + " well")
    )
    assert first.run.goal == "Book seat 2"
    assert all("hide it" not in value.model_dump_json() for value in (first.run, *first.events))
    assert first.run.goal_digest != second.run.goal_digest


def test_parallel_calls_are_paired_by_id_whatever_the_order_of_their_answers() -> None:
    run = one_run(
        [
            {"role": "user", "content": "go"},
            turn(call("a", {"n": 1}, "x"), call("b", {"n": 2}, "y")),
            answer("for b", "y"),
            answer("for a", "x"),
        ]
    )
    assert [step.summary for step in run.steps[2:]] == ['b {"n":2} → for b', 'a {"n":1} → for a']


@pytest.mark.parametrize(("first", "second"), [("same", "same"), (None, None), ("", "")])
def test_repeated_or_absent_ids_are_paired_by_order(first: str | None, second: str | None) -> None:
    run = one_run(
        [
            turn(call("a", {"n": 1}, first), call("a", {"n": 2}, second)),
            answer("one", first),
            answer("two", second),
        ]
    )
    assert [step.summary for step in run.steps[1:]] == ['a {"n":1} → one', 'a {"n":2} → two']


def test_an_id_that_comes_again_in_a_later_turn_belongs_to_the_later_call() -> None:
    run = one_run(
        [
            turn(call("a", {"n": 1}, "x")),
            answer("one", "x"),
            turn(call("a", {"n": 2}, "x")),
            answer("two", "x"),
        ]
    )
    assert [run.steps[n].causes for n in (1, 3)] == [(0,), (2,)]
    assert run.steps[3].summary == 'a {"n":2} → two'


def test_an_answer_to_no_call_is_kept_and_proves_nothing() -> None:
    run = one_run([{"role": "user", "content": "go"}, answer("hello", "nowhere", "ghost")])
    step = run.steps[1]
    assert step.tool is not None
    assert (step.tool.name, step.tool.arguments_digest, step.evidence) == ("ghost", "", "inferred")


def test_old_function_calls_and_parts_of_content_are_read() -> None:
    run = one_run(
        [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]},
            {"role": "assistant", "function_call": {"name": "f", "arguments": "not json"}},
            {"role": "function", "name": "f", "content": "ok"},
        ]
    )
    assert run.steps[0].summary == "hi\n[image_url]"
    assert run.steps[2].summary == "f not json → ok"
    assert run.steps[2].evidence == "observed"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "must be an object or a list"),
        ({}, "neither under"),
        ({"traj": []}, "at least one message"),
        ({"traj": [{"role": "robot"}]}, "unknown role"),
        ({"traj": ["hello"]}, "must be an object"),
        ({"traj": [{"role": "user", "content": 5}]}, "`content`"),
        ({"traj": [{"role": "assistant", "tool_calls": [{}]}]}, "without a name"),
        ({"traj": [{"role": "assistant", "tool_calls": 5}]}, "must be a list"),
        ({"traj": MESSAGES, "reward": 2}, "from -1 to 1"),
        ({"traj": MESSAGES, "reward": "1"}, "from -1 to 1"),
        ({"traj": MESSAGES, "reward": float("nan")}, "from -1 to 1"),
    ],
)
def test_a_bad_item_is_refused_with_its_position_and_the_rest_is_kept(
    bad: object, reason: str
) -> None:
    parsed = openai_messages.parse(json.dumps([{"traj": MESSAGES}, bad, [MESSAGES[1]]]))
    assert [position for position, _ in parsed.runs] == [0, 2]
    ((position, why),) = parsed.refused
    assert position == 1
    assert reason in why


def test_an_item_that_comes_twice_in_one_file_is_kept_once() -> None:
    parsed = openai_messages.parse(json.dumps([{"traj": MESSAGES}, {"traj": MESSAGES}]))
    assert len(parsed.runs) == 1
    assert parsed.refused == ((1, "is the same as item 0"),)


@pytest.mark.parametrize("format_", sorted(PARSERS))
@pytest.mark.parametrize(
    "text", ["", "hello", '[{"traj": [', '{"a": 1}{"b": 2}', "7", '"text"', "null", "[" * 200_000]
)
def test_a_file_that_is_no_such_file_is_refused_whole(format_: str, text: str) -> None:
    with pytest.raises(InvalidImport):
        PARSERS[format_](text)


def test_an_item_nested_beyond_reading_is_refused_alone() -> None:
    deep = "[" * 900 + "]" * 900
    text = f'[{{"traj": [{{"role": "user", "content": "hi"}}]}}, {{"traj": {deep}}}]'
    parsed = openai_messages.parse(text)
    assert [position for position, _ in parsed.runs] == [0]
    assert [position for position, _ in parsed.refused] == [1]


HISTORY = [
    {"role": "human", "content": "How many?"},
    {"role": "Orchestrator (thought)", "content": "Plan"},
    {"role": "Orchestrator (-> WebSurfer)", "content": "Look it up"},
    {"role": "WebSurfer", "content": "Found 3"},
    {"role": "Orchestrator (termination condition)", "content": "Done"},
]


def log(**fields: Any) -> dict[str, Any]:
    return {
        "question": "How many?",
        "history": HISTORY,
        "mistake_agent": "WebSurfer",
        "mistake_step": "3",
        "mistake_reason": "It was 4",
        "is_corrected": False,
        **fields,
    }


def test_speakers_lose_their_suffixes_and_each_turn_rests_on_the_one_before() -> None:
    made = kept(one_run([log()], "who-and-when"))
    assert [(event.agent, event.kind, event.to) for event in made.events] == [
        ("Orchestrator", "user", None),
        ("Orchestrator", "decision", None),
        ("Orchestrator", "decision", "WebSurfer"),
        ("WebSurfer", "decision", None),
        ("Orchestrator", "decision", None),
    ]
    assert all(event.edge_evidence == "inferred" for event in made.events)
    assert [len(event.causes) for event in made.events] == [0, 1, 1, 1, 1]
    assert made.run.goal == "How many?"


def test_culprit_labels_become_an_annotation_and_the_failure_an_outcome() -> None:
    run = one_run(log(), "who-and-when")
    assert run.reward == -1.0
    (annotation,) = kept(run).annotations
    assert (annotation.kind, annotation.agent, annotation.text) == (
        "mistake", "WebSurfer", "It was 4",
    )  # fmt: skip
    assert annotation.event == kept(run).events[3].event_id


def test_a_label_that_names_no_step_is_kept_without_one() -> None:
    for step in ("99", "-1", "three", 2.5, True):
        (remark,) = one_run(log(mistake_step=step), "who-and-when").remarks
        assert remark.position is None
        assert f"step {step!r} is not in the log" in remark.text


def test_a_history_may_be_the_text_of_a_python_literal() -> None:
    as_text = one_run(log(history=repr(HISTORY)), "who-and-when")
    assert as_text.steps == one_run(log(), "who-and-when").steps


@pytest.mark.parametrize(
    "bad",
    [
        log(history="__import__('os')"),
        log(history="[1, 2"),
        log(history=[]),
        log(history=[5]),
        log(history=[{"content": "who?"}]),
        log(question=" "),
        [],
        "text",
    ],
)
def test_a_bad_log_is_refused_and_the_rest_is_kept(bad: object) -> None:
    parsed = who_and_when.parse(json.dumps([bad, log()]))
    assert [position for position, _ in parsed.runs] == [1]
    assert [position for position, _ in parsed.refused] == [0]


def test_a_terminal_is_a_tool_whose_call_is_the_code_before_it() -> None:
    history = [
        {"name": "Coder", "role": "assistant", "content": "Try\n```python\nprint(x)\n```"},
        {
            "name": "Computer_terminal",
            "role": "user",
            "content": "exitcode: 1 (execution failed)\nCode output: Traceback (most recent call"
            " last):\n  File x\nNameError: name 'x' is not defined\n",
        },
        {"name": "Coder", "role": "assistant", "content": "I see"},
        {
            "name": "Computer_terminal",
            "role": "user",
            "content": "There is no code from the last 1 message for me to execute.",
        },
    ]
    run = one_run(log(history=history), "who-and-when")
    failed, idle = run.steps[1].tool, run.steps[3].tool
    assert failed is not None
    assert idle is not None
    assert (failed.status, failed.status_code, failed.error_type) == ("error", 1, "NameError")
    assert failed.error_text == "NameError: name 'x' is not defined"
    assert run.steps[1].evidence == "observed"
    assert run.steps[1].summary.startswith("Computer_terminal print(x) → exitcode: 1")
    assert (idle.status, idle.error_type) == ("error", "NoCode")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("Error: no seat", "no seat"),
        ("ValueError: bad seat", "bad seat"),
        ('{"error": "no seat"}', "no seat"),
        ('{"error": {"type": "Seat", "message": "no seat"}}', "no seat"),
        ('{"isError": true, "content": "no seat"}', "no seat"),
        ('{"success": false, "message": "no seat"}', "no seat"),
        ("Traceback (most recent call last):\n  x\nKeyError: 'a'", "KeyError: 'a'"),
        ("exitcode: 124 (execution failed)\nCode output: \nTimeout", "Timeout"),
        ("The script ran, then exited with Unix exit code: 2\nIts output was:\nbad", "bad"),
    ],
)
def test_a_failure_is_seen_in_every_form_that_tools_use(result: str, said: str) -> None:
    failure = failure_of(result)
    assert failure is not None
    assert failure.text == said


@pytest.mark.parametrize(
    "result",
    [
        "",
        "ok",
        "[]",
        '{"error": null, "seat": 1}',
        '{"errors_fixed": 3}',
        "Errors were not found",
        "exitcode: 0 (execution succeeded)\nCode output: Error: printed by the program",
        "The report on error: rates",
        '{"status": "ok"}',
        "The script ran but produced no output to console. The Unix exit code was: 0.",
    ],
)
def test_what_only_speaks_of_errors_is_no_failure(result: str) -> None:
    assert failure_of(result) is None


@given(name=st.text(max_size=150))
def test_every_name_in_a_log_gets_a_valid_id(name: str) -> None:
    assert checked_name(agent_id(name)) == agent_id(name)


@settings(max_examples=200)
@given(
    one=st.text(alphabet="aAé .-_@uh(", max_size=6) | st.text(max_size=6),
    other=st.text(alphabet="aAé .-_@uh(", max_size=6) | st.text(max_size=6),
)
def test_different_names_stay_different(one: str, other: str) -> None:
    first, second = agent_id(one), agent_id(other)
    plain, another = _plain(one), _plain(other)
    assert (first == second) == (plain == another)
    assert agent_id("Data Expert") == "u.Data-20-Expert"
    assert agent_id(agent_id("Data Expert")) != agent_id("Data Expert")


def _plain(name: str) -> str:
    import unicodedata  # noqa: PLC0415 - said once, here

    return unicodedata.normalize("NFC", name).strip() or "assistant"


def test_ids_follow_from_content_and_place_alone_and_times_from_the_import() -> None:
    run = one_run(MESSAGES)
    now, later = kept(run), kept(run, now=START + timedelta(days=9))
    assert [event.event_id for event in now.events] == [event.event_id for event in later.events]
    assert now.run.run_id == later.run.run_id
    assert kept(run, tenant="other").run.run_id != now.run.run_id
    assert [event.timestamp - START for event in now.events] == [
        timedelta(milliseconds=n) for n in range(7)
    ]


def test_long_texts_are_cut_and_marked_and_unfit_ones_made_fit() -> None:
    made = kept(
        one_run(
            [
                {"role": "user", "content": "x" * 5_000},
                {"role": "assistant", "content": "bad \ud800 and \x00 end"},
            ]
        )
    )
    assert len(made.events[0].summary) == 1_000
    assert made.events[0].truncated
    assert made.events[1].summary == "bad \ufffd and \ufffd end"
    assert len(made.run.goal) == 1_000


def test_a_run_without_a_user_still_has_a_goal() -> None:
    assert kept(one_run([{"role": "assistant", "content": "hm"}])).run.goal == "(no goal on record)"


def test_an_untrusted_log_is_nobodys_word() -> None:
    run = one_run(MESSAGES)
    assert not kept(run, vouched_by=None).run.trusted
    assert kept(run).run.vouched_by == "agent:operator"


def timed(*times: object, name: str = "timestamp") -> list[dict[str, Any]]:
    """The messages, each saying one of these times, or nothing where that is None."""
    said = [{} if at is None else {name: at} for at in times]
    return [{**turn_, **more} for turn_, more in zip(MESSAGES, said, strict=False)]


@pytest.mark.covers("import.formats")
@pytest.mark.parametrize("name", ["timestamp", "created_at", "created", "time"])
def test_a_log_that_says_when_keeps_its_times(name: str) -> None:
    at = START - timedelta(days=3)
    said = [
        at.timestamp(), None, at.timestamp() * 1_000 + 2_000,
        (at + timedelta(seconds=5)).isoformat(), "2026-02-27T10:00:07+01:00",
    ]  # fmt: skip
    made = kept(one_run(timed(*said, name=name)))
    seconds = [(event.timestamp - at).total_seconds() for event in made.events]
    assert seconds == [0.0, 0.000001, 2.0, 5.0, 7.0]
    assert made.run.timed
    assert (made.run.started_at, made.run.closed_at) == (at, at + timedelta(seconds=7))


@pytest.mark.covers("import.formats")
@pytest.mark.parametrize(
    "said",
    [
        (None, None, None),
        ("2026-02-27T09:00:00", "2026-02-27T09:00:01"),  # on whose clock?
        (1_772_000_000, 1_771_999_999),  # back in time
        (START.timestamp() - 5, START.timestamp() + 3_600),  # still to come
        (True, False), (float("1e400"), "yesterday"), (12, 13), (10**400,), ([1], {}),
    ],
)  # fmt: skip
def test_a_log_that_does_not_say_when_is_not_given_times(said: tuple[object, ...]) -> None:
    made = kept(one_run(timed(*said)))
    assert not made.run.timed
    assert made.run.started_at == START
    assert [event.timestamp for event in made.events] == sorted(
        event.timestamp for event in made.events
    )


@pytest.mark.covers("import.formats")
def test_turns_of_a_team_keep_their_times_too() -> None:
    history = [
        {"name": "Ann", "content": "Run it", "timestamp": "2026-02-27T09:00:00Z"},
        {"role": "Computer_terminal", "content": "done", "timestamp": "2026-02-27T09:00:04Z"},
    ]
    made = kept(one_run({"question": "How?", "history": history}, "who-and-when"))
    first, second = (event.timestamp for event in made.events)
    assert (second - first).total_seconds() == 4
    assert made.run.timed
