"""`hindsight-ray mcp`: serve the MCP door over stdio or over HTTP on the loopback address."""

from typing import Annotated

import typer

from hindsight_ray.entry.cli.options import Asked, command
from hindsight_ray.errors import InvalidSettings

PORT_DEFAULT = 8765


def add_to(app: typer.Typer) -> None:
    """Put the command of this module into the program."""
    command(
        app,
        "mcp",
        epilog="Examples: hindsight-ray mcp --stdio --tenant acme --agent planner --user alice;"
        " hindsight-ray mcp --http --port 8765",
    )(mcp)


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
