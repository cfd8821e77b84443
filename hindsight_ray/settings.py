"""Where settings come from: `settings.json` of a home, overridden by what the caller gave.

Apart from `domain/settings.py`, which says what there is to set, because only this side reads
files. Nothing is read at import.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from hindsight_ray.adapters.home import SETTINGS_FILE
from hindsight_ray.adapters.whole_files import replace_file
from hindsight_ray.adapters.yaml_files import read_yaml
from hindsight_ray.domain.faults import told
from hindsight_ray.domain.settings import Settings
from hindsight_ray.errors import HindsightError, InvalidSettings


def load_settings(home: Path, overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the settings in force for `home`. Raises `InvalidSettings` naming the setting.

    `None` among the overrides means not given.
    """
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    return build_settings({**_kept(home), **given})


def build_settings(fields: Mapping[str, object]) -> Settings:
    """Return `Settings(**fields)`, or raise `InvalidSettings` naming the first that is wrong."""
    try:
        return Settings.model_validate(dict(fields))
    except ValidationError as error:
        fault = told(error)
        name = str(fault.details["field"])
        known = "" if name in Settings.model_fields else f"; settings are {_known()}"
        raise InvalidSettings(f"{fault.message}{known}", setting=name) from None
    except HindsightError as error:
        raise InvalidSettings(error.message, **error.details) from None


def read_config(path: Path) -> dict[str, object]:
    """The settings that a YAML file names, secrets not among them. Raises `InvalidSettings`."""
    try:
        fields = read_yaml(path)
    except ValueError as error:
        raise InvalidSettings(f"`--config` {path}: {error}", path=str(path)) from None
    if not isinstance(fields, dict):
        raise InvalidSettings(f"`--config` {path} must hold settings by name", path=str(path))
    known = cast("dict[str, object]", fields)
    build_settings(known)
    return known


def keep_settings(home: Path, settings: Settings, *, prefix: str = "") -> None:
    """Write what differs from the defaults, of the settings that start with `prefix`, to the home.

    What the home's `settings.json` says of others stays. A file is seen whole, old or new.
    """
    fields = settings.model_dump(mode="json", exclude_defaults=True)
    chosen = {name: value for name, value in fields.items() if name.startswith(prefix)}
    others = {name: value for name, value in _kept(home).items() if not name.startswith(prefix)}
    text = json.dumps({**others, **chosen}, indent=2, sort_keys=True)
    replace_file(home / SETTINGS_FILE, f"{text}\n".encode())


def _kept(home: Path) -> dict[str, Any]:
    path = home / SETTINGS_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"`{path}` cannot be read: {error}", path=str(path)) from None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSettings(f"`{path}` is not JSON: {error}", path=str(path)) from None
    if not isinstance(fields, dict):
        raise InvalidSettings(f"`{path}` must hold one JSON object", path=str(path))
    return cast("dict[str, Any]", fields)


def _known() -> str:
    return ", ".join(f"`{name}`" for name in sorted(Settings.model_fields))
