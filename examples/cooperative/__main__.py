"""`python -m examples.cooperative [--json] [--ray]`: play the story, here or on a local Ray."""

import argparse
import asyncio
import importlib.util
import json
import sys
import tempfile
from pathlib import Path

import hindsight_ray as hr
from examples.cooperative.story import story


def asked(arguments: list[str]) -> argparse.Namespace:
    """What the command line asks for; `--help` and misuse end here."""
    parser = argparse.ArgumentParser(
        "python -m examples.cooperative",
        description="Three agents of one team cover their landmarks; replays say who did not.",
    )
    parser.add_argument("--json", action="store_true", help="print the figures only")
    parser.add_argument("--ray", action="store_true", help="replay as tasks of a local cluster")
    return parser.parse_args(arguments)


def run(arguments: list[str]) -> int:
    """Play the story and return the exit code."""
    wanted = asked(arguments)
    if importlib.util.find_spec("mpe2") is None:
        sys.stderr.write("error: this example plays an environment of `mpe2`; install it\n")
        return 1
    as_json = wanted.json
    with tempfile.TemporaryDirectory(prefix="hindsight-cooperative-") as folder:
        told = story(Path(folder) / "home", _quiet if as_json else print, on_ray=wanted.ray)
        try:
            figures = asyncio.run(told)
        except hr.HindsightError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
    if as_json:
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 0


def _quiet(_line: str) -> None:
    return


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
