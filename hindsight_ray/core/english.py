"""The English stemmer by itself, out of a package whose import loads thirty languages.

They cost a one-shot command a tenth of its time. So the package's folder is given another name, and
of it the one module is imported that is needed; a test holds it to what the package itself gives.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Protocol, cast

_PACKAGE = "snowballstemmer"
_ALIAS = "hindsight_ray_stemming"


class Stemmer(Protocol):
    """Holds the word that it works on, so each use has its own: making one costs nothing."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the package's name for it


def _found() -> Callable[[], Stemmer]:
    if _ALIAS not in sys.modules:
        found = find_spec(_PACKAGE)
        if found is None or found.submodule_search_locations is None:
            raise ModuleNotFoundError(f"`{_PACKAGE}` is not installed", name=_PACKAGE)
        package = ModuleType(_ALIAS)
        package.__path__ = list(found.submodule_search_locations)
        sys.modules[_ALIAS] = package
    module = import_module(f"{_ALIAS}.english_stemmer")
    return cast("Callable[[], Stemmer]", vars(module)["EnglishStemmer"])


new_stemmer = _found()
