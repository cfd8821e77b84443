"""What deciding costs as the policy grows: compile a caller's access, answer, verify a ticket.

Policies of any size have the same shape: every principal has a few rules of its own and some roles,
so more rules mean more principals, roles and tenants. Callers are drawn at random and each is asked
about for the first time, so that nothing but the index of the policy is there beforehand.
"""

import asyncio
import gc
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks import _access_cluster
from benchmarks._access_cluster import Revoking
from benchmarks._access_home import Costs, measured
from hindsight_ray.adapters.policy.casbin import CasbinPolicies
from hindsight_ray.adapters.policy.profiles import shipped_text
from hindsight_ray.adapters.policy.tickets import TicketSigner, TicketVerifier
from hindsight_ray.core.access import AccessSet, PolicyIndex, compile_access
from hindsight_ray.core.policy_text import parse_policy
from hindsight_ray.domain.access import Membership, Policy, Revision, Rule
from hindsight_ray.domain.caller import Caller, TicketRequest

_NOW = datetime(2026, 3, 2, tzinfo=UTC)
_SMALL, _LARGE = 100, 100_000
_CALLERS = 400
_ROUNDS = 3
_RULES_EACH = 4
_PRINCIPALS_PER_ROLE = 10
_PRINCIPALS_PER_TENANT = 100
_COMPILE_RATIO_MAX = 3.0
_PEER_RATIO_MAX = 0.5
_VERIFY_RATIO_MAX = 5.0
_AFTER_CHANGE_MS_MAX = 50.0
_DECIDING_PERCENT_MAX = 2.0
_REVOKE_RATIO_MAX = 5.0


def figures(data: pathlib.Path) -> list[dict[str, Any]]:  # noqa: ARG001 - needs no logs
    """Ratios of medians, each of two things measured in turns."""
    small, large = _policy(_SMALL), _policy(_LARGE)
    compiled = _medians((small, large), _compile)
    answered = _medians((small, large), _compile_and_ask)
    enforced = asyncio.run(_enforce_s(small))
    signed, bare = asyncio.run(_verify_s())
    return [
        _figure(
            "access.compile",
            f"p50 of compiling a caller's access at {_LARGE:,} rules to that at {_SMALL}",
            compiled[1] / compiled[0],
            _COMPILE_RATIO_MAX,
        ),
        _figure(
            "access.answer",
            f"the same, and its first answers to ten questions ({answered[1] * 1e6:.0f} µs)",
            answered[1] / answered[0],
            _COMPILE_RATIO_MAX,
        ),
        _figure(
            "access.peer",
            f"p50 of compiling and asking once at {_LARGE:,} rules to one Casbin enforce at"
            f" {_SMALL}",
            (compiled[1] + answered[1] / 10) / enforced,
            _PEER_RATIO_MAX,
        ),
        _figure(
            "access.ticket",
            f"p50 of verifying a ticket for the first time ({signed * 1e6:.0f} µs) to checking"
            " its signature alone",
            signed / bare,
            _VERIFY_RATIO_MAX,
        ),
        *_in_a_home(measured(large)),
        *_on_a_cluster(_access_cluster.measured()),
    ]


def _on_a_cluster(found: Revoking) -> list[dict[str, Any]]:
    figures: list[dict[str, Any]] = []
    for name, phase, when in (
        ("access.revoke", found.healthy, "with 4 brokers"),
        ("access.revoke_frozen", found.frozen, "with one of 4 brokers frozen"),
    ):
        revoke, base = phase.p95()
        what = (
            f"p95 of a revoke {when} ({revoke * 1e3:.0f} ms) to that of a no-op call to all that"
            f" run and one ledger commit ({base * 1e3:.0f} ms)"
        )
        figures.append(_figure(name, what, revoke / base, _REVOKE_RATIO_MAX))
    what = f"of {found.reads} reads begun after a revoke returned, those that showed it anyway"
    return [*figures, _figure("access.stale", what, float(found.stale), 0.0, unit="reads")]


def _in_a_home(costs: Costs) -> list[dict[str, Any]]:
    return [
        _figure(
            "access.after_change",
            f"p95 of a caller's first access after a grant or revoke at {_LARGE:,} rules, ledger"
            f" included (p50 {costs.compile_s * 1e3:.1f} ms, the change"
            f" {costs.change_s * 1e3:.0f} ms; reading the whole policy {costs.rebuild_s:.1f} s)",
            costs.compile_p95_s * 1e3,
            _AFTER_CHANGE_MS_MAX,
            unit="ms",
        ),
        _figure(
            "access.deciding",
            f"deciding ({costs.decide_s * 1e6:.0f} µs) as a share of a search"
            f" ({costs.search_s * 1e3:.1f} ms) at {_LARGE:,} rules",
            100 * costs.decide_s / costs.search_s,
            _DECIDING_PERCENT_MAX,
            unit="%",
        ),
    ]


