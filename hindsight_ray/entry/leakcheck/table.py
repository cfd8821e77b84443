"""How each verb, client method, tool and shell command is asked by a stranger.

What is not in these tables fails the check: a new way in must say how it is tried.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.base import build
from hindsight_ray.entry.leakcheck.planted import Facts, event_of

Attempts = Callable[[Facts, str], Iterable[c.Command]]  # what is known, the asker's own agent name


def _each(kind: type[c.Command], *fields: Callable[[Facts], Mapping[str, Any]]) -> Attempts:
    return lambda facts, _agent: [build(kind, one(facts)) for one in fields]


def _named(kind: type[c.Command], **more: Any) -> Attempts:
    """By each memory's id."""
    return _each(
        kind,
        lambda f: {"memory_id": f.memory_id, **_fresh(kind), **more},
        lambda f: {"memory_id": f.own_memory_id, **_fresh(kind), **more},
    )


def _on_run(kind: type[c.Command], **more: Any) -> Attempts:
    return _each(kind, lambda f: {"run_id": f.run_id, **more})


def _fresh(kind: type[c.Command]) -> dict[str, str]:
    return {"command_id": uuid.uuid4().hex} if "command_id" in kind.model_fields else {}


def _searches(facts: Facts) -> list[dict[str, Any]]:
    return [
        {"query": f"{facts.trigger} depot", "k": 100},
        {"query": facts.trigger, "scopes": [facts.scope, facts.agent_scope]},
        {"query": f"{facts.trigger} ladder", "types": ["fact"], "layers": ["semantic"]},
        {"query": facts.trigger, "statuses": ["pending", "quarantined", "archived"]},
        {"query": "last time", "since": "2000-01-01T00:00:00+00:00"},
        {"query": facts.trigger, "run_id": facts.run_id},
    ]


def _submitted(facts: Facts, _agent: str) -> list[c.Command]:
    attribution = {"run_id": facts.run_id, "outcome": 1.0, "method": "spectrum"}
    return [build(c.SubmitCredits, {"run_id": facts.run_id, "attribution": attribution})]


def _recorded(facts: Facts, agent: str) -> list[c.Command]:
    return [
        c.RecordEvents.model_validate({"run_id": facts.run_id, "events": [event_of(facts, agent)]})
    ]


def _whys(facts: Facts) -> list[dict[str, Any]]:
    about = {"agent": facts.names.agent, "user": facts.names.user}
    return [
        {"action": "read", "object": facts.memory_id, **about},
        {"action": "read", "object": facts.memory_id},
        {"action": "read", "object": facts.scope},
        {"action": "write", "object": facts.agent_scope},
    ]


def _shares(facts: Facts) -> dict[str, Any]:
    return {"scope": facts.scope, "to": f"user:{facts.names.other_user}", **_fresh(c.Share)}


def _pairs(facts: Facts) -> list[dict[str, str]]:
    return [{"a": facts.trigger, "b": "depot", "kind": "unrelated"}] * 4


