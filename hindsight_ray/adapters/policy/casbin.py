"""Casbin as the authority: the same questions, answered by the matcher in `policies/model.conf`.

It reads every rule for every question, so nothing on a request's path asks it. Policies are held
against it before they come into force, and so is the compiled access, by a property test.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import casbin  # pyright: ignore[reportMissingTypeStubs]
from casbin.persist import Adapter  # pyright: ignore[reportMissingTypeStubs]

from hindsight_ray.core.policy_model import checked_model
from hindsight_ray.core.policy_text import checked_membership, checked_rule, object_class
from hindsight_ray.domain.access import ACTIONS, Action, Policy, Rule
from hindsight_ray.domain.caller import Caller
from hindsight_ray.errors import InvalidPolicy

T = TypeVar("T")

_NO_AGENT = "agent:"  # no id is empty, so these equal no subject and no object
_NO_USER = "user:"
_NO_ROLE = "role:"
# A label can only hide: Casbin needs an allow that a deny on a label can override.
_LABELS = tuple((role, "*", "label:*", "read", "allow") for role in ("role:agent", "role:user"))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An enforcer, and the policy and span of time that its rules are those of."""

    policy: Policy
    since: datetime | None
    until: datetime | None
    enforcer: Any

    def serves(self, policy: Policy, now: datetime) -> bool:
        if not (self.policy is policy or self.policy == policy):
            return False
        return (self.since is None or self.since <= now) and (
            self.until is None or now < self.until
        )


class CasbinPolicies:
    """`PolicyEngine` over one Casbin enforcer at a time, in one thread.

    Two threads on one enforcer have been seen to answer wrongly. Whatever goes wrong is a denial.
    """

    def __init__(self, model_text: str) -> None:
        self._model_text = checked_model(model_text)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="casbin")
        self._loaded: _Loaded | None = None

    async def enforce(
        self, policy: Policy, caller: Caller, action: Action, target: str, now: datetime
    ) -> bool:
        return await self._in_thread(lambda: self._enforce(policy, caller, action, target, now))

    async def check(self, policy: Policy, now: datetime) -> None:
        """Raise `InvalidPolicy` unless Casbin holds exactly these rules and memberships."""
        await self._in_thread(lambda: self._check(policy, now))

    async def _in_thread(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    def _enforce(
        self, policy: Policy, caller: Caller, action: str, target: str, now: datetime
    ) -> bool:
        try:
            kind = object_class(target)
            if kind is None or action not in ACTIONS or not policy.rules:
                return False
            if caller.actions is not None and action not in caller.actions:
                return False
            if kind != "label" and _left_out(caller, action, target):
                return False
            request = (*_subjects(caller), caller.tenant, target, kind, action)
            return self._enforcer(policy, now).enforce(*request) is True
        except Exception:  # noqa: BLE001 - an access decision: whatever goes wrong is a denial
            return False

    def _check(self, policy: Policy, now: datetime) -> None:
        enforcer = self._enforcer(policy, now)
        held = [tuple(row) for row in enforcer.get_policy()]
        links = [tuple(row) for row in enforcer.get_grouping_policy()]
        if held != [*_LABELS, *map(_row, _live(policy.rules, now))]:
            raise InvalidPolicy("`policy` is read by Casbin as other rules than were written")
        if links != [(one.member, one.role, one.tenant) for one in policy.memberships]:
            raise InvalidPolicy("`policy` is read by Casbin as other roles than were written")
        manager = enforcer.get_role_manager()
        for one in policy.memberships:
            if not manager.has_link(one.member, one.role, one.tenant):
                raise InvalidPolicy(f"`policy`: Casbin does not follow the membership {one}")

    def _enforcer(self, policy: Policy, now: datetime) -> Any:
        if self._loaded is None or not self._loaded.serves(policy, now):
            ends = sorted({rule.until for rule in policy.rules if rule.until is not None})
            self._loaded = _Loaded(
                policy=policy,
                since=max((end for end in ends if end <= now), default=None),
                until=min((end for end in ends if end > now), default=None),
                enforcer=_new_enforcer(self._model_text, policy, now),
            )
        return self._loaded.enforcer


class _Rows(Adapter):
    """Puts the rows into Casbin's model as they are: no text in between that could be misread."""

    def __init__(
        self, rules: Sequence[tuple[str, ...]], memberships: Sequence[tuple[str, ...]]
    ) -> None:
        self._rules = rules
        self._memberships = memberships

    def load_policy(self, model: Any) -> None:
        model.model["p"]["p"].policy.extend(list(row) for row in self._rules)
        model.model["g"]["g"].policy.extend(list(row) for row in self._memberships)


def _new_enforcer(model_text: str, policy: Policy, now: datetime) -> Any:
    rules = [*_LABELS, *(_row(checked_rule(rule)) for rule in _live(policy.rules, now))]
    links = [
        (one.member, one.role, one.tenant) for one in map(checked_membership, policy.memberships)
    ]
    model = casbin.Enforcer.new_model(text=model_text)
    enforcer: Any = casbin.Enforcer(model)
    manager = enforcer.get_role_manager()
    manager.add_matching_func(None)  # names are compared for equality
    manager.add_domain_matching_func(_tenant_covers)
    enforcer.set_adapter(_Rows(rules, links))
    enforcer.load_policy()
    return enforcer


def _tenant_covers(asked: str, written: str) -> bool:
    return written in ("*", asked)


def _subjects(caller: Caller) -> tuple[str, str, str, str]:
    agent, agent_role, user, user_role = _NO_AGENT, _NO_ROLE, _NO_USER, _NO_ROLE
    if caller.agent is not None:
        agent, agent_role = f"agent:{caller.agent}", "role:agent"
    if caller.user is not None:
        user, user_role = f"user:{caller.user}", "role:user"
    return agent, agent_role, user, user_role


def _left_out(caller: Caller, action: str, target: str) -> bool:
    """Whether a ticket's scopes leave this out; of the whole tenant, unless it names the action."""
    if caller.scopes is None:
        return False
    if target == "global" and action in ("administer", "audit") and caller.actions is None:
        return True
    return target not in caller.scopes


def _live(rules: Sequence[Rule], now: datetime) -> list[Rule]:
    return [rule for rule in rules if rule.until is None or now < rule.until]


def _row(rule: Rule) -> tuple[str, str, str, str, str]:
    return (rule.subject, rule.tenant, rule.object, rule.action, rule.effect)
