"""The settings of a home: what each is for, what it is now, and how one is chosen."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import typer
from rich.text import Text

from hindsight_ray.domain.settings import Settings
from hindsight_ray.entry.cli import show
from hindsight_ray.entry.cli.options import START, Asked, command
from hindsight_ray.entry.cli.places import check_home
from hindsight_ray.errors import InvalidSettings
from hindsight_ray.settings import build_settings, keep_settings, load_settings

Chosen = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME[=VALUE]",
        help="Show this one, or choose; an empty value is the default again.",
    ),
]
# What a home holds follows from these, so they change with it.
_ELSEWHERE = {
    "embedding": "`reembed --model` changes the model of a home",
    "embedding_dimension": "`reembed --model` changes the model of a home",
    "policy": "a home began with it; `policy load` replaces what is in force",
    "ledger": "`backup`, then `restore --config` into a new home",
}


def add_to(app: typer.Typer) -> None:
    """Put the command of this module into the program."""
    epilog = "Example: hindsight-ray --home ./memory settings chat_strong=openai/gpt-5 brokers=4"
    command(app, "settings", caller=False, epilog=epilog, panel=START)(settings)


async def settings(asked: Asked, chosen: Chosen = None) -> None:
    """Show the settings of a home, or choose some: for whatever opens it from then on."""
    if asked.address is not None:
        raise InvalidSettings(
            "settings are a home's: name it by `--home`; a deployment takes them at its next `up`",
            field="address",
        )
    check_home(asked)
    now = load_settings(asked.folder)
    said = [one.partition("=") for one in chosen or ()]
    choices = {name: value for name, sign, value in said if sign}
    names = [name for name, _, _ in said] or list(Settings.model_fields)
    following = _with(now, choices, names)
    if choices:
        keep_settings(asked.folder, following)
    document = following.model_dump(mode="json")
    table = show.table("setting", "now…", "what it is for…")
    for name in names:
        field = Settings.model_fields[name]
        style = "" if getattr(following, name) == field.default else "bold"
        table.add_row(name, Text(_said(document[name]), style), Text(_purpose(name)))
    show.answer(asked.json, {name: document[name] for name in names}, table)


def _with(before: Settings, choices: Mapping[str, str], names: Iterable[str]) -> Settings:
    """The settings with these choices. Raises `InvalidSettings` naming the one that is wrong."""
    build_settings({name: None for name in names if name not in Settings.model_fields})
    fields: dict[str, Any] = before.model_dump(exclude_defaults=True)
    for name, value in choices.items():
        if name in _ELSEWHERE:
            raise InvalidSettings(f"`{name}` is not chosen here: {_ELSEWHERE[name]}", setting=name)
        fields.pop(name, None)
        if value:
            fields[name] = _value(name, value)
    return build_settings(fields)


def _value(name: str, said: str) -> object:
    several = get_origin(Settings.model_fields[name].annotation) is tuple
    return tuple(one.strip() for one in said.split(",")) if several else said


def _purpose(name: str) -> str:
    field = Settings.model_fields[name]
    told = field.description or ""
    if get_origin(field.annotation) is Literal:
        told += f": {', '.join(map(str, get_args(field.annotation)))}"
    return told


def _said(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    return "" if value is None else str(value)
