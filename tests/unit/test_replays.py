"""Credit by replay, on runs whose culprits are known by construction."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks._workshop import FAULTY, SOUND, Plan, Rules, Telling, Workshop, drawn_plan, recorded
from hindsight_ray.adapters.tasks.kept import KeptHere, KeptInFolder
from hindsight_ray.adapters.tasks.local import LocalTasks
from hindsight_ray.core.attribution.environment import (
    Change,
    RecordedMemory,
    RecordedTools,
    check_environment,
    offers_of,
)
from hindsight_ray.core.digest import digest
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import InvalidInput
from hindsight_ray.ports import Evaluations, TaskRunner
from hindsight_ray.service.replayed import Laboratory, Question, replayed
from tests.trajectories import Story, event_id

BAD = MemoryRef(id=event_id("bad memory"), revision=1)
FINE = MemoryRef(id=event_id("fine memory"), revision=3)


@dataclass(frozen=True, slots=True)
class Staged:
    """A recorded run of a workshop, and what it was made of."""

    plan: Plan
    trajectory: Trajectory
    order: tuple[str, ...]
    environment: Workshop
    led: tuple[int, ...]  # decisions that led to the delivery

    def values(self, attribution: Attribution) -> list[float]:
        by_id = {credit.target.id: credit.value for credit in attribution.credits}
        return [by_id.get(event, 0.0) for event in self.order]


def staged(
    faulty: Callable[[tuple[int, ...]], dict[str, Any]],
    *,
    decisions: int = 9,
    seed: int = 5,
    telling: Telling | None = None,
    misled: int | None = None,
    **environment: Any,
) -> Staged:
    """A run in which `faulty`, told which decisions lead to the end, says what spoils it."""
    draw = random.Random(seed)
    plan = drawn_plan(draw, decisions=decisions)
    led = tuple(sorted(plan.ancestors()))
    rules = Rules(**faulty(led))
    plan = replace(plan, rules=rules)
    culprits = rules.single | frozenset(n for group in rules.joint for n in group)
    choices = [FAULTY if n in culprits else SOUND for n in range(decisions)]
    trajectory, order, _ = recorded(plan, choices, draw, telling or Telling())
    made = Workshop(plan, dict(zip(order, choices, strict=True)), order, **environment)
    if misled is not None:
        made = replace(made, bad_memories=frozenset({BAD.id}), used={order[led[misled]]: (BAD.id,)})
    return Staged(plan, trajectory, order, made, led)


async def asked(
    case: Staged,
    question: Question | None = None,
    *,
    runner: TaskRunner | None = None,
    kept: Evaluations | None = None,
    texts: dict[MemoryRef, str] | None = None,
) -> Attribution:
    question = question or Question()
    lab = Laboratory(
        case.environment,
        runner or LocalTasks(),
        kept or KeptHere(),
        lambda pair: random.Random(f"{question.seed}/{pair}"),
    )
    return await replayed(case.trajectory, texts or {}, question, lab)


@pytest.mark.covers("credit.replay")
async def test_one_culprit_carries_the_whole_difference_and_nobody_else_any() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    found = await asked(case)
    assert found.abstained is None
    assert (found.outcome, found.baseline) == (-1.0, 1.0)
    values = case.values(found)
    assert values[case.led[1]] == pytest.approx(-2.0)
    assert sum(map(abs, values)) == pytest.approx(2.0)
    culprit = next(c for c in found.credits if c.target.id == case.order[case.led[1]])
    assert (culprit.method, culprit.evidence, culprit.effect) == ("shapley", "replayed", "harmful")
    assert culprit.low == culprit.value == culprit.high  # deterministic: known exactly
    assert found.baseline + sum(values) + culprit.residual == pytest.approx(found.outcome)


async def test_of_two_culprits_that_each_suffice_both_are_blamed_where_leaving_one_out_is_not() -> (
    None
):
    case = staged(lambda led: {"single": frozenset(led[:2])})
    values = case.values(await asked(case))
    assert [values[n] for n in case.led[:2]] == pytest.approx([-1.0, -1.0])
    alone = await asked(case, Question(method="ablation"))
    assert alone.abstained is not None  # putting either right alone changes nothing
    assert "no more than its interval" in alone.abstained.reason


async def test_two_culprits_that_are_necessary_together_share_and_each_ablation_shows_them() -> (
    None
):
    case = staged(lambda led: {"joint": (frozenset(led[:2]),)})
    assert [case.values(await asked(case))[n] for n in case.led[:2]] == pytest.approx([-1, -1])
    alone = await asked(case, Question(method="ablation"))
    assert [case.values(alone)[n] for n in case.led[:2]] == pytest.approx([-2, -2])
    assert alone.baseline is None
    assert alone.credits[0].residual == pytest.approx(-1.0 - -4.0)


@pytest.mark.covers("credit.zero")
async def test_who_had_no_part_gets_exactly_nothing_by_structure() -> None:
    for seed in range(20):
        case = staged(lambda led: {"single": frozenset({led[0]})}, seed=seed)
        if len(case.led) < len(case.order):
            break
    found = await asked(case)
    outside = [c for c in found.credits if c.evidence == "structural"]
    assert {c.target.id for c in outside} == {
        event for n, event in enumerate(case.order) if n not in case.led
    }
    assert all(c.value == c.low == c.high == 0.0 for c in outside)


async def test_agents_play_too_and_are_shown_beside_the_sums_of_their_decisions() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    culprit = case.plan.decisions[case.led[1]].agent
    found = await asked(case, Question(players="agents"))
    assert {c.target.id: c.value for c in found.credits if c.value} == {
        culprit: pytest.approx(-2.0)
    }
    beside = (await asked(case)).beside
    assert {c.method for c in beside} == {"shapley of agents", "sum of decisions"}
    for method in ("shapley of agents", "sum of decisions"):
        blamed = {c.target.id for c in beside if c.method == method and c.value < -1e-9}
        assert blamed == {culprit}


@pytest.mark.parametrize("method", ["banzhaf", "owen"])
async def test_banzhaf_and_owen_values_are_found_the_same_way(method: Any) -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    found = await asked(case, Question(method=method))
    assert case.values(found)[case.led[1]] == pytest.approx(-2.0)
    many = staged(
        lambda led: {"single": frozenset({led[1]})}, decisions=16, telling=Telling("declared")
    )
    refused = (await asked(many, Question(method=method))).abstained
    assert refused is not None
    assert "every coalition" in refused.reason


async def test_beyond_twelve_players_values_are_sampled_and_their_intervals_hold_the_truth() -> (
    None
):
    case = staged(
        lambda led: {"single": frozenset(led[:2])}, decisions=15, telling=Telling("declared")
    )
    found = await asked(case)
    assert found.abstained is None
    by_id = {c.target.id: c for c in found.credits}
    for n, event in enumerate(case.order):
        credit = by_id[event]
        assert credit.low <= (-1.0 if n in case.led[:2] else 0.0) <= credit.high
        assert credit.low < credit.high  # even of those who never mattered


@pytest.mark.covers("credit.memories")
async def test_useful_idle_and_harmful_memories_are_told_apart_beside_their_agents() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})}, misled=1)
    used = case.led[1]
    telling = Telling(offers={used: (BAD, FINE)}, uses={used: (BAD,)})
    case = staged(lambda led: {"single": frozenset({led[1]})}, misled=1, telling=telling)
    texts = {BAD: "amber is always right", FINE: "the crane is tall"}
    found = await asked(case, Question(players="memories"), texts=texts)
    assert {c.target.id: (c.value, c.effect) for c in found.credits} == {
        BAD.id: (pytest.approx(-2.0), "harmful"),
        FINE.id: (0.0, "idle"),
    }
    beside = (await asked(case, texts=texts)).beside
    assert {c.target.id for c in beside if c.method == "shapley of memories"} == {BAD.id, FINE.id}
    unread = await asked(case, Question(players="memories"))
    assert unread.abstained is not None  # whoever may not read them learns nothing of them


async def test_leaving_one_memory_out_shows_what_it_did() -> None:
    used = staged(lambda led: {"single": frozenset({led[1]})}).led[1]
    telling = Telling(offers={used: (BAD, FINE)}, uses={used: (BAD,)})
    case = staged(lambda led: {"single": frozenset({led[1]})}, misled=1, telling=telling)
    texts = {BAD: "amber is always right", FINE: "the crane is tall"}
    found = await asked(case, Question(method="ablation", players="memories"), texts=texts)
    assert [(c.target.id, c.value, c.method) for c in found.credits] == [
        (BAD.id, -2.0, "ablation of memories"),
        (FINE.id, 0.0, "ablation of memories"),
    ]
    assert found.evaluations == 5  # the check, and the run with and without each


async def test_only_shortlisted_decisions_play_and_the_rest_stays_as_it_was() -> None:
    case = staged(lambda led: {"single": frozenset(led[:2])})
    first = case.order[case.led[0]]
    found = await asked(case, Question(among=frozenset({first})))
    assert found.abstained is not None  # the other culprit is enough, and stays
    both = frozenset(case.order[n] for n in case.led[:2])
    found = await asked(case, Question(among=both))
    assert {c.target.id for c in found.credits if c.evidence == "replayed"} == both
    assert found.evaluations == 4


async def test_what_is_known_from_before_changes_no_result_and_no_bill() -> None:
    case = staged(
        lambda led: {"single": frozenset(led[:2])},
        decisions=14,
        telling=Telling("declared"),
        errs=0.35,
    )
    kept = KeptHere()
    cold = await asked(case, Question(budget=2_000), kept=kept)
    warm = await asked(case, Question(budget=2_000), kept=kept)
    assert warm == cold
    assert 0 < cold.evaluations <= 2_000
    dear = await asked(case, Question(budget=500), kept=kept)
    assert dear.abstained is not None
    assert "budget is 500" in dear.abstained.reason


@pytest.mark.covers("credit.abstains")
async def test_it_abstains_where_nothing_made_a_difference() -> None:
    case = staged(lambda _led: {"spoiled_anyway": True})
    found = await asked(case)
    assert found.credits == ()
    assert found.abstained is not None
    assert "no more than its interval" in found.abstained.reason


@pytest.mark.covers("credit.abstains")
async def test_it_abstains_where_the_budget_does_not_reach() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    found = await asked(case, Question(budget=20))
    assert found.abstained is not None
    assert "budget is 20" in found.abstained.reason


@pytest.mark.covers("credit.faithful")
async def test_it_abstains_where_the_untouched_replay_is_not_what_was_recorded() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    tampered = dict.fromkeys(case.order, SOUND)
    wrong = replace(case, environment=replace(case.environment, choices=tampered))
    found = await asked(wrong)
    assert found.abstained is not None
    assert "the untouched replay gives 1, and -1 was recorded" in found.abstained.reason


async def test_noisy_replays_are_repeated_and_the_culprits_still_found() -> None:
    case = staged(lambda led: {"single": frozenset(led[:2])}, errs=0.35)
    found = await asked(case, Question(budget=20_000))
    values = case.values(found)
    assert sorted(range(len(values)), key=values.__getitem__)[:2] == list(case.led[:2])
    assert any(c.low < c.high for c in found.credits)


@pytest.mark.covers("credit.faithful")
def test_an_environment_that_keeps_its_word_passes_the_check() -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    assert check_environment(case.environment, case.trajectory) == ()
    tampered = replace(case.environment, choices=dict.fromkeys(case.order, SOUND))
    faults = check_environment(tampered, case.trajectory)
    assert any("was recorded" in fault and "state" in fault for fault in faults)
    assert any("untouched replay" in fault for fault in faults)


class Counting:
    """A runner that counts, and may fail after so many jobs as a killed process would."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.jobs = 0
        self._fail_after = fail_after

    async def map(self, job: Any, inputs: Sequence[Any], *, done: Any = None) -> Sequence[Any]:
        def counted(one: Any) -> Any:
            if self.jobs == self._fail_after:
                raise KeyboardInterrupt
            self.jobs += 1
            return job(one)

        return await LocalTasks().map(counted, inputs, done=done)


