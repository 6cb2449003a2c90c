# Everything below sets up what it needs by itself; it needs Python >= 3.11 (PYTHON=python3.12 picks one) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# `make test WORKERS=4`: how many test processes run side by side.
WORKERS ?= 2

# What installed packages depend on. Stamps say what the environment holds: enough to run Headwater, to show
# it, or all to develop it.
PINS := pyproject.toml constraints.txt
RUN_STAMP := $(VENV)/.run-stamp
DEMO_STAMP := $(VENV)/.demo-stamp
DEV_STAMP := $(VENV)/.dev-stamp
# Not compiled: Python compiles what is imported, which is a small part, and the install takes half the time.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check --prefer-binary \
	--no-compile -c constraints.txt
BUILD_TOOLS := hatchling editables setuptools wheel
# The released Gravitino client that our tests drive: without the 60 packages that it declares and does not need for that.
GRAVITINO_CLIENT := apache-gravitino==1.3.1
# Keeps the output of parallel checks apart where make can (GNU make 4).
APART := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo serve test test-trino lint lint-rules lint-format lint-types lint-layers soak bench constraints clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

venv: $(DEV_STAMP) ## create .venv with Headwater and everything to develop it
	@echo "$(VENV) is ready"

demo: $(DEMO_STAMP) ## start a server and walk through what it does
	@$(BIN)/python examples/demo.py

serve: $(RUN_STAMP) ## run a server in the foreground
	@$(BIN)/headwater serve

test: lint ## check the code and run every test but the long ones
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --ignore=tests/soak --ignore=tests/trino tests

test-trino: $(DEV_STAMP) ## run the tests that need Trino, which is a large download
	@$(BIN)/pytest tests/trino

lint: $(DEV_STAMP) ## check style, types and layers
	@$(MAKE) --no-print-directory -j2 $(APART) lint-types lint-layers lint-rules lint-format

lint-rules: $(DEV_STAMP)
	@$(BIN)/ruff check --quiet .

lint-format: $(DEV_STAMP)
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ." >&2; exit 1; }

lint-types: $(DEV_STAMP)
	@$(BIN)/mypy --no-error-summary

lint-layers: $(DEV_STAMP)
	@$(BIN)/lint-imports >$(VENV)/.layers.log 2>&1 || { cat $(VENV)/.layers.log; exit 1; }

soak: $(DEV_STAMP) ## run the long fault and load tests
	@$(BIN)/pytest tests/soak

bench: $(DEV_STAMP) ## run the benchmarks
	@$(BIN)/python -m benchmarks

constraints: ## resolve all dependencies anew and write constraints.txt
	@PYTHON="$(PYTHON)" BUILD_TOOLS="$(BUILD_TOOLS)" scripts/refresh-constraints

clean: ## delete .venv and everything built
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Neither stamp needs the network when the pinned versions are installed already. What builds Headwater, and the few
# dependencies that come as source only, is installed like any other pinned package: else pip would fetch the newest of it
# for each build.
$(RUN_STAMP): $(PINS) | $(BIN)/python
	@echo "Installing what Headwater runs with ..."
	@$(PIP_INSTALL) $(BUILD_TOOLS)
	@$(PIP_INSTALL) --no-build-isolation -e '.[postgres,iceberg,hive,s3]'
	@touch $@

$(DEMO_STAMP): $(PINS) | $(BIN)/python
	@echo "Installing what Headwater is shown with ..."
	@$(PIP_INSTALL) $(BUILD_TOOLS)
	@$(PIP_INSTALL) --no-build-isolation -e '.[postgres,iceberg,hive,s3,demo]'
	@touch $(RUN_STAMP) $@

$(DEV_STAMP): $(PINS) | $(BIN)/python
	@echo "Installing what Headwater is developed with ..."
	@$(PIP_INSTALL) $(BUILD_TOOLS)
	@$(PIP_INSTALL) --no-build-isolation -e '.[dev]'
	@$(PIP_INSTALL) --no-build-isolation --no-deps $(GRAVITINO_CLIENT)
	@touch $(RUN_STAMP) $(DEMO_STAMP) $@

$(BIN)/python:
	@PYTHON="$(PYTHON)" VENV="$(VENV)" scripts/create-venv
