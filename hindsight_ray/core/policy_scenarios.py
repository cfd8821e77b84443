"""Does a policy do what people say it should? Scenarios they can review, judged one by one.

A scenario is a profile, what is added to it, and assertions: because of this, that caller may do
these and may not do those. Read from YAML by whoever asks; judged here by the compiled access.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from hindsight_ray.core.access import PolicyIndex, compile_access
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import Action, Decision, Policy
from hindsight_ray.domain.base import Value, build
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.ids import AgentId, TenantId, UserId
from hindsight_ray.domain.scope import Scope
from hindsight_ray.domain.text import Summary


class Asker(Value):
    """Who asks in an assertion: what a ticket says, without its id and expiry."""

    tenant: TenantId = "acme"  # type: ignore[assignment] - checked like any other
    agent: AgentId | None = None
    user: UserId | None = None
    scopes: frozenset[Scope] | None = None
    actions: frozenset[Action] | None = None


class Assertion(Value):
    """What one caller may and may not do. `reason` is that of each denial, where it matters."""

    because: Summary
    caller: Asker
    allow: dict[str, tuple[Action, ...]] = Field(default_factory=dict)  # object -> actions
    deny: dict[str, tuple[Action, ...]] = Field(default_factory=dict)
    reason: str | None = None


class Scenario(Value):
    """A policy and the assertions that it must meet. `rules` are csv rows beside the profile's."""

    about: Summary
    profile: str = "default.csv"
    rules: str = ""
    assertions: tuple[Assertion, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that an assertion says: may this caller do that, and why it should be so."""

    because: str
    caller: Caller
    action: Action
    object: str
    allowed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A question, the decision on it, and whether it is what the scenario says."""

    question: Question
    decision: Decision

    @property
    def holds(self) -> bool:
        question = self.question
        if self.decision.allowed != question.allowed:
            return False
        return question.reason is None or self.decision.reason == question.reason


def scenario_of(fields: Mapping[str, Any]) -> Scenario:
    """The scenario that a YAML document states. Raises `InvalidInput` naming the field."""
    return build(Scenario, fields)


def policy_of(scenario: Scenario, profile_text: str) -> Policy:
    """The policy that the scenario is about: its profile's text and its own rows."""
    return parse_policy(f"{profile_text.rstrip()}\n{scenario.rules}", revision=1)


def questions(scenario: Scenario, now: datetime) -> Iterator[Question]:
    """Everything that the scenario's assertions say, one by one."""
    for one in scenario.assertions:
        caller = build(
            Caller,
            {
                **one.caller.model_dump(),
                "ticket_id": "scenario",
                "expires_at": now + timedelta(hours=1),
            },
        )
        for allowed, said in ((True, one.allow), (False, one.deny)):
            reason = None if allowed else one.reason
            for target, actions in said.items():
                for action in actions:
                    yield Question(one.because, caller, action, target, allowed, reason)


def verdicts(scenario: Scenario, policy: Policy, now: datetime) -> Iterator[Verdict]:
    """What the compiled access decides on each question."""
    index = PolicyIndex.of(policy)
    for question in questions(scenario, now):
        access = compile_access(index, question.caller, now)
        yield Verdict(question, access.decide(question.action, question.object))