@pytest.mark.covers("credit.resumed")
async def test_a_killed_game_goes_on_where_it_was_and_ends_the_same(tmp_path: Path) -> None:
    case = staged(lambda led: {"single": frozenset({led[1]})})
    whole = await asked(case)
    first = Counting(fail_after=100)
    with pytest.raises(KeyboardInterrupt):
        await asked(case, runner=first, kept=KeptInFolder(tmp_path))
    with (tmp_path / "evaluations.log").open("ab") as file:
        file.write(b"\n" + b"0" * 40)  # a line that the kill cut short
    second = Counting()
    assert await asked(case, runner=second, kept=KeptInFolder(tmp_path)) == whole
    everything = Counting()
    await asked(case, runner=everything)
    assert first.jobs + second.jobs == everything.jobs
    third = Counting()
    assert await asked(case, runner=third, kept=KeptInFolder(tmp_path)) == whole
    assert third.jobs == 0


def test_outcomes_in_a_folder_survive_torn_lines_and_are_shared(tmp_path: Path) -> None:
    one, other = KeptInFolder(tmp_path), KeptInFolder(tmp_path)
    keys = [digest(n) for n in range(4)]
    one.keep({keys[0]: 0.1, keys[1]: -1.0})
    with (tmp_path / "evaluations.log").open("ab") as file:
        file.write(f"\n{keys[3]} 0x1.".encode())
    assert other.known(keys) == {keys[0]: 0.1, keys[1]: -1.0}
    other.keep({keys[2]: 1 / 3})
    assert one.known(keys) == {keys[0]: 0.1, keys[1]: -1.0, keys[2]: 1 / 3}
    assert KeptInFolder(tmp_path).known(keys) == one.known(keys)


