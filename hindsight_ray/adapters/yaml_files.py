"""What a YAML file holds, or one kind of error for whatever keeps it from being read."""

from pathlib import Path

import yaml


def read_yaml(path: Path) -> object:
    """The document of a file. Raises `ValueError` saying what is wrong with it."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except Exception as error:  # noqa: BLE001 - a wrong value under a tag, or a number beyond limits
        why = str(error).partition(";")[0]  # what follows is advice about the interpreter
        raise ValueError(f"a value in it cannot be read: {why}") from None
