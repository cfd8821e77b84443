"""Run benchmarks: `python -m benchmarks [GROUP] --data DIR`.

Each group is a module `benchmarks/<group>.py` with `figures(data) -> list[dict]`, every figure
`{"id", "what", "value", "bound", "holds", "unit"}`. The figures are ratios against a bound or a
peer measured in the same run, so that they say the same on any machine. Results go to
`benchmarks/results/<group>.json`; the exit code is 1 if a figure does not hold, 2 for misuse.
"""

import argparse
import importlib
import json
import math
import os
import pathlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

_HERE = pathlib.Path(__file__).parent
_FIELDS = ("id", "what", "value", "bound", "holds", "unit")


def groups() -> list[str]:
    """Names of the groups there are, in alphabetical order; a name with `_` in front is none."""
    return sorted(path.stem for path in _HERE.glob("*.py") if not path.stem.startswith("_"))


def checked(group: str, figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The figures with exactly their fields, in order. Raises `ValueError` naming a faulty one."""
    if not figures:
        raise ValueError(f"`{group}` measured nothing")
    for figure in figures:
        lacking = [field for field in _FIELDS if field not in figure]
        if lacking:
            raise ValueError(f"a figure of `{group}` lacks {', '.join(lacking)}: {dict(figure)!r}")
        if not math.isfinite(float(figure["value"])):
            raise ValueError(f"`{figure['id']}` of `{group}` is no number: {figure['value']!r}")
    return [{field: figure[field] for field in _FIELDS} for figure in figures]


def run(group: str, data: pathlib.Path, results: pathlib.Path, console: Console) -> bool:
    """Measure one group, print its table, write its file; return whether every figure holds."""
    module = importlib.import_module(f"benchmarks.{group}")
    started = time.perf_counter()
    with console.status(f"measuring {group} …"):
        figures = checked(group, module.figures(data))
    results.mkdir(parents=True, exist_ok=True)
    document = json.dumps({"group": group, "figures": figures}, indent=2, ensure_ascii=False)
    (results / f"{group}.json").write_text(document + "\n", encoding="utf-8")
    console.print(_table(group, figures, time.perf_counter() - started))
    return all(figure["holds"] for figure in figures)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks.")
    parser.add_argument("group", nargs="?", help=f"one of {', '.join(groups())}; all by default")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    parser.add_argument("--results", type=pathlib.Path, default=_HERE / "results")
    asked = parser.parse_args(arguments)
    if asked.group is not None and asked.group not in groups():
        parser.error(f"no group {asked.group!r}; there are {', '.join(groups())}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    console = Console()
    chosen = [asked.group] if asked.group else groups()
    held = [run(group, asked.data, asked.results, console) for group in chosen]
    return 0 if all(held) else 1


def _table(group: str, figures: Sequence[Mapping[str, Any]], seconds: float) -> Table:
    table = Table(title=f"{group} ({seconds:.0f} s)", title_justify="left")
    for heading in ("figure", "what"):
        table.add_column(heading)
    for heading in ("value", "bound", "unit", "holds"):
        table.add_column(heading, justify="right" if heading in ("value", "bound") else "left")
    for figure in figures:
        verdict = "[green]yes[/]" if figure["holds"] else "[bold red]NO[/]"
        value, bound = (_short(figure[key]) for key in ("value", "bound"))
        table.add_row(figure["id"], figure["what"], value, bound, figure["unit"], verdict)
    return table


def _short(number: object) -> str:
    return f"{number:.4g}" if isinstance(number, float) else str(number)


if __name__ == "__main__":
    sys.exit(main())
