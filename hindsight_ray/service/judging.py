"""Ask a judge about statements that rules cannot tell apart or together: outside any transaction.

A transaction that finds such a pair is left with nothing done; the judge is asked, however long it
takes, and the transaction begins anew with its word. Opinions hold for one revision of the kept
statement: what was edited, or came, meanwhile is among the nearest then and is asked about in the
next round. So a slow judge blocks nobody, and no edit is lost. After the last round: `Busy`.

A pair is shown to a model only after the writer was admitted and may read both of its statements.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from hindsight_ray.core.opinion import Key, Opinion, Opinions, Pair
from hindsight_ray.core.shapes import JudgeAnswer
from hindsight_ray.core.telling import pairs_told
from hindsight_ray.core.tokens import tokens_at_most
from hindsight_ray.errors import Busy, ModelFailed
from hindsight_ray.service.asking import Asking, ask, prompt_for, system_of
from hindsight_ray.service.world import World

R = TypeVar("R")
_REPEATED_TOKENS = 300  # room for being asked again


@dataclass(frozen=True, slots=True)
class Undecided:
    """Pairs that a judge should be asked about before anything is changed."""

    tenant: str
    pairs: tuple[Pair, ...]


def has_judge(world: World) -> bool:
    """Whether there is a model to ask; without one, rules decide alone."""
    return prompt_for(world, "judge") is not None


async def judged(world: World, attempt: Callable[[Opinions], Awaitable[R | Undecided]]) -> R:
    """The result of `attempt`, with every opinion that it turned out to need.

    Raises `Busy` if new pairs kept coming for `write_rounds_max` rounds.
    """
    opinions = Opinions()
    for _ in range(world.settings.write_rounds_max):
        done = await attempt(opinions)
        if not isinstance(done, Undecided):
            return done
        opinions = opinions.plus(await _opinions(world, done))
    raise Busy(
        "`scope` kept changing while a judge compared the statement; send the same command again",
        rounds=world.settings.write_rounds_max,
    )


async def _opinions(world: World, undecided: Undecided) -> Mapping[Key, Opinion]:
    """One question for all pairs. Whatever it does not answer, rules decide."""
    prompt = prompt_for(world, "judge")
    assert prompt is not None  # noqa: S101 - nobody is undecided without one
    room = world.settings.prompt_tokens_max - tokens_at_most(system_of(prompt)) - _REPEATED_TOKENS
    told, asked = pairs_told(undecided.pairs, tokens=room)
    unasked = Opinion("different", failed="the judge said nothing of it", by=prompt.mark)
    found: dict[Key, Opinion] = {pair.key: unasked for pair in undecided.pairs}
    try:
        answer = await ask(world, Asking(prompt, undecided.tenant), told, JudgeAnswer)
    except ModelFailed as failed:
        why = f"the judge failed ({failed.details.get('failure')}), so rules decided"
        return {name: Opinion("different", failed=why, by=prompt.mark) for name in found}
    names = {f"p{n}": pair.key for n, pair in enumerate(asked, 1)}
    for said in answer.value.pairs:
        called = said.pair.strip().casefold()
        name = names.get(called) or names.get(f"p{called}")
        if name is not None:
            found[name] = Opinion(said.relation, said.contradicted, said.reason, by=prompt.mark)
    return found