def test_a_replay_sees_the_memory_that_was_offered_and_leaves_no_trace() -> None:
    story = Story()
    story.add("look", "state", "searched", used=[])
    story.decide("choose", used=[FINE])
    first = story.events[0].model_copy(update={"offered": (BAD, FINE)})
    offers = offers_of([first, story.events[1]], {BAD: "bad", FINE: "fine"})
    memory = RecordedMemory(offers)
    decision = event_id("choose")
    assert [text for _, text in memory.offered(decision)] == ["bad", "fine"]
    less = RecordedMemory(offers, frozenset({(decision, BAD.id)}))
    assert [text for _, text in less.offered(decision)] == ["fine"]
    assert (memory.changed(decision), less.changed(decision)) == (False, True)
    memory.write("a new fact", scope="global")
    assert [text for _, text in memory.offered(decision)] == ["bad", "fine"]


def test_a_tool_that_cannot_be_undone_is_answered_from_the_record_or_refused() -> None:
    story = Story()
    story.call("pay", "bank.transfer", {"to": "bob", "amount": 5}, result="done")
    tools = RecordedTools(tuple(story.events))
    answer: Event = tools.call("bank.transfer", {"to": "bob", "amount": 5})
    assert answer.event_id == event_id("pay")
    with pytest.raises(InvalidInput, match="makes no call that cannot be undone"):
        tools.call("bank.transfer", {"to": "bob", "amount": 500})


def test_nothing_is_different_in_the_coalition_of_all() -> None:
    assert Change() == Change(frozenset(), frozenset())
