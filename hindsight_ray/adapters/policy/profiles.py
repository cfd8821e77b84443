"""Where the shipped policies are: inside the installed package, or beside it in a checkout."""

from pathlib import Path

from hindsight_ray.errors import InvalidPolicy

PROFILES = ("default", "strict", "team", "research")  # shipped, by name


def policies_folder() -> Path:
    """The folder of `model.conf`, the csv profiles and their scenarios."""
    package = Path(__file__).parents[2]
    for folder in (package / "policies", package.parent / "policies"):
        if (folder / "model.conf").is_file():
            return folder
    raise InvalidPolicy("`policies` is missing beside the package; install it again")


def shipped_text(name: str) -> str:
    """The text of a shipped file such as `model.conf` or `default.csv`."""
    return (policies_folder() / name).read_text(encoding="utf-8")
