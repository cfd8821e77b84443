"""The client itself: a memory that is open, its tickets, and what callers get of it."""

import weakref
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hindsight_ray.client import leaving
from hindsight_ray.client.calls import Calls
from hindsight_ray.client.lists import listed_or_none
from hindsight_ray.client.loop import LoopThread
from hindsight_ray.client.made import made
from hindsight_ray.client.memory import Memory
from hindsight_ray.client.opening import Opening
from hindsight_ray.client.run import RunRecorder
from hindsight_ray.client.transport import Connection, OperatorToken
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.access import Action
from hindsight_ray.domain.caller import Caller, Ticket, TicketRequest
from hindsight_ray.domain.receipt import TenantDropped, Tenants
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import HindsightError, InvalidInput, Unavailable

if TYPE_CHECKING:
    from concurrent.futures import Future

LIFETIME_S = 12 * 3600
OPERATOR = "operator"  # also the tenant that its ticket names where it is about none


class Hindsight:
    """An open memory, embedded or on Ray. Use it from any loop or thread; close it once."""

    def __init__(self, connection: Connection, loop: LoopThread) -> None:
        self._connection = connection
        self._loop = loop
        self._open_runs: weakref.WeakSet[RunRecorder] = weakref.WeakSet()
        self._closed = False

    @property
    def settings(self) -> Settings:
        return self._connection.settings

    @property
    def gone(self) -> "Future[None] | None":
        """Done once the deployment has ended and this client has parted; None if embedded."""
        return self._connection.gone

    @property
    def closed(self) -> bool:
        return self._closed

    def as_caller(self, ticket: Ticket | str) -> Memory:
        """The memory for whoever this ticket, or its token alone, names."""
        token = ticket.token if isinstance(ticket, Ticket) else ticket
        if not isinstance(token, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers have no checker
            raise InvalidInput(
                f"`ticket` must be a ticket or its text, not {type(token).__name__}", field="ticket"
            )

        async def given() -> str:
            return token

        known = ticket.caller if isinstance(ticket, Ticket) else None
        return self._memory(given, known)

    def operator(self, tenant: str, *, begin: bool = True) -> Memory:
        """The memory as `agent:operator` of a tenant; needs the operator's key.

        The tenant begins with the first call, unless `begin` is false: so the audit of one that
        was dropped is read.
        """
        sign = self._operator_key()
        made(TicketRequest, {"tenant": tenant, "agent": OPERATOR})  # refuse the name at once
        if not isinstance(begin, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput("`begin` must be true or false", field="begin")

        async def signed() -> str:
            return await sign(tenant, begin=begin)

        return self._memory(signed, None)

    async def issue_ticket(
        self,
        *,
        tenant: str,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        lifetime_s: int = LIFETIME_S,
        scopes: Iterable[str] | None = None,
        actions: Iterable[Action] | None = None,
    ) -> Ticket:
        """Make a ticket naming an agent and/or a user. `scopes` and `actions` only narrow."""
        fields: dict[str, Any] = {
            "tenant": tenant,
            "agent": agent,
            "user": user,
            "session": session,
            "lifetime_s": lifetime_s,
            "scopes": listed_or_none(scopes, "scopes"),
            "actions": listed_or_none(actions, "actions"),
        }
        request = made(TicketRequest, fields)
        return await self.operator(request.tenant).ask(c.IssueTicket(request=request))

    async def tenants(self) -> tuple[str, ...]:
        """The tenants there are; needs the operator's key. Asking begins none."""
        return (await self._tenants()).names

    async def dropped_tenants(self) -> tuple[str, ...]:
        """Those that were dropped and have not begun anew: their audit stays."""
        return (await self._tenants()).dropped

    async def _tenants(self) -> Tenants:
        token = await self._operator_key()(OPERATOR, begin=False)
        return await self.as_caller(token).ask(c.ListTenants())

    async def drop_tenant(self, tenant: str) -> TenantDropped:
        """Delete a tenant with everything in it. One of the same name begins empty."""
        return await self.operator(tenant).ask(made(c.DropTenant, {"tenant": tenant}))

    async def close(self) -> None:
        """Ship what open runs have buffered, then let go of the memory.

        Raises `Unavailable` if events had to be left behind; none of them was acknowledged.
        """
        if self._closed:
            return
        self._closed = True
        try:
            await self._loop.run(self._close())
        finally:
            self._loop.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _operator_key(self) -> OperatorToken:
        sign = self._connection.operator_token
        if sign is None:
            raise Unavailable(
                "`operator` needs the operator's key, which this process does not hold;"
                " ask its holder for a ticket"
            )
        return sign

    def _memory(self, token: Callable[[], Awaitable[str]], known: Caller | None) -> Memory:
        calls = Calls(self._connection, self._loop, token)

        async def caller() -> Caller:
            return known if known is not None else await calls.ask(c.WhoAmI())

        return Memory(calls, caller, self._opened)

    def _opened(self, run: RunRecorder) -> None:
        self._open_runs.add(run)
        leaving.watch(run)

    async def _close(self) -> None:
        left: list[str] = []
        for run in tuple(self._open_runs):
            try:
                await run.abandon()
            except HindsightError as error:
                left.append(f"{run.unshipped} of run {run.id} ({error.message})")
        await self._connection.transport.close()
        if left:
            raise Unavailable(f"`client` was closed with events not shipped: {'; '.join(left)}")


def opening(connect: Callable[[LoopThread], Awaitable[Connection]]) -> Opening[Hindsight]:
    """A client that `connect` gives its connection: `await` it, or `async with` it."""

    async def make() -> Hindsight:
        loop = LoopThread()
        try:
            return Hindsight(await connect(loop), loop)
        except BaseException:
            loop.stop()
            raise

    return Opening(make)
