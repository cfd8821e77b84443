#!/bin/sh
# Everything that says whether this checkout is sound, fastest first. `make test` calls it with
# BIN (the environment's bin folder) and DATA (public logs to import; tests skip what is not there).
set -eu
cd "$(dirname "$0")/.."
BIN=${BIN:-.venv/bin}
DATA=${DATA:-../shared/data}
export HINDSIGHT_TEST_DATA="$DATA"
# Nothing here may send statistics or fetch a price list.
export RAY_USAGE_STATS_ENABLED=0 LITELLM_LOCAL_MODEL_COST_MAP=True
export PYTHONDONTWRITEBYTECODE=1

step() {
    printf '== %s\n' "$1"
    shift
    "$@"
}

step "lint" "$BIN/ruff" check --quiet .
step "format" "$BIN/ruff" format --quiet --check .
step "layers" "$BIN/lint-imports" --no-cache
step "types" "$BIN/basedpyright" --pythonpath "$BIN/python"
# tests/conftest.py orders the folders, fastest first.
step "tests" "$BIN/python" -m pytest -q "$@"
