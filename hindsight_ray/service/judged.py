"""Attribute by asking a model: what it may be shown, what it costs, and what its failure means.

A model is shown what the caller may read and nothing else. Its answer is opinion, kept nowhere; a
model that is absent, out of budget or not understood makes for an abstention that says so.
"""

from hindsight_ray.core.attribution.judging import (
    ASKED_MAX,
    Strategy,
    Verdict,
    judged,
    judging,
    why_no_question,
)
from hindsight_ray.domain.caller import Caller
from hindsight_ray.domain.commands import Attribute
from hindsight_ray.domain.credit import Attribution
from hindsight_ray.domain.event import MemoryRef
from hindsight_ray.domain.run import Trajectory
from hindsight_ray.errors import ModelFailed
from hindsight_ray.service import offered
from hindsight_ray.service.admit import admit
from hindsight_ray.service.asking import Asking, ask, prompt_for
from hindsight_ray.service.texts import readable_texts, shown
from hindsight_ray.service.trajectory import reviewable
from hindsight_ray.service.world import World

_TOLD_TOKENS = 12_000  # of a run, in one question


async def judge(world: World, caller: Caller, command: Attribute) -> Attribution:
    """A model's opinion of who decided a failure, or an abstention with its reason."""
    run, memories = await _seen(world, caller, command)
    reason = why_no_question(run, memories)
    if reason is None:
        verdict = await _verdict(world, run, memories, command.strategy)
        # What the answer is about must still be the caller's to read when it arrives.
        run, memories = await _seen(world, caller, command)
    else:
        verdict = Verdict(reason=reason)
    return judged(run, memories, command.strategy, verdict)


async def _seen(
    world: World, caller: Caller, command: Attribute
) -> tuple[Trajectory, dict[MemoryRef, str]]:
    async with world.ledger.reading() as unit:
        admitted = await admit(world, unit, caller)
        trajectory = await reviewable(unit, admitted, command.run_id)
        readable = await readable_texts(unit, admitted, trajectory.events)
        growth = await offered.showing_memories(unit, admitted, readable.memories, [trajectory.run])
    await offered.grow(world, admitted, [growth])
    return shown(trajectory, readable.texts), readable.texts


async def _verdict(
    world: World, run: Trajectory, memories: dict[MemoryRef, str], strategy: Strategy
) -> Verdict:
    remembered = list(dict.fromkeys(memories.values()))
    questions = judging(run, remembered, strategy, tokens=_TOLD_TOKENS)
    try:
        asked = next(questions)
        for _ in range(ASKED_MAX):
            prompt = prompt_for(world, asked.prompt)
            if prompt is None:
                return Verdict(reason="no model is set that could be asked")
            about = Asking(prompt, str(run.run.tenant), run_id=str(run.run.run_id))
            answer = await ask(world, about, asked.told, asked.shape)
            asked = questions.send(answer.value)
    except StopIteration as ended:
        return ended.value
    except ModelFailed as failed:
        why = failed.details.get("failure", "failed")
        return Verdict(reason=f"the model gave no usable answer ({why}): {failed.message}")
    return Verdict(reason=f"{ASKED_MAX} questions came to no verdict")
