"""What a prior over decisions sees of a log, and what it learns from labels."""

import numpy as np
import pytest

from hindsight_ray.core.attribution.features import FEATURES, observed
from hindsight_ray.core.attribution.prior import Labelled, fitted
from hindsight_ray.domain.event import Event

_RUN = "01890a5d-ac96-774b-bcce-b302099a8057"


def _decision(number: int, agent: str, text: str, kind: str = "decision") -> Event:
    return Event.model_validate(
        {
            "event_id": f"01890a5d-ac96-774b-bcce-{number:012d}",
            "run_id": _RUN,
            "agent": agent,
            "incarnation": "log",
            "seq": number,
            "timestamp": "2026-01-05T09:00:00Z",
            "kind": kind,
            "summary": text,
        }
    )


_WORK = "Let us assume that the file is there and read it with these twelve lines of code:"


def test_features_tell_position_words_and_handoffs():
    seen = observed(
        [
            _decision(
                0, "lead", "Find the number of boats that were counted in one harbour in May"
            ),
            _decision(1, "lead", "ok", kind="user"),
            _decision(2, "coder", _WORK + "\n```python\nread()\n```"),
            _decision(3, "lead", "I agree. TERMINATE"),
        ]
    )
    rows = {name: seen.rows[:, at].tolist() for at, name in enumerate(FEATURES)}
    assert [str(event.agent) for event in seen.decisions] == ["lead", "coder", "lead"]
    assert rows["early"] == [1.0, 0.5, 0.0]
    assert rows["first work"] == [0.0, 1.0, 0.0]
    assert rows["handoff"] == [0.0, 1.0, 1.0]
    assert rows["code"] == rows["assumes"] == [0.0, 1.0, 0.0]
    assert rows["agrees"] == rows["short"] == [0.0, 0.0, 1.0]
    assert rows["share of agent"] == pytest.approx([2 / 3, 1 / 3, 2 / 3])


def test_renaming_agents_changes_no_feature():
    texts = [("a", "Plan"), ("b", _WORK), ("a", "Agreed")]
    one = observed([_decision(n, agent, text) for n, (agent, text) in enumerate(texts)])
    names = {"a": "zed", "b": "ann"}
    other = observed([_decision(n, names[agent], text) for n, (agent, text) in enumerate(texts)])
    assert (one.rows == other.rows).all()


def test_a_prior_learns_which_kind_of_decision_is_blamed():
    random = np.random.default_rng(3)
    logs: list[Labelled] = []
    for _ in range(60):
        rows = random.random((5, 3))
        logs.append(Labelled(rows, int(rows[:, 1].argmax())))
    prior = fitted(logs)
    assert prior.weights[1] > 5 * np.abs(prior.weights[[0, 2]]).max()
    rows = random.random((4, 3))
    chances = prior.chances(rows)
    assert chances.sum() == pytest.approx(1.0)
    assert chances.argmax() == rows[:, 1].argmax()


def test_the_fit_is_where_the_penalised_likelihood_is_flat():
    random = np.random.default_rng(4)
    logs = [Labelled(random.random((6, 4)), int(random.integers(6))) for _ in range(30)]
    prior = fitted(logs, ridge=1.0)
    slope = -prior.weights
    for log in logs:
        slope = slope + log.rows[log.blamed] / prior.scale
        slope = slope - prior.chances(log.rows) @ log.rows / prior.scale
    assert np.abs(slope).max() < 1e-6


def test_a_prior_without_labels_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        fitted([])
