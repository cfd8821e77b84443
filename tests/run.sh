#!/bin/sh
# Everything that says whether this checkout is sound, fastest first. `make test` calls it with
# BIN (the environment's bin folder) and DATA (public logs to import; tests skip what is not there).
# Arguments go to pytest. Every step runs whatever became of the ones before; one fault fails all.
set -u
cd "$(dirname "$0")/.." || exit 1
BIN=${BIN:-.venv/bin}
DATA=${DATA:-../shared/data}
export HINDSIGHT_TEST_DATA="$DATA"
# Nothing here may send statistics or fetch a price list.
export RAY_USAGE_STATS_ENABLED=0 LITELLM_LOCAL_MODEL_COST_MAP=True
failed=""

step() {
    name=$1
    shift
    if output=$("$@" 2>&1); then
        printf '%s: ok\n' "$name"
    else
        printf '%s: FAILED\n%s\n' "$name" "$output"
        failed="$failed $name"
    fi
}

step lint "$BIN/ruff" check .
step format "$BIN/ruff" format --check .
step layers "$BIN/lint-imports" --no-logo --no-cache
step types "$BIN/basedpyright" --pythonpath "$BIN/python"
if [ -n "$failed" ]; then
    printf 'failed before the tests:%s\n' "$failed"
fi
# tests/conftest.py orders the folders, fastest first.
"$BIN/python" -m pytest -q "$@"
code=$?
[ -z "$failed" ] || code=1
exit $code
