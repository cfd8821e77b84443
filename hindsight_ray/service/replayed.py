"""Credit by replay of one recorded run: the question, the checks before it, and the answer.

It abstains where the environment does not reproduce the record, where the budget does not reach,
and where no interval excludes zero: then replaying has shown that nothing made a difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hindsight_ray.core.attribution.environment import (
    Change,
    Environment,
    Replay,
    Request,
    first_decision,
    offers_of,
    own_seed,
)
from hindsight_ray.core.attribution.intervals import family_factor
from hindsight_ray.core.attribution.players import (
    Player,
    PlayerKind,
    agent_players,
    decision_players,
    exact_zero,
    memory_players,
    starts_at,
    unions_of,
)
from hindsight_ray.core.attribution.provenance import METHOD as PROVENANCE
from hindsight_ray.core.attribution.provenance import NO_OUTCOME, may_have_led, provenance
from hindsight_ray.core.attribution.sampling import Draws, SamplingRule
from hindsight_ray.domain.credit import Abstained, Attribution, Credit
from hindsight_ray.domain.event import Event, MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.ports import Evaluations, TaskRunner
from hindsight_ray.service import games
from hindsight_ray.service.games import Solved, Unsolved
from hindsight_ray.service.replays import Replays

ReplayMethod = Literal["shapley", "banzhaf", "owen", "ablation"]
BUDGET = 5_000
_SAME = 1e-9
_NAMES = {"decisions": "", "agents": " of agents", "memories": " of memories"}


@dataclass(frozen=True, slots=True)
class Question:
    """What to find out by replay. `policy` is the declared baseline that re-decides.

    `among` shortlists decisions: the others stay as they were recorded. `budget` is the number of
    replays at most. Owen values are of decisions, with the agents as unions.
    """

    method: ReplayMethod = "shapley"
    players: PlayerKind = "decisions"
    policy: str = "baseline"
    budget: int = BUDGET
    seed: int = 0
    rule: SamplingRule = field(default_factory=SamplingRule)
    among: frozenset[str] | None = None
    whether_decided: bool = False  # the value is whether a decision stayed, not the run's outcome

    @property
    def name(self) -> str:
        """The method as credits name it."""
        told = self.method + _NAMES[self.players]
        return f"{told} in a decision" if self.whether_decided else told


@dataclass(frozen=True, slots=True)
class Laboratory:
    """What a question is answered with: an environment, workers, and what is known already."""

    environment: Environment
    runner: TaskRunner
    kept: Evaluations
    draws: Draws


@dataclass(frozen=True, slots=True)
class _Case:
    """A recorded run under a question, with the decisions that may have led to its outcome."""

    trajectory: Trajectory
    decisions: tuple[Event, ...]
    offers: Mapping[str, tuple[tuple[MemoryRef, str], ...]]
    question: Question
    lab: Laboratory

    def players(self) -> tuple[Player, ...]:
        if self.question.players == "memories":
            return memory_players(self.decisions, self.offers)
        if self.question.players == "agents":
            return agent_players(self.decisions)
        return decision_players(self.decisions)

    def replays(self, players: Sequence[Player], budget: int) -> Replays:
        """Replays from just before the first decision that these players could change."""
        events = self.trajectory.events
        start = first_decision(events, starts_at(players))
        job = Replay(self.lab.environment, events, start, self.question.policy, self.offers)
        return Replays(job, self.lab.runner, self.lab.kept, budget)

    def seeds(self, count: int) -> list[int]:
        """One seed where seeds change nothing, else `count` of them, the same for every player."""
        if self.lab.environment.deterministic:
            return [own_seed(self.trajectory)]
        return [games.replicate_seed(self.question.seed, n) for n in range(count)]


async def replayed(
    trajectory: Trajectory,
    texts: Mapping[MemoryRef, str],
    question: Question,
    lab: Laboratory,
) -> Attribution:
    """Credits of the players by replay, or an abstention with its reason.

    `texts` are those of the memories that the reader may read. Raises what the environment raises.
    """
    structure = provenance(trajectory, texts)
    base = structure.model_copy(
        update={
            "method": question.name,
            "credits": (),
            "abstained": None,
            "policy": question.policy,
        }
    )
    outcome = base.outcome
    if outcome is None:
        return _abstained(base, NO_OUTCOME)
    led = may_have_led(trajectory)
    if question.whether_decided:
        led = tuple(event for event in trajectory.events if event.kind == "decision")
    among = question.among
    decisions = tuple(one for one in led if among is None or one.event_id in among)
    case = _Case(trajectory, decisions, offers_of(trajectory.events, texts), question, lab)
    players = case.players()
    if not players:
        who = "memory offered to a" if question.players == "memories" else "recorded"
        return _abstained(base, f"no {who} decision may have led to the outcome")
    checked = case.replays(players, question.budget)
    fault = await _unfaithful(case, checked, outcome)
    if fault is not None:
        return _abstained(base, fault)
    solved, spent = await _solved(case, players, checked)
    base = base.model_copy(update={"evaluations": spent})
    if isinstance(solved, Unsolved):
        return _abstained(base, solved.reason)
    if question.method == "ablation":
        solved = replace(solved, nobody=0.0)
    else:
        base = base.model_copy(update={"baseline": solved.nobody})
    beside = await _beside(case, outcome, solved, spent)
    base = base.model_copy(update={"beside": beside})
    if not _anything(solved):
        what = "withholding" if question.players == "memories" else "re-deciding"
        return _abstained(
            base, f"{what} any of {len(players)} changed the outcome by no more than its interval"
        )
    found = _credits(players, solved, question.name, outcome, spent)
    others = () if question.players != "decisions" else _outside(trajectory, led)
    return base.model_copy(update={"credits": (*found, *others)})


async def _unfaithful(case: _Case, replays: Replays, outcome: float) -> str | None:
    """Why replays of this run mean nothing, or None if the untouched one gives what was recorded.

    A run of a noisy environment that kept no seed cannot be checked.
    """
    if not case.lab.environment.deterministic and case.trajectory.run.seed is None:
        return None
    asked = [Request(Change(), own_seed(case.trajectory))]
    if not replays.affords(asked):
        return "the budget allows no replay"
    again = (await replays.outcomes(asked))[0]
    if abs(again - outcome) <= _SAME:
        return None
    return f"the untouched replay gives {again:g}, and {outcome:g} was recorded"


async def _solved(
    case: _Case, players: Sequence[Player], replays: Replays
) -> tuple[Solved | Unsolved, int]:
    """The values, and how many replays they took."""
    question = case.question
    if question.method == "ablation":
        return await _ablated(case, players, replays.spent)
    seeds = case.seeds(games.REPLICATES_MAX)
    least = (1 << len(players)) * min(len(seeds), games.REPLICATES_PER_BATCH)
    if len(players) <= games.EXACT_PLAYERS_MAX and replays.spent + least <= replays.budget:
        solved = await games.exact(replays, players, seeds, question.rule)
    elif question.method != "shapley":
        return Unsolved(
            f"{question.method} values need every coalition of {len(players)} players, {least}"
            f" replays; at most {games.EXACT_PLAYERS_MAX} players and the budget of"
            f" {replays.budget} allow that",
        ), replays.spent
    else:
        many = case.seeds(question.rule.batches_max * question.rule.pairs_per_batch)
        solved = await games.sampled(replays, players, many, question.rule, case.lab.draws)
    if isinstance(solved, Solved) and question.method != "shapley":
        unions = list(unions_of(case.decisions).values())
        if question.players != "decisions":
            unions = [[n] for n in range(len(players))]
        solved = games.by_table(solved, question.method, unions)
    return solved, replays.spent


async def _ablated(
    case: _Case, players: Sequence[Player], spent: int
) -> tuple[Solved | Unsolved, int]:
    """Each player left out alone, from the exact prefix before its own first decision."""
    seeds = case.seeds(games.REPLICATES_MAX)
    found: list[Solved] = []
    for player in players:
        replays = case.replays([player], case.question.budget - spent)
        one = await games.left_out(replays, [player], seeds, case.question.rule)
        spent += replays.spent
        if isinstance(one, Unsolved):
            return one, spent
        found.append(one)
    return games.side_by_side(found), spent


async def _beside(case: _Case, outcome: float, solved: Solved, spent: int) -> tuple[Credit, ...]:
    """Agents as players and as sums of their decisions; and memories, as the budget allows."""
    question = case.question
    if question.method != "shapley" or question.players == "memories":
        return ()
    found: list[Credit] = []
    unions = unions_of(case.decisions)
    agents = agent_players(case.decisions)
    if question.players == "decisions":
        indexes = list(unions.values())
        if solved.tables is not None:
            whole = games.by_table(solved, "agents", indexes)
            found += _credits(agents, whole, "shapley of agents", outcome, spent)
        sums = games.summed(solved, indexes)
        found += _credits(agents, sums, "sum of decisions", outcome, spent)
    memories = memory_players(case.decisions, case.offers)
    if memories and len(memories) <= games.EXACT_PLAYERS_MAX:
        replays = case.replays(memories, question.budget - spent)
        seeds = case.seeds(games.REPLICATES_MAX)
        game = await games.exact(replays, memories, seeds, question.rule)
        if isinstance(game, Solved):
            found += _credits(memories, game, "shapley of memories", outcome, replays.spent)
    return tuple(found)


def _credits(
    players: Sequence[Player], solved: Solved, method: str, outcome: float, spent: int
) -> list[Credit]:
    residual = outcome - solved.nobody - float(solved.values.sum())
    return [
        Credit(
            target=player.target,
            value=_plain(value),
            low=_plain(value - half),
            high=_plain(value + half),
            method=method,
            evidence="replayed",
            evaluations=spent,
            residual=_plain(residual),
        )
        for player, value, half in zip(
            players, solved.values.tolist(), solved.half.tolist(), strict=True
        )
    ]


def _outside(trajectory: Trajectory, led: Sequence[Event]) -> list[Credit]:
    """Decisions that the record shows to have had no part: exactly nothing, by structure."""
    inside = {event.event_id for event in led}
    return [
        exact_zero(event, PROVENANCE)
        for event in trajectory.events
        if event.kind == "decision" and event.event_id not in inside
    ]


def _anything(solved: Solved) -> bool:
    """Whether some interval excludes zero, wide enough for all of them to hold at once."""
    wider = family_factor(len(solved.values))
    pairs = zip(solved.values.tolist(), solved.half.tolist(), strict=True)
    return any(abs(value) > half * wider + _SAME for value, half in pairs)


def _plain(value: float) -> float:
    """Without the dust of rounding around zero."""
    return 0.0 if abs(value) < 1e-12 else value


def _abstained(base: Attribution, reason: str) -> Attribution:
    abstained = Abstained(method=base.method, reason=reason)
    return base.model_copy(update={"abstained": abstained})
