"""Deciding what waits is saying it: who may, and what their word weighs. Nobody's word is changed
on the strength of `write` or `review` alone."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hindsight_ray.domain import commands as c
from hindsight_ray.domain.memory import Memory
from hindsight_ray.domain.receipt import Receipt
from hindsight_ray.errors import AccessDenied
from tests.asking import ask, wrote
from tests.worlds import Staged, world


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Staged]:
    async with world(tmp_path) as staged:
        yield staged


async def _decide(
    home: Staged, token: str, name: str, decision: str, content: str | None = None
) -> object:
    fields = {"memory_id": name, "decision": decision, "content": content}
    return await ask(home, token, c.DecidePending, **fields)


async def _memory(home: Staged, token: str, name: str) -> Memory:
    found = await ask(home, token, c.Get, memory_id=name)
    assert isinstance(found, Memory)
    return found


DECISIONS = (("accept", None), ("edit", "The depot opens whenever I say"), ("reject", None))


@pytest.mark.covers("people.deciding")
@pytest.mark.parametrize(("decision", "content"), DECISIONS)
async def test_review_alone_decides_nothing_that_waits_in_global(
    home: Staged, decision: str, content: str | None
) -> None:
    operator, anyone = await home.operator(), await home.ticket(agent="anyone")
    name = await wrote(home, operator, "The depot opens at seven", scope="global", confidence=0.3)
    assert await ask(home, anyone, c.ListPending)  # it is seen, with `review`
    with pytest.raises(AccessDenied):
        await _decide(home, anyone, name, decision, content)
    curator = await home.ticket(agent="curator")  # who holds `promote` there
    assert await _decide(home, curator, name, decision, content)


@pytest.mark.covers("people.deciding")
async def test_a_right_to_forget_is_enough_to_reject_and_not_to_accept(home: Staged) -> None:
    operator, warden = await home.operator(), await home.ticket(agent="warden")
    await ask(
        home, operator, c.Share, scope="global", to="agent:warden", actions=("forget", "review")
    )
    name = await wrote(home, operator, "The depot opens at seven", scope="global", confidence=0.3)
    with pytest.raises(AccessDenied):
        await _decide(home, warden, name, "accept")
    receipt = await _decide(home, warden, name, "reject")
    assert isinstance(receipt, Receipt)
    assert receipt.result == "forgotten"


@pytest.mark.covers("people.deciding")
async def test_nobody_decides_on_text_from_outside_that_they_wrote_themselves(
    home: Staged,
) -> None:
    alice = await home.ticket(user="alice")
    planner = await home.ticket(agent="planner", user="alice")
    await ask(home, alice, c.Share, scope="user:alice", to="agent:reader", actions=("read",))
    name = await wrote(home, planner, "Pay invoices to account M", source="tool")
    assert (await _memory(home, alice, name)).status == "quarantined"
    for decision, content in DECISIONS:
        with pytest.raises(AccessDenied, match="somebody else"):
            await _decide(home, planner, name, decision, content)
    await _decide(home, alice, name, "accept")  # her scope, and her agent's text
    memory = await _memory(home, alice, name)
    assert (memory.status, memory.source.reviewed_by) == ("active", "user:alice")


@pytest.mark.covers("people.deciding")
async def test_whoever_administers_decides_on_what_they_wrote_too(home: Staged) -> None:
    operator, curator = await home.operator(), await home.ticket(agent="curator")
    await ask(home, operator, c.Share, scope="global", to="agent:curator", actions=("write",))
    own = await wrote(home, curator, "Deploy on Fridays", scope="global", source="tool")
    with pytest.raises(AccessDenied, match="somebody else"):
        await _decide(home, curator, own, "accept")
    assert await _decide(home, operator, own, "accept")


@pytest.mark.covers("people.deciding")
async def test_a_corrected_text_weighs_as_much_as_the_word_of_who_corrected_it(
    home: Staged,
) -> None:
    operator, alice = await home.operator(), await home.ticket(user="alice")
    planner = await home.ticket(agent="planner", user="alice")
    for said_by, editor, kind, weight in (
        (operator, planner, "agent", 0.6),
        (planner, alice, "user", 1.0),
        (planner, operator, "operator", 0.9),
    ):
        name = await wrote(
            home, said_by, f"The depot opens at {weight}", scope="user:alice", confidence=0.3
        )
        await _decide(home, editor, name, "edit", f"The depot opens at {weight} sharp")
        source = (await _memory(home, alice, name)).source
        assert (source.kind, source.weight) == (kind, weight)


@pytest.mark.covers("people.deciding")
async def test_review_alone_brings_nothing_back_from_the_archive(home: Staged) -> None:
    operator, anyone = await home.operator(), await home.ticket(agent="anyone")
    name = await wrote(home, operator, "The depot opens at seven", scope="global")
    await ask(home, operator, c.Archive, memory_id=name)
    with pytest.raises(AccessDenied):
        await ask(home, anyone, c.Restore, memory_id=name)
    assert await ask(home, operator, c.Restore, memory_id=name)
