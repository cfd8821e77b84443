"""What `hindsight-ray serve` does once asked for; apart, because web libraries load slowly."""

from hindsight_ray.entry.bearer import call_of
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.asking import opened
from hindsight_ray.entry.cli.options import Asked
from hindsight_ray.entry.http.app import http_app
from hindsight_ray.entry.listening import http_server, listening
from hindsight_ray.entry.rate import Rates
from hindsight_ray.entry.while_there import serve_while_there


async def serve(asked: Asked, port: int) -> None:
    """Serve on the loopback address until interrupted; whose a request is, its ticket says."""
    async with opened(asked) as hindsight, listening(port) as listener:
        app = http_app(call_of(hindsight), Rates.of(hindsight.settings))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        show.answer(asked.json, {"url": url}, show.plain(f"serving {url}; see {url}/openapi.json"))
        await serve_while_there(http_server(app), listener, hindsight.gone)
