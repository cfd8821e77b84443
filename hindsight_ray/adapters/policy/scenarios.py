"""Scenario files: YAML beside the profiles, which people review and tests run."""

from pathlib import Path
from typing import Any, cast

import yaml

from hindsight_ray.adapters.policy.profiles import policies_folder, shipped_text
from hindsight_ray.core.policy_scenarios import Scenario, scenario_of
from hindsight_ray.errors import InvalidInput


def scenario_files(folder: Path | None = None) -> tuple[Path, ...]:
    """The scenario files of a folder, by name; the shipped ones by default."""
    return tuple(sorted((folder or policies_folder() / "scenarios").glob("*.yaml")))


def read_scenario(path: Path) -> Scenario:
    """The scenario in a YAML file. Raises `InvalidInput` naming the file and its fault."""
    try:
        fields: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput(
            f"`scenario` {path.name} cannot be read as YAML", file=path.name
        ) from error
    if not isinstance(fields, dict):
        raise InvalidInput(f"`scenario` {path.name} is no mapping of fields", file=path.name)
    return scenario_of(
        {str(name): value for name, value in cast(dict[object, Any], fields).items()}
    )


def profile_beside(path: Path, scenario: Scenario) -> str:
    """The text of the scenario's profile: beside its folder if it is there, else as shipped."""
    beside = path.parent.parent / scenario.profile
    return (
        beside.read_text(encoding="utf-8") if beside.is_file() else shipped_text(scenario.profile)
    )
