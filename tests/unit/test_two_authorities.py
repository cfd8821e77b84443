"""Two processes that both change the policy of one home, and a third that reads meanwhile."""

import asyncio
from pathlib import Path

import pytest

from hindsight_ray.domain.commands import Revoke, Search, Share, Write
from tests.worlds import Staged, world


@pytest.mark.covers("G2.processes", "G2.authorities")
async def test_two_authorities_take_turns_and_each_revoke_binds_the_other(tmp_path: Path) -> None:
    async with (
        world(tmp_path) as first,
        world(tmp_path, policy=None, clock=first.clock) as second,
        world(tmp_path, policy=None, clock=first.clock) as third,
    ):
        homes = (first, second)
        alice = await first.ticket(user="alice")
        await first.ask(alice, Write(command_id="w", content="The ferry leaves at nine"))
        readers = [await first.ticket(agent=f"r{number}") for number in range(6)]
        grants = await asyncio.gather(
            *(_grant(homes[n % 2], alice, Share, n) for n in range(len(readers)))
        )
        assert len(set(grants)) == len(grants)
        assert [await _sees(third, reader) for reader in readers] == [1] * 6
        revoked = await asyncio.gather(
            *(_grant(homes[(n + 1) % 2], alice, Revoke, n) for n in range(len(readers)))
        )
        assert len({*revoked, *grants}) == 12  # each is a revision of its own
        for home in (third, *homes):
            assert [await _sees(home, reader) for reader in readers] == [0] * 6


async def _grant(home: Staged, token: str, kind: type, number: int) -> int:
    fields = {
        "command_id": f"{kind.__name__}{number}",
        "scope": "user:alice",
        "to": f"agent:r{number}",
    }
    return (await home.ask(token, kind.model_validate(fields))).revision  # type: ignore[attr-defined]


async def _sees(home: Staged, token: str) -> int:
    return len((await home.ask(token, Search(query="ferry"))).hits)  # type: ignore[attr-defined]
