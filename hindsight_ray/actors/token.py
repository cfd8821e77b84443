"""Ray's token: who may speak with the processes of a cluster.

Whoever has it may run code on every node. Ray writes it to `~/.ray/auth_token` as the umask has it,
which mostly lets everybody on the machine read it. Here it is made for its owner alone, and one
that lies open is shut.
"""

import importlib
import logging
import os
from pathlib import Path
from typing import Any

from hindsight_ray.adapters.whole_files import PRIVATE, write_once

_setup: Any = importlib.import_module("ray._private.authentication.authentication_token_setup")
_log = logging.getLogger(__name__)

_MODE, _PATH, _VALUE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"
_OTHERS = 0o077
TOKEN_IS = f"that of `{_VALUE}`, else in the file of `{_PATH}`, else in `~/.ray/auth_token`"


def use_token(*, make: bool) -> None:
    """Have this process and what it starts speak with the token, if there is one or `make`.

    `RAY_AUTH_MODE` has the last word on whether; where the token lies, it is made sure that only
    its owner may read it.
    """
    path = Path(os.environ.get(_PATH, Path.home() / ".ray" / "auth_token"))
    loader = _setup.AuthenticationTokenLoader.instance()
    if _MODE not in os.environ and make and not loader.has_token(ignore_auth_mode=True):
        _made(path)
        loader.reset_cache()
    if _VALUE not in os.environ:
        tighten(path)
    if _MODE not in os.environ:
        _setup.maybe_enable_token_auth_if_token_available(warn_if_disabled=False)


def tighten(path: Path) -> None:
    """Shut a token's file to others, or warn where it is not ours to shut."""
    try:
        mode = path.stat().st_mode
        if not mode & _OTHERS:
            return
        path.chmod(mode & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning(
            "others may read Ray's token in %s, and with it run code on every node: %s; shut it"
            " with `chmod 600`", path, error.strerror,
        )  # fmt: skip
    else:
        _log.warning("others could read Ray's token in %s; it is shut to them now", path)


def _made(path: Path) -> None:
    """Make the token where there is none. Of several who make one at once, one's is kept."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = _setup.generate_new_authentication_token()
    write_once(path, token.encode(), mode=PRIVATE)
