"""The two layers that live with the recorder, as the ledger keeps them."""

from collections.abc import Sequence
from typing import Protocol

from hindsight_ray.domain.run import WorkingState


class LayerLog(Protocol):
    """Working state (per run and agent) and the short-term window (per session)."""

    async def working(self, tenant: str, run_id: str, agent: str) -> WorkingState | None: ...

    async def set_working(
        self, tenant: str, run_id: str, agent: str, state: WorkingState
    ) -> None: ...

    async def drop_working(self, tenant: str, run_id: str) -> None: ...

    async def window(self, tenant: str, principal: str, session: str) -> Sequence[str]:
        """Lines of the session's window, oldest first."""
        ...

    async def add_to_window(
        self, tenant: str, principal: str, session: str, line: str, *, keep: int
    ) -> None:
        """Add a line and drop the oldest beyond `keep`."""
        ...

    async def fold_window(
        self, tenant: str, principal: str, session: str, lines: Sequence[str], summary: str
    ) -> bool:
        """Put `summary` in place of the oldest lines, if those are still exactly `lines`."""
        ...
