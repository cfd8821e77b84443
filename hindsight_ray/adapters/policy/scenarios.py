"""Scenario files: YAML beside the profiles, which people review and tests run."""

from pathlib import Path
from typing import Any, cast

from hindsight_ray.adapters.policy.profiles import policies_folder, shipped_text
from hindsight_ray.adapters.yaml_files import read_yaml
from hindsight_ray.core.policy_scenarios import Scenario, scenario_of
from hindsight_ray.errors import InvalidInput


def scenario_files(folder: Path | None = None) -> tuple[Path, ...]:
    """The scenario files of a folder, by name; the shipped ones by default."""
    return tuple(sorted((folder or policies_folder() / "scenarios").glob("*.yaml")))


def read_scenario(path: Path) -> Scenario:
    """The scenario in a YAML file. Raises `InvalidInput` naming the file and its fault."""
    try:
        fields = read_yaml(path)
    except ValueError as error:
        raise InvalidInput(
            f"`scenario` {path.name} cannot be read as YAML", file=path.name
        ) from error
    if not isinstance(fields, dict):
        raise InvalidInput(f"`scenario` {path.name} is no mapping of fields", file=path.name)
    return scenario_of(
        {str(name): value for name, value in cast(dict[object, Any], fields).items()}
    )


def profile_beside(path: Path, scenario: Scenario) -> str:
    """The text of the scenario's profile: beside its folder if it is there, else as shipped.

    Raises `InvalidInput` for one that cannot be read.
    """
    beside = path.parent.parent / scenario.profile
    try:
        known = beside.is_file()
        return beside.read_text(encoding="utf-8") if known else shipped_text(scenario.profile)
    except (OSError, ValueError):
        raise InvalidInput(
            f"`profile` of {path.name} cannot be read as UTF-8 text", file=path.name
        ) from None
