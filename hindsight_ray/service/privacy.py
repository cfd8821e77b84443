"""What a tenant keeps of secrets and personal data: said by its administrator, else the settings.

A change takes the next policy revision, so that a process that meets that revision reads it anew.
"""

from hindsight_ray.core.admission import without_secrets
from hindsight_ray.core.cleaning import no_refused
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import SetPrivacy
from hindsight_ray.domain.draft import Draft
from hindsight_ray.domain.privacy import Privacy
from hindsight_ray.domain.scope import GLOBAL
from hindsight_ray.service.admit import admit
from hindsight_ray.service.noted import note_done
from hindsight_ray.service.world import World


async def privacy_of(world: World, tenant: str) -> Privacy:
    """The tenant's word, read once for each policy revision that this process has met."""
    known = world.privacies.fresh(tenant)
    if known is None:
        async with world.ledger.reading() as unit:
            stored = await unit.privacy.get(tenant)
        known = stored or _by_settings(world)
        world.privacies.keep(tenant, known)
    return known


def known_privacy(world: World, tenant: str) -> Privacy:
    """As it was read last: the door has read it before any verb began."""
    return world.privacies.last(tenant) or _by_settings(world)


def let_in(world: World, draft: Draft) -> tuple[Draft, int, Privacy]:
    """The draft as its tenant keeps it, how much was masked, and by what word of theirs."""
    privacy = known_privacy(world, draft.tenant)
    no_refused(privacy, "content", draft.content, *draft.steps)
    return (*without_secrets(draft, privacy), privacy)


async def set_privacy(world: World, caller: Caller, command: SetPrivacy) -> Privacy:
    """Change what is named and return what is in force. Needs `administer`."""
    async with world.ledger.writing() as unit:
        admitted = await admit(world, unit, caller)
        admitted.require("administer", GLOBAL)
        before = await unit.privacy.get(caller.tenant) or _by_settings(world)
        named = {"secrets": command.secrets, "personal": command.personal}
        revision = admitted.revision
        changes = {name: value for name, value in named.items() if value is not None}
        following = Privacy.model_validate(dict(before) | changes)
        if changes:
            await unit.privacy.put(caller.tenant, following)
            revision = await unit.policy.change((), (), admitted.now)
            await note_done(
                unit, admitted, verb="SetPrivacy", action="administer", scope=GLOBAL,
                name=f"secrets {following.secrets}, personal {following.personal}",
            )  # fmt: skip
    world.privacies.met(revision)
    world.privacies.keep(caller.tenant, following)
    return following


def _by_settings(world: World) -> Privacy:
    settings = world.settings
    return Privacy.model_validate(
        {"secrets": settings.redact_secrets, "personal": settings.redact_personal}
    )
