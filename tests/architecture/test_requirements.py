"""The manifest and the tests name each other, both ways."""

import ast
import pathlib
from collections.abc import Iterator

from tests.requirements import REQUIREMENTS

_TESTS = pathlib.Path(__file__).parents[1]
_ROOT = _TESTS.parent


def _marked(path: pathlib.Path) -> Iterator[str]:
    """Ids in every `mark.covers(...)` of a file, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "covers":
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"{path}: name ids as plain texts"
                yield str(argument.value)


def _covered() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(_TESTS.rglob("test_*.py")):
        for name in _marked(path):
            found.setdefault(name, []).append(str(path.relative_to(_ROOT)))
    return found


def test_no_requirement_is_without_a_test() -> None:
    covered = _covered()
    lacking = [
        f"{name}: {what.behaviour}"
        for name, what in REQUIREMENTS.items()
        if what.deferred is None and name not in covered
    ]
    assert not lacking, "no test covers:\n" + "\n".join(lacking)


def test_no_test_names_a_requirement_that_is_not_there() -> None:
    unknown = {name: where for name, where in _covered().items() if name not in REQUIREMENTS}
    assert not unknown


def test_nothing_is_called_deferred_that_has_a_test() -> None:
    covered = _covered()
    done = [name for name, what in REQUIREMENTS.items() if what.deferred and name in covered]
    assert not done


def test_every_requirement_says_where_it_is_stated() -> None:
    page = (_ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    nowhere = {
        name: what.source
        for name, what in REQUIREMENTS.items()
        if f"| {what.source} |" not in page
        and f"## {what.source}" not in page
        and not (_ROOT / what.source).exists()
    }
    assert not nowhere
