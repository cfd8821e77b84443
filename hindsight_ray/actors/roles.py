"""Which actor answers which command, and under which names actors are found."""

import zlib
from dataclasses import dataclass
from typing import Literal, get_args

from hindsight_ray.domain import commands as c

NAMESPACE = "hindsight"
Role = Literal["authority", "broker", "recorder_host", "models", "reviewer", "steward"]

OF_AUTHORITY: frozenset[type[c.Command]] = frozenset(
    {
        c.IssueTicket,
        c.RevokeTicket,
        c.LoadPolicy,
        c.Share,
        c.Revoke,
        c.Erase,
        c.DropTenant,
        c.SetPrivacy,
    }
)
OF_REVIEWER: frozenset[type[c.Command]] = frozenset(
    {
        c.ReviewRun,
        c.RetryReviews,
        c.Attribute,
        c.ImportRuns,
        c.DrawSample,
        c.Maintain,
        c.ReadForReplay,
        c.SubmitCredits,
        c.ReadCredits,
    }
)


@dataclass(frozen=True, slots=True)
class Crew:
    """How many actors of each role there are. The authority, the models and the steward
    are one each."""

    brokers: int
    recorder_hosts: int
    reviewers: int

    def count(self, role: Role) -> int:
        """How many actors have this role."""
        counts: dict[Role, int] = {
            "broker": self.brokers,
            "recorder_host": self.recorder_hosts,
            "reviewer": self.reviewers,
        }
        return counts.get(role, 1)

    def names(self) -> tuple[str, ...]:
        """Every actor's name, in the order in which they are started."""
        roles: tuple[Role, ...] = (
            "authority", "models", "broker", "recorder_host", "reviewer", "steward",
        )  # fmt: skip
        return tuple(actor_name(role, i) for role in roles for i in range(self.count(role)))


def actor_name(role: Role, number: int) -> str:
    """The name under which an actor is found in the namespace."""
    return f"{role}-{number}"


def is_actor_name(name: str) -> bool:
    """Whether an actor of a deployment may have this name: others share the namespace."""
    role, _, number = name.rpartition("-")
    return role in get_args(Role) and number.isdecimal()


def role_of(command: c.Command) -> Role:
    """The role that answers this command."""
    kind = type(command)
    if kind in OF_AUTHORITY:
        return "authority"
    if kind in OF_REVIEWER:
        return "reviewer"
    return "recorder_host" if kind is c.RecordEvents else "broker"


def stable_number(text: str, count: int) -> int:
    """A number below `count` that depends on the text alone: an agent keeps its host."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % count
