"""The table of verbs is the whole surface."""

from pathlib import Path

import pytest

from hindsight_ray.domain.commands import Command
from hindsight_ray.errors import AccessDenied
from tests.worlds import world


class _Unheard(Command):
    """No verb answers to this."""


@pytest.mark.covers("G5.verb")
async def test_a_command_outside_the_table_is_denied_even_to_the_operator(tmp_path: Path) -> None:
    async with world(tmp_path) as home:
        with pytest.raises(AccessDenied, match="no verb"):
            await home.ask(await home.operator(), _Unheard())