ATTEMPTS: dict[str, Attempts] = {
    "StartRun": _each(
        c.StartRun, lambda f: {"goal": f.trigger, "scope": f.scope, **_fresh(c.StartRun)}
    ),
    "JoinRun": _on_run(c.JoinRun),
    "CloseRun": _on_run(c.CloseRun),
    "ReadRun": _on_run(c.ReadRun),
    "ListRuns": _each(c.ListRuns, lambda _: {"limit": 100}, lambda _: {"task_type": "fetch"}),
    "RecordEvents": _recorded,
    "AssertOutcome": _on_run(c.AssertOutcome, value=-1.0),
    "SetWorking": _on_run(c.SetWorking, state={"goal": "intrude"}),
    "GetWorking": _on_run(c.GetWorking),
    "Note": _each(c.Note, lambda _: {"text": "a line of my own"}),
    "Window": _each(c.Window, lambda _: {}),
    "Write": _each(
        c.Write,
        lambda f: {
            "content": f"The {f.trigger} depot opens with a word",
            "scope": f.scope,
            **_fresh(c.Write),
        },
        lambda f: {"content": f"The {f.trigger} depot opens with a word", **_fresh(c.Write)},
        lambda f: {
            "content": f"The {f.trigger} depot has a door",
            "run_id": f.run_id,
            **_fresh(c.Write),
        },
    ),
    "Search": lambda facts, _: [build(c.Search, one) for one in _searches(facts)],
    "SearchMany": lambda facts, _: [build(c.SearchMany, {"searches": tuple(_searches(facts))})],
    "Get": _named(c.Get),
    "History": _named(c.History),
    "Explain": _named(c.Explain),
    "Update": _named(c.Update, importance=0.1),
    "Forget": _named(c.Forget),
    "Promote": _named(c.Promote, scope="global"),
    "Share": _each(c.Share, _shares),
    "Revoke": _each(c.Revoke, _shares),
    "ReviewRun": _on_run(c.ReviewRun),
    "RetryReviews": _each(
        c.RetryReviews, lambda _: {"list_only": True}, lambda f: {"run_id": f.run_id}
    ),
    "Attribute": _each(
        c.Attribute,
        lambda f: {"run_id": f.run_id},
        lambda f: {"run_id": f.run_id, "method": "blame"},
        lambda f: {"run_id": f.run_id, "method": "spectrum"},
    ),
    "ReadForReplay": _on_run(c.ReadForReplay),
    "SubmitCredits": _submitted,
    "ReadCredits": _on_run(c.ReadCredits),
    "ReadSpending": _each(c.ReadSpending, lambda f: {"run_id": f.run_id}, lambda _: {}),
    "Why": lambda facts, _: [build(c.Why, one) for one in _whys(facts)],
    "WhoSees": _each(c.WhoSees, lambda f: {"scope": f.scope}, lambda _: {"scope": "global"}),
    "Sees": _each(c.Sees, lambda f: {"agent": f.names.agent, "user": f.names.user}, lambda _: {}),
    "WhoAmI": _each(c.WhoAmI, lambda _: {}),
    "IssueTicket": _each(
        c.IssueTicket,
        lambda f: {"request": {"tenant": f.tenant, "agent": f.names.agent, "user": f.names.user}},
    ),
    "RevokeTicket": _each(c.RevokeTicket, lambda f: {"ticket_id": f.ticket_id}),
    "ListTenants": _each(c.ListTenants, lambda _: {}),
    "DropTenant": _each(c.DropTenant, lambda _: {"tenant": "nobodys"}),
    "LoadPolicy": _each(c.LoadPolicy, lambda _: {"text": ""}),
    "ReadPolicy": _each(c.ReadPolicy, lambda _: {}),
    "ImportRuns": _each(
        c.ImportRuns, lambda f: {"format": "openai-messages", "text": "[]", "scope": f.scope}
    ),
    "SetPrivacy": _each(c.SetPrivacy, lambda _: {}),
    "Erase": _each(c.Erase, lambda _: {"user": "nobody-of-this-name"}),
    "ReadAudit": _each(c.ReadAudit, lambda _: {"limit": 1_000}),
    "ReadSeal": _each(c.ReadSeal, lambda _: {}),
    "VerifyAudit": _each(c.VerifyAudit, lambda _: {}),
    "ListPending": _each(c.ListPending, lambda _: {}, lambda f: {"scope": f.scope}),
    "DecidePending": _named(c.DecidePending, decision="accept"),
    "DrawSample": _each(
        c.DrawSample,
        lambda _: {"n": 500, "seed": 0},
        lambda f: {"scope": f.scope, "seed": 0},
    ),
    "JudgeSample": _named(c.JudgeSample, verdict="bad"),
    "ReadSamples": _each(c.ReadSamples, lambda _: {}, lambda f: {"scope": f.scope}),
    "Maintain": _each(c.Maintain, lambda _: {}),
    "ReadTiers": _each(c.ReadTiers, lambda f: {"memory_ids": (f.memory_id, f.own_memory_id)}),
    "Archive": _named(c.Archive),
    "Restore": _named(c.Restore),
    "CloseProject": _each(
        c.CloseProject, lambda f: {"project": f.trigger, **_fresh(c.CloseProject)}
    ),
    "Reembed": _each(c.Reembed, lambda _: {"model": "hashed"}),
    "Calibrate": _each(c.Calibrate, lambda f: {"pairs": _pairs(f)}),
    "ExportKnowledge": _each(
        c.ExportKnowledge,
        lambda _: {"types": ("fact", "preference", "experience")},
        lambda f: {"scope": f.scope},
        lambda f: {"after": f.memory_id},
    ),
}


def untried(verbs: Iterable[type[c.Command]]) -> Sequence[str]:
    """The verbs that no attempt is known for."""
    return sorted(kind.__name__ for kind in verbs if kind.__name__ not in ATTEMPTS)


