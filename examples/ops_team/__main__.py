"""`python -m examples.ops_team [--json] [--no-promotion]`: play the story, or print its figures."""

import argparse
import asyncio
import json
import sys

import hindsight_ray as hr
from examples.ops_team.story import story


def asked(arguments: list[str]) -> argparse.Namespace:
    """What the command line asks for; `--help` and misuse end here."""
    parser = argparse.ArgumentParser(
        "python -m examples.ops_team", description="A team of agents on Ray restores a web shop."
    )
    parser.add_argument("--json", action="store_true", help="print the figures only")
    parser.add_argument(
        "--no-promotion", action="store_true", help="let the curator make nothing global"
    )
    return parser.parse_args(arguments)


def run(*, as_json: bool, promoting: bool) -> int:
    """Play the story and return the exit code."""
    try:
        figures = asyncio.run(story(_quiet if as_json else _aloud, promoting=promoting))
    except hr.HindsightError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if as_json:
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
    return 0


def _aloud(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _quiet(_line: str) -> None:
    return


if __name__ == "__main__":
    wanted = asked(sys.argv[1:])
    sys.exit(run(as_json=wanted.json, promoting=not wanted.no_promotion))
