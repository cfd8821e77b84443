"""Whose a request over HTTP is: the ticket that it carries itself says so, and nothing else.

There are no sessions and no cookies, so nothing of an earlier request can lend its rights to a
later one, and no page in a browser can send a request that somebody's ticket goes along with.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain import commands as c
from hindsight_ray.domain.caller import Caller
from hindsight_ray.errors import HindsightError, InvalidTicket, RateLimited

_ASKING = "hindsight.asking"  # where the ticket's holder waits in a request's scope
AT_ONCE_MAX = 64  # requests of one ticket: the connections of a door are everybody's
MISSING = "this needs `Authorization: Bearer <ticket>`"

Call = Callable[[str, c.Command], Awaitable[Any]]  # token and command to answer


def call_of(hindsight: Hindsight) -> Call:
    """How a door asks this memory: each call as whoever holds its token."""
    return lambda token, command: hindsight.as_caller(token).ask(command)


@dataclass(frozen=True, slots=True)
class Asking:
    """Whose call this is: the token to ask with, and the ticket that its calls count for."""

    token: str
    ticket_id: str


class BearerTicket:
    """Lets a POST through only with a ticket that is good now, and says whose it is.

    What `is_open` names needs no ticket: it tells nothing about any memory.
    """

    def __init__(
        self, app: ASGIApp, call: Call, is_open: Callable[[Scope], bool] = lambda _: False
    ) -> None:
        self._app = app
        self._call = call
        self._is_open = is_open
        self._in_hand: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope):
            await self._app(scope, receive, send)
            return
        try:
            token = bearer(Headers(scope=scope).getlist("authorization"))
            caller: Caller = await self._call(token, c.WhoAmI())
        except InvalidTicket:
            told = {"error": "InvalidTicket", "message": MISSING}
            asked = {"WWW-Authenticate": "Bearer"}
            await JSONResponse(told, status_code=401, headers=asked)(scope, receive, send)
        except HindsightError as error:
            told = {"error": type(error).__name__, "message": error.message}
            await JSONResponse(told, status_code=503)(scope, receive, send)
        else:
            scope[_ASKING] = Asking(token, caller.ticket_id)
            await self._served(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._in_turn(scope, receive, send)
            return
        # Without sessions there is nothing to listen to and nothing to end.
        told = {"error": "MethodNotAllowed", "message": "send requests by POST"}
        await JSONResponse(told, status_code=405, headers={"Allow": "POST"})(scope, receive, send)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        ticket = asking_of(scope).ticket_id
        if self._in_hand[ticket] >= AT_ONCE_MAX:
            message = f"one ticket has at most {AT_ONCE_MAX} requests at once; wait for their end"
            told = {"error": RateLimited.__name__, "message": message}
            answer = JSONResponse(told, status_code=429, headers={"Retry-After": "1"})
            await answer(scope, receive, send)
            return
        self._in_hand[ticket] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_hand[ticket] -= 1
            if not self._in_hand[ticket]:
                del self._in_hand[ticket]


def asking_of(scope: Scope) -> Asking:
    """Whose request this is. Raises `InvalidTicket` where no ticket was looked at."""
    asking = scope.get(_ASKING)
    if not isinstance(asking, Asking):
        raise InvalidTicket(f"`ticket` is missing; {MISSING}")
    return asking


def bearer(authorizations: list[str]) -> str:
    """The token of exactly one `Bearer` header. Raises `InvalidTicket` otherwise."""
    if len(authorizations) == 1:
        scheme, _, token = authorizations[0].strip().partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
    raise InvalidTicket(f"`ticket` is missing; {MISSING}")
