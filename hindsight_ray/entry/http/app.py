"""The HTTP application: one route for every verb, one that tells what there is, one for health."""

import asyncio
import logging
import time
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from hindsight_ray.domain.faults import shown
from hindsight_ray.entry.bearer import BearerTicket, Call, asking_of
from hindsight_ray.entry.http import answers
from hindsight_ray.entry.http.described import described
from hindsight_ray.entry.listening import REQUEST_BYTES_MAX
from hindsight_ray.entry.rate import Paces, Rates
from hindsight_ray.errors import HindsightError, NotFound

_log = logging.getLogger(__name__)
_BODY_WITHIN_S = 30.0
_WHERE = "`/openapi.json` lists them, such as `POST /v1/search`"
_OPEN = ("/health", "/openapi.json")


@dataclass(frozen=True, slots=True)
class _Door:
    """How the verbs are asked, and how often one ticket may."""

    call: Call
    paces: Paces

    async def verb(self, request: Request) -> Response:
        """`POST /v1/<verb>`: one command of whoever holds the request's ticket."""
        try:
            asking = asking_of(request.scope)
            kind = answers.kind_of(request.path_params["verb"])
            self.paces.take(asking.ticket_id, kind, time.monotonic())
            key = request.headers.get("idempotency-key")
            command = answers.command_of(kind, await _body(request), key)
            self.paces.take_rest(asking.ticket_id, command, time.monotonic())
            return _response(answers.answered(await self.call(asking.token, command)))
        except HindsightError as error:
            return _response(answers.refused(error))
        except HTTPException:
            raise
        except Exception:  # noqa: BLE001 - the outermost place: a fault is an answer too
            _log.exception("a request to %s failed", request.url.path)
            return _response(answers.faulty())


def http_app(call: Call, rates: Rates) -> Starlette:
    """The application, for loopback. Knows no caller but those of tickets."""
    door = _Door(call, Paces(rates))
    return Starlette(
        routes=[
            Route("/v1/{verb}", door.verb, methods=["POST"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
            Route("/health", _health, methods=["GET"]),
        ],
        middleware=[
            # A page elsewhere whose name is made to lead here asks with that name as its host.
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(BearerTicket, call=call, is_open=_is_open),
        ],
        exception_handlers={HTTPException: _told},
    )


def _is_open(scope: Scope) -> bool:
    return scope["path"] in _OPEN


async def _body(request: Request) -> bytes:
    """The body, as far as one may be long and may take; 413, 408 and 415 otherwise."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send `Content-Type: application/json`")
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(_BODY_WITHIN_S):
            async for part in request.stream():
                length += len(part)
                if length > REQUEST_BYTES_MAX:
                    raise HTTPException(413, f"a body has at most {REQUEST_BYTES_MAX} bytes")
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, f"a body has {_BODY_WITHIN_S:g} s to arrive") from None
    return b"".join(parts)


def _response(answer: answers.Answer) -> Response:
    headers = {"Cache-Control": "no-store", **answer.headers}
    return Response(answer.body, answer.status, headers=headers, media_type="application/json")


async def _told(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        lost = NotFound(f"{shown(request.url.path)} is no path here; {_WHERE}", kind="path")
        return _response(answers.refused(lost))
    message = error.detail if isinstance(error, HTTPException) else "a fault of ours"
    return JSONResponse({"error": "InvalidRequest", "message": message}, status_code=status)


async def _openapi(_request: Request) -> Response:
    return JSONResponse(described())


async def _health(_request: Request) -> Response:
    """That this process answers; whether the memory does, any verb tells."""
    return JSONResponse({"status": "ok"})