TOOLS: dict[str, Callable[[Facts], Sequence[dict[str, Any]]]] = {
    "memory_write": lambda f: [
        {"content": f"The {f.trigger} depot opens with a word", "scope": f.scope},
        # Longer, so that no search finds both alike, whose order would be that of their ids.
        {"content": f"The {f.trigger} depot has a wide door that nobody uses in winter"},
    ],
    "memory_search": lambda f: [
        {"query": f"{f.trigger} depot", "k": 100},
        {"query": f.trigger, "scopes": [f.scope, f.agent_scope]},
        {"query": f.trigger, "run_id": f.run_id},
    ],
    "memory_update": lambda f: [{"memory_id": f.memory_id, "importance": 0.2}],
    "memory_forget": lambda f: [{"memory_id": f.memory_id}, {"memory_id": f.own_memory_id}],
    "memory_search_many": lambda f: [
        {"queries": [f"{f.trigger} depot", f.trigger], "k": 100},
        {"queries": [f.trigger], "run_id": f.run_id},
    ],
    "memory_get": lambda f: [{"memory_id": f.memory_id}, {"memory_id": f.own_memory_id}],
    "memory_history": lambda f: [{"memory_id": f.memory_id}, {"memory_id": f.own_memory_id}],
    "memory_explain": lambda f: [{"memory_id": f.memory_id}, {"memory_id": f.own_memory_id}],
    "memory_why": lambda f: [
        {"action": "read", "object": f.memory_id},
        {"action": "read", "object": f.scope},
    ],
    "memory_review": lambda f: [{"run_id": f.run_id}],
    "memory_attribute": lambda f: [
        {"run_id": f.run_id},
        {"run_id": f.run_id, "method": "spectrum"},
    ],
}

# Shell commands: how a stranger with a ticket tries them; None for those that ask no memory.
SHELL: dict[str, Callable[[Facts], Sequence[str]] | None] = {
    "write": lambda f: ("write", f"The {f.trigger} depot has a back door", "--scope", f.scope),
    "search": lambda f: ("search", f"{f.trigger} depot", "-k", "50"),
    "search-many": lambda f: ("search-many", f"{f.trigger} depot", f.trigger),
    "get": lambda f: ("get", f.memory_id),
    "update": lambda f: ("update", f.memory_id, "a text of my own"),
    "forget": lambda f: ("forget", f.memory_id),
    "history": lambda f: ("history", f.memory_id),
    "explain": lambda f: ("explain", f.memory_id),
    "promote": lambda f: ("promote", f.memory_id),
    "share": lambda f: ("share", f.scope, "--to", f"user:{f.names.other_user}"),
    "revoke": lambda f: ("revoke", f.scope, "--to", f"user:{f.names.other_user}"),
    "tenant list": lambda _: ("tenant", "list"),
    "why": lambda f: ("why", "read", f.memory_id),
    "pending list": lambda _: ("pending", "list"),
    "pending accept": lambda f: ("pending", "accept", f.memory_id),
    "pending reject": lambda f: ("pending", "reject", f.memory_id),
    "pending edit": lambda f: ("pending", "edit", f.memory_id, "a text of my own"),
    "audit sample": lambda _: ("audit", "sample", "--n", "50", "--seed", "0"),
    "audit judge": lambda f: ("audit", "judge", f.memory_id, "bad"),
    "audit report": lambda _: ("audit", "report"),
    "memory get": lambda f: ("memory", "get", f.memory_id),
    "memory history": lambda f: ("memory", "history", f.memory_id),
    "memory archive": lambda f: ("memory", "archive", f.memory_id),
    "memory restore": lambda f: ("memory", "restore", f.memory_id),
    "memory tiers": lambda f: ("memory", "tiers", f.memory_id),
    "project close": lambda f: ("project", "close", f.trigger),
    "export knowledge": lambda _: ("export", "knowledge"),
    "maintain": lambda _: ("maintain",),
    "reembed": lambda _: ("reembed", "--model", "hashed"),
    "calibrate": lambda _: ("calibrate",),
    "run list": lambda _: ("run", "list"),
    "run show": lambda f: ("run", "show", f.run_id),
    "outcome": lambda f: ("outcome", f.run_id, "-0.5"),
    "review": lambda f: ("review", f.run_id),
    "spent": lambda _: ("spent",),
    "attribute": lambda f: ("attribute", f.run_id),
    "policy explain": lambda f: ("policy", "explain", "read", f.memory_id),
    "policy who": lambda f: ("policy", "who", f.scope),
    "policy sees": lambda _: ("policy", "sees"),
    "policy show": lambda _: ("policy", "show"),
    "audit list": lambda _: ("audit", "list"),
    "audit verify": lambda _: ("audit", "verify"),
    "audit seal": lambda _: ("audit", "seal"),
    "privacy": lambda _: ("privacy", "--personal", "keep"),
    "erase": lambda f: ("erase", f.names.user, f.names.user),
    "ticket": lambda f: ("ticket", "--tenant", f.tenant, "--agent", f.names.agent),
}
