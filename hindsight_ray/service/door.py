"""The one way in for every verb: verify the ticket, run the verb, write down what was refused.

`VERBS` is the whole surface: a command that is not in it is denied. Embedded homes call this
directly; on Ray a broker calls it; HTTP, MCP and the command line come through one of the two.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from hindsight_ray.core.cleaning import clean_error, cleaned
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.rows import AuditEntry
from hindsight_ray.errors import AccessDenied, HindsightError, InvalidTicket, NotFound
from hindsight_ray.ports.watching import Seen
from hindsight_ray.service import (
    archive,
    attribute,
    audit,
    credit,
    erase,
    explain,
    forget,
    get,
    history,
    knowledge,
    layers,
    load_logs,
    maintain,
    operate,
    outcome,
    overview,
    pending,
    privacy,
    promote,
    record,
    reembed,
    review,
    review_retry,
    runs,
    samples,
    search,
    share,
    spending,
    strangers,
    tenants,
    update,
    whoami,
    why,
    write,
)
from hindsight_ray.service.world import World

Verb = Callable[[World, Caller, Any], Awaitable[Any]]

VERBS: dict[type[c.Command], Verb] = {
    c.StartRun: runs.start,
    c.JoinRun: runs.join,
    c.CloseRun: runs.close,
    c.ReadRun: runs.read,
    c.ListRuns: runs.listed,
    c.RecordEvents: record.record,
    c.AssertOutcome: outcome.outcome,
    c.SetWorking: layers.set_working,
    c.GetWorking: layers.get_working,
    c.Note: layers.note,
    c.Window: layers.window,
    c.Write: write.write,
    c.Search: search.search,
    c.SearchMany: search.search_many,
    c.Get: get.get,
    c.History: history.history,
    c.Update: update.update,
    c.Forget: forget.forget,
    c.Promote: promote.promote,
    c.Share: share.share,
    c.Revoke: share.revoke,
    c.ReviewRun: review.review,
    c.RetryReviews: review_retry.retry,
    c.ReadSpending: spending.spending,
    c.Attribute: attribute.attribute,
    c.ReadForReplay: credit.read_for_replay,
    c.SubmitCredits: credit.submit,
    c.ReadCredits: credit.listed,
    c.Explain: explain.explain,
    c.Why: why.why,
    c.WhoSees: overview.who_sees,
    c.Sees: overview.sees,
    c.WhoAmI: whoami.whoami,
    c.IssueTicket: operate.issue_ticket,
    c.RevokeTicket: operate.revoke_ticket,
    c.DropTenant: tenants.drop_tenant,
    c.ListTenants: tenants.listed,
    c.LoadPolicy: operate.load_policy,
    c.ReadPolicy: operate.read_policy,
    c.ImportRuns: load_logs.load_logs,
    c.SetPrivacy: privacy.set_privacy,
    c.Erase: erase.erase,
    c.ReadAudit: audit.audit,
    c.ReadSeal: audit.seal,
    c.VerifyAudit: audit.verify,
    c.ListPending: pending.listed,
    c.DecidePending: pending.decide,
    c.DrawSample: samples.draw,
    c.JudgeSample: samples.judge,
    c.ReadSamples: samples.report,
    c.Maintain: maintain.maintain,
    c.ReadTiers: archive.tiers,
    c.Archive: archive.archive,
    c.Restore: archive.restore,
    c.CloseProject: archive.close_project,
    c.Reembed: reembed.reembed,
    c.Calibrate: reembed.calibrate,
    c.ExportKnowledge: knowledge.export,
}


async def call(world: World, token: str, command: c.Command) -> Any:
    """Answer one command of whoever holds `token`. Raises the errors of its verb."""
    if world.watch is None:
        return await _answer(world, token, command, Seen(""))
    with world.watch.request(type(command).__name__) as seen:
        try:
            answer = await _answer(world, token, command, seen)
        finally:
            seen.decided_at = world.privacies.revision
        seen.revision = getattr(answer, "revision", None)
        seen.degraded = tuple(map(str, getattr(answer, "degraded", ())))
        return answer


async def _answer(world: World, token: str, command: c.Command, seen: Seen) -> Any:
    try:
        caller = await world.tickets.verify(token, world.clock.now())
    except InvalidTicket:
        await strangers.note(world, type(command).__name__, world.tickets.vouched_for(token))
        raise
    seen.tenant = caller.tenant
    verb = VERBS.get(type(command))
    if verb is None:
        raise AccessDenied(f"`{type(command).__name__}` is no verb of this memory")
    kept = await privacy.privacy_of(world, caller.tenant)
    try:
        return await _carried_out(world, caller, verb, cleaned(command, kept))
    except HindsightError as error:
        told = clean_error(error, kept)
        if told is error:
            raise
        raise told from None


async def _carried_out(world: World, caller: Caller, verb: Verb, command: c.Command) -> Any:
    try:
        return await verb(world, caller, command)
    except InvalidTicket:  # revoked, or of a tenant that nobody knows
        await strangers.note(world, type(command).__name__, caller)
        raise
    except (AccessDenied, NotFound) as refusal:
        await _note_refusal(world, caller, command, refusal)
        raise


async def _note_refusal(
    world: World, caller: Caller, command: c.Command, refusal: HindsightError
) -> None:
    """Absent and forbidden leave the same entry."""
    entry = AuditEntry(
        tenant=caller.tenant,
        at=world.clock.now(),
        principal=caller.principal,
        verb=type(command).__name__,
        object=str(refusal.details.get("object", refusal.details.get("id", ""))),
        effect="deny",
        rule="",
        revision=int(refusal.details.get("revision", 0)),
    )
    async with world.ledger.writing() as unit:
        await unit.audit.append(entry)
