# Every target sets itself up in .venv; all it needs is python3 (3.11 or later) and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One more than there are processors, as some tests wait for what they started.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Whoever says that nothing compiled is kept waits for it in each of a hundred processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help ask record test test-live test-all lint format types bench wheel smoke clean

help: ## Show what there is to make
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ingot needs Python 3.11 or later; say PYTHON=python3.12 make …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	@touch $@

$(VENV)/local: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[local]'
	@touch $@

$(VENV)/dev: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@

ask: $(VENV)/local ## Ask the real local model for a list and for an invoice
	$(BIN)/ingot model pull
	$(BIN)/python docs/examples/first.py

test: $(VENV)/dev ## Run the tests: no network, no weights, under a minute
	$(BIN)/python -m pytest -n $(JOBS)

test-live: $(VENV)/dev ## Run the tests that ask the real local model
	$(BIN)/ingot model pull
	$(BIN)/python -m pytest -m live
	$(BIN)/python -m pytest tests/test_live.py --ingot=live

record: $(VENV)/dev ## Record what the local model says anew, for tests and docs
	$(BIN)/ingot model pull
	$(BIN)/python -m pytest tests/test_live.py tests/test_docs.py tests/test_notebooks.py --ingot=refresh

test-all: $(VENV)/dev ## Run all tests, the slow ones too
	$(BIN)/ingot model pull
	$(BIN)/python -m pytest -m '' --hypothesis-profile=default

lint: $(VENV)/dev ## Check style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/dev ## Mend style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/dev ## Check types with mypy and pyright, both strict
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

# Of instructor, whose pins do not go with the newest SDKs.
$(VENV)-instructor/python:
	$(PYTHON) -m venv $(VENV)-instructor
	$(VENV)-instructor/bin/python -m pip install -q instructor
	@touch $@

bench: $(VENV)/dev $(VENV)-instructor/python ## Measure: calls, replays, streams, many, imports, shapes
	$(BIN)/python -m tests.bench

wheel: $(VENV)/dev ## Build the wheel and the source distribution into dist/
	rm -rf dist
	$(BIN)/python -m build -q

smoke: wheel ## Try the built wheel in a new environment, outside the checkout
	bash tests/smoke.sh dist/*.whl

clean: ## Remove what was made
	rm -rf $(VENV) $(VENV)-instructor dist build .pytest_cache .mypy_cache .ruff_cache
