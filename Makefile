# Two commands for newcomers: `make demo` and `make test`. Each sets up what it needs in .venv and
# is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: demo test setup lint types guarantees faults bench docs clean

demo: $(VENV)/.demo
	$(BIN)/thrifty demo

test: $(VENV)/.test
	@echo "== style"; $(BIN)/ruff check .
	@echo "== types"; $(BIN)/mypy
	@echo "== imports"; $(BIN)/lint-imports
	@echo "== tests"; $(BIN)/python -m pytest -n 2 -m "not slow" --durations=10
	@echo "== kernels again with the JIT off"
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not slow" tests/kernels

setup: $(VENV)/.test

$(VENV)/bin/python:
	@echo "== making the virtual environment"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "== installing Thrifty (about a minute the first time)"
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "== installing Thrifty with everything its tests need (a few minutes the first time)"
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.demo

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

guarantees: $(VENV)/.test
	$(BIN)/python -m pytest -m "slow or not slow" tests/guarantees

faults: $(VENV)/.test
	$(BIN)/python -m pytest -m "slow or not slow" tests/faults

bench: $(VENV)/.test
	$(BIN)/python benchmarks/scratch.py

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
