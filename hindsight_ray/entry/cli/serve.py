"""`hindsight-ray mcp` and `serve`: the MCP door over stdio or HTTP, and the HTTP door."""

from typing import Annotated

import typer

from hindsight_ray.entry.cli.options import SERVING, Asked, command
from hindsight_ray.errors import InvalidSettings

PORT_DEFAULT = 8765
HTTP_PORT_DEFAULT = 8766


def add_to(app: typer.Typer) -> None:
    """Put the command of this module into the program."""
    command(
        app,
        "mcp",
        panel=SERVING,
        begins=True,
        epilog="Examples: hindsight-ray mcp --stdio --tenant acme --agent planner --user alice;"
        " hindsight-ray mcp --http --port 8765",
    )(mcp)
    command(
        app,
        "serve",
        panel=SERVING,
        caller=False,
        begins=True,
        epilog="Example: hindsight-ray serve --port 8766; then POST /v1/search with"
        " `Authorization: Bearer <ticket>`. /openapi.json describes every verb.",
    )(serve)


async def mcp(
    asked: Asked,
    *,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Serve whoever started this, as the named caller.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve on loopback; each request brings its ticket.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="For `--http`; 0 takes a free one.")
    ] = PORT_DEFAULT,
) -> None:
    """Serve the memory over the Model Context Protocol."""
    from hindsight_ray.entry.cli import serving  # noqa: PLC0415 - loads slowly, needed only here

    if stdio == http:
        raise InvalidSettings("name one transport: `--stdio` or `--http`")
    if stdio:
        await serving.over_stdio(asked)
    else:
        await serving.over_http(asked, port)


async def serve(
    asked: Asked,
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="On 127.0.0.1; 0 takes a free one.")
    ] = HTTP_PORT_DEFAULT,
) -> None:
    """Serve every verb over HTTP on the loopback address; each request brings its ticket."""
    from hindsight_ray.entry.cli import serving_http  # noqa: PLC0415 - loads slowly, needed only here

    await serving_http.serve(asked, port)
