"""What holds of credit by replay for every planted case."""

from dataclasses import replace

import pytest

from benchmarks._planted import KINDS, Case, blame_of, by_replay, made
from hindsight_ray.domain.credit import Attribution

CERTAIN = tuple(kind for kind in KINDS if kind not in ("two, erring again", "no culprit"))


def total(found: Attribution) -> float:
    return sum(credit.value for credit in found.credits)


@pytest.mark.covers("G7.sum")
@pytest.mark.parametrize("kind", CERTAIN)
def test_credits_sum_to_the_outcome_less_what_the_baseline_achieves(kind: str) -> None:
    for seed in range(4):
        found = by_replay(made(kind, 100 + seed))
        assert found.abstained is None
        assert found.outcome is not None
        assert found.baseline is not None
        assert found.baseline + total(found) == pytest.approx(found.outcome, abs=1e-9)
        assert all(abs(credit.residual) < 1e-9 for credit in found.credits)


@pytest.mark.parametrize("kind", CERTAIN)
def test_who_is_ruled_out_or_sound_gets_nothing(kind: str) -> None:
    for seed in range(4):
        case = made(kind, 200 + seed)
        blamed = {one for one, blame in blame_of(by_replay(case)).items() if abs(blame) > 1e-9}
        assert blamed == set(case.culprits)


def renamed(case: Case, names: dict[str, str]) -> Case:
    trajectory = case.trajectory
    events = tuple(
        event.model_copy(update={"agent": names[event.agent]}) for event in trajectory.events
    )
    return replace(case, trajectory=trajectory.model_copy(update={"events": events}))


@pytest.mark.covers("G7.names")
def test_renaming_agents_renames_replayed_credit_and_changes_nothing_else() -> None:
    for seed in range(4):
        case = made("two, each enough", 300 + seed)
        agents = sorted({str(event.agent) for event in case.trajectory.events})
        names = dict(zip(agents, (f"x{n}" for n in range(len(agents))), strict=True))
        before, after = by_replay(case), by_replay(renamed(case, names))
        assert [(c.target.id, c.value) for c in before.credits] == [
            (c.target.id, c.value) for c in after.credits
        ]
        theirs = [(names[c.target.id], c.value) for c in before.beside if c.target.kind == "agent"]
        assert theirs == [(c.target.id, c.value) for c in after.beside if c.target.kind == "agent"]
