"""What `hindsight-ray mcp` does once asked for; apart, because the MCP library loads slowly."""

from datetime import UTC, datetime, timedelta

from hindsight_ray.client.hindsight import Hindsight
from hindsight_ray.domain.caller import Ticket
from hindsight_ray.entry import mcp_server
from hindsight_ray.entry.bearer import Asking, call_of
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import check_who, opened
from hindsight_ray.entry.cli.options import Asked
from hindsight_ray.entry.listening import http_server, listening
from hindsight_ray.entry.rate import Rates
from hindsight_ray.entry.while_there import serve_while_there
from hindsight_ray.errors import InvalidSettings

_TICKET_LIFETIME_S = 12 * 3600
_RENEW_BEFORE = timedelta(minutes=10)


async def over_stdio(asked: Asked) -> None:
    """Serve whoever started this process, as the caller that the command line named."""
    if asked.ticket is None and asked.agent is None and asked.user is None:
        raise InvalidSettings("`--stdio` needs `--agent` and/or `--user`, or `--ticket`")
    async with opened(asked) as hindsight:
        await check_who(hindsight, asked)
        fixed = FixedCaller(hindsight, asked)
        first = await fixed.asking()
        await hindsight.as_caller(first.token).whoami()  # refuse now, not at the first call
        rates = Rates.of(hindsight.settings)
        server = mcp_server.stdio_server(call_of(hindsight), fixed.asking, rates)
        await server.run_stdio_async()


async def over_http(asked: Asked, port: int) -> None:
    """Serve on the loopback address; whose a request is, its own ticket says."""
    if asked.agent is not None or asked.user is not None or asked.ticket is not None:
        raise InvalidSettings(
            "`--http` takes no caller, since each request brings its ticket; leave out"
            " `--agent`, `--user` and `--ticket`"
        )
    async with opened(asked) as hindsight, listening(port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_server.PATH}"
        app = mcp_server.http_app(call_of(hindsight), Rates.of(hindsight.settings))
        show.answer(asked.json, {"url": url}, show.plain(f"serving {url}"))
        await serve_while_there(http_server(app), listener, hindsight.gone)


class FixedCaller:
    """The one caller of a stdio server; its ticket is renewed before it runs out."""

    def __init__(self, hindsight: Hindsight, asked: Asked) -> None:
        self._hindsight = hindsight
        self._asked = asked
        self._ticket: Ticket | None = None

    async def asking(self) -> Asking:
        """Whose calls these are: always the same, with one allowance of searches."""
        if self._asked.ticket is not None:
            return Asking(self._asked.ticket, "stdio")
        ticket = self._ticket
        if ticket is None or datetime.now(UTC) > ticket.caller.expires_at - _RENEW_BEFORE:
            fields = self._asked.ticket_fields(lifetime_s=_TICKET_LIFETIME_S)
            ticket = self._ticket = await self._hindsight.issue_ticket(**fields)
        return Asking(ticket.token, "stdio")