def _figure(name: str, what: str, value: float, bound: float, *, unit: str = "x") -> dict[str, Any]:
    return {
        "id": name,
        "what": what,
        "value": value,
        "bound": bound,
        "holds": value <= bound,
        "unit": unit,
    }


def _policy(number: int) -> Policy:
    """A policy of about `number` rules: the default profile, then principals with theirs."""
    profile = parse_policy(shipped_text("default.csv"))
    rules, memberships = list(profile.rules), list(profile.memberships)
    for principal in range(_principals(number)):
        name, tenant = _principal(principal), _tenant(principal)
        role = f"role:r{principal // _PRINCIPALS_PER_ROLE}"
        rules += [
            _rule(name, tenant, f"user:shared{principal}x{n}", "read") for n in range(_RULES_EACH)
        ]
        memberships.append(Membership(member=name, role=role, tenant=tenant))
        if principal % _PRINCIPALS_PER_ROLE == 0:
            rules += [_rule(role, tenant, f"agent:tool{n}", "write") for n in range(_RULES_EACH)]
    return Policy(revision=Revision(1), rules=tuple(rules[:number]), memberships=tuple(memberships))


def _principals(number: int) -> int:
    return max(10, int(number / (_RULES_EACH * (1 + 1 / _PRINCIPALS_PER_ROLE))))


def _principal(number: int) -> str:
    return f"agent:a{number}"


def _tenant(number: int) -> str:
    return f"t{number // _PRINCIPALS_PER_TENANT}"


def _rule(subject: str, tenant: str, target: str, action: str) -> Rule:
    return Rule.model_validate(
        {
            "subject": subject,
            "tenant": tenant,
            "object": target,
            "action": action,
            "effect": "allow",
        }
    )


def _callers(policy: Policy, seed: int) -> Iterator[Caller]:
    """Some of the policy's principals in random order, none of them twice."""
    draw = random.Random(seed)
    count = _principals(len(policy.rules))
    for number in draw.sample(range(count), min(count, _CALLERS)):
        yield Caller.model_validate(
            {
                "tenant": _tenant(number),
                "agent": f"a{number}",
                "user": f"u{draw.randrange(count)}",
                "ticket_id": "t",
                "expires_at": _NOW + timedelta(hours=1),
            }
        )


def _compile(index: PolicyIndex, caller: Caller) -> AccessSet:
    return compile_access(index, caller, _NOW)


def _compile_and_ask(index: PolicyIndex, caller: Caller) -> AccessSet:
    access = compile_access(index, caller, _NOW)
    for number in range(5):
        access.may("read", f"user:shared{number}x1")
        access.may("write", f"agent:tool{number}")
    return access


def _medians(
    policies: Sequence[Policy], job: Callable[[PolicyIndex, Caller], AccessSet]
) -> list[float]:
    """The p50 of `job` in seconds for each policy, in turns, over fresh indexes."""
    taken: list[list[float]] = [[] for _ in policies]
    for round_ in range(_ROUNDS):
        for policy, times in zip(policies, taken, strict=True):
            enough = _CALLERS * (round_ + 1)
            while len(times) < enough:
                index = PolicyIndex.of(policy)
                callers = list(_callers(policy, len(times)))
                gc.collect()
                for caller in callers:
                    started = time.perf_counter()
                    job(index, caller)
                    times.append(time.perf_counter() - started)
    return [statistics.median(times) for times in taken]


async def _enforce_s(policy: Policy) -> float:
    casbin = CasbinPolicies(shipped_text("model.conf"))
    taken: list[float] = []
    for caller in list(_callers(policy, 0))[:100]:
        started = time.perf_counter()
        await casbin.enforce(policy, caller, "read", "user:shared1x1", _NOW)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


async def _verify_s() -> tuple[float, float]:
    """The p50 of a whole first verification, and of the signature check inside it."""
    key = Ed25519PrivateKey.generate()
    signer, public, message = TicketSigner(key), key.public_key(), b"x" * 300
    signature = key.sign(message)
    whole: list[float] = []
    bare: list[float] = []
    for number in range(300):
        ticket = await signer.issue(
            TicketRequest.model_validate({"tenant": "acme", "agent": f"a{number}"}), _NOW
        )
        verifier = TicketVerifier({signer.kid: public})
        started = time.perf_counter()
        await verifier.verify(ticket.token, _NOW)
        whole.append(time.perf_counter() - started)
        started = time.perf_counter()
        public.verify(signature, message)
        bare.append(time.perf_counter() - started)
    return statistics.median(whole), statistics.median(bare)
