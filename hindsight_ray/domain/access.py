"""Access in values: actions, rules, policies, and decisions that carry why they were taken."""

from dataclasses import dataclass
from typing import Literal, NewType

from hindsight_ray.domain.base import Value
from hindsight_ray.domain.text import Moment

Action = Literal[
    "read", "write", "forget", "promote", "share", "review", "evaluate", "audit", "administer"
]
ACTIONS: tuple[Action, ...] = (
    "read", "write", "forget", "promote", "share", "review", "evaluate", "audit", "administer",
)  # fmt: skip
Effect = Literal["allow", "deny"]
Revision = NewType("Revision", int)  # of the policy: one step for each change


class Rule(Value):
    """One line of a policy: `p, subject, tenant, object, action, effect`.

    `subject` is `role:<id>`, `agent:<id>` or `user:<id>`; `tenant` an id or `*`; `object` is
    `global`, `agent:<id>`, `user:<id>`, `agent:*`, `user:*`, `agent:{self}`, `user:{acting}` or
    `label:<id>` (deny only). `until` ends a grant by the clock; `grantor` names who shared.
    """

    subject: str
    tenant: str
    object: str
    action: Action
    effect: Effect
    until: Moment | None = None
    grantor: str | None = None

    def __str__(self) -> str:
        return f"p, {self.subject}, {self.tenant}, {self.object}, {self.action}, {self.effect}"


class Membership(Value):
    """`g, member, role, tenant`: the member (principal or role) has the role in that tenant."""

    member: str
    role: str
    tenant: str

    def __str__(self) -> str:
        return f"g, {self.member}, {self.role}, {self.tenant}"


class Policy(Value):
    """Every rule and membership in force at one revision. An empty policy allows nothing."""

    revision: Revision
    rules: tuple[Rule, ...] = ()
    memberships: tuple[Membership, ...] = ()


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line that came into a policy at a place in its order, or went from there."""

    position: int
    line: Rule | Membership
    added: bool


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """How a policy became that of `revision`: for each revision between, the lines that changed."""

    revision: Revision
    steps: tuple[tuple[LineChange, ...], ...]


@dataclass(frozen=True, slots=True)
class PlacedPolicy:
    """A policy with the place of each of its lines, by which later changes name them."""

    policy: Policy
    rules_at: tuple[int, ...]
    memberships_at: tuple[int, ...]


class Decision(Value):
    """Allow or deny, at a policy revision, with the rule that decided.

    `reason` is one of `allowed`, `denied by rule`, `no rule`, `narrowed by ticket`,
    `invalid`, `error`. `rule` is the deciding rule's text, or None where none matched.
    `role_path` leads from the caller's principal to the rule's subject.
    """

    effect: Effect
    action: Action
    object: str
    revision: Revision
    reason: str
    rule: str | None = None
    role_path: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        return self.effect == "allow"
