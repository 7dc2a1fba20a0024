# Two commands for newcomers: `make demo` and `make test`. Each sets up what it needs in .venv and
# is quick the second time.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: demo test setup lint guarantees faults mutants bench reproduce everything docs wheel \
	matrix lowest release-check browser clean

demo: $(VENV)/.demo
	$(BIN)/thrifty demo

test: $(VENV)/.test browser
	@sh tools/test.sh $(BIN)

setup: $(VENV)/.test

$(VENV)/bin/python:
	@echo "== making the virtual environment"
	@sh tools/make_venv.sh $(PYTHON) $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "== installing Thrifty (about a minute the first time)"
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "== installing Thrifty with everything its tests need (a few minutes the first time)"
	@$(PIP) 'pip>=25.1'  # knows dependency groups; Debian's own does not
	$(PIP) -e '.[all]' --group test
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: $(VENV)/.test
	$(PIP) --group docs
	@touch $@

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/mypy && $(BIN)/lint-imports

guarantees: $(VENV)/.test
	$(BIN)/python -m pytest -m "slow or not slow" tests/guarantees tests/certified

# Small changes to the code, one at a time: does a test notice each? Some hours on one core.
mutants: $(VENV)/.test
	$(BIN)/python tools/mutants.py --jobs 2

faults: $(VENV)/.test
	$(PIP) -e '.[ray]'
	$(BIN)/python -m tests.tribunal --kills 2000 --pauses 1000 --workers 8
	$(BIN)/python -m tests.simulator --histories 1000000 --results $(VENV)/simulator.jsonl
	$(BIN)/python tests/faults/damage.py 2000
	$(BIN)/python -m pytest -m "slow or not slow" tests/faults tests/engines tests/stores tests/lives_on tests/examples tests/once

bench: $(VENV)/.test
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/rerun.py
	$(BIN)/python -m pytest -m slow tests/metered tests/commands tests/models tests/predictions tests/test_quote.py

# Both tables of the paper, judged as docs/research/reproduction.md says: an hour. Interrupted, it goes on
# where it was when the same is typed again.
reproduce: $(VENV)/.test
	$(BIN)/python -m pytest -m "slow or not slow" tests/test_reproduce.py
	$(BIN)/python -m paper_tables --out reproduction

# Every test there is, slow ones too, and every longer check: some hours. CI does it once a week.
everything: test guarantees faults bench mutants reproduce docs wheel

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest tests/docs/test_site.py

# The wheel in an empty environment: import, command line, demo, no optional package.
wheel: $(VENV)/.test
	$(PIP) --group release
	$(BIN)/python tools/check_wheel.py

# make test's tests under every Python that this machine has, each in an environment of its own.
matrix:
	@sh tools/matrix.sh

# The oldest versions that pyproject.toml allows, on the oldest Python.
lowest:
	@sh tools/lowest.sh $(PYTHON)

release-check: wheel docs
	$(BIN)/python tools/release_check.py

# The browser tests need Chromium, and what drives it libatomic, which a bare Debian 12 lacks. As root
# on Debian both are installed; elsewhere the tests are skipped.
browser:
	@{ command -v chromium chromium-browser google-chrome && \
	   PATH="$$PATH:/sbin:/usr/sbin" ldconfig -p | grep libatomic.so.1; } >/dev/null 2>&1 || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "== installing Chromium for the browser tests"; \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium libatomic1; } \
	    >/dev/null 2>&1 || echo "Chromium could not be installed: browser tests will be skipped"; \
	else echo "no Chromium (or no libatomic) found: browser tests will be skipped"; fi

clean:
	rm -rf $(VENV) .venv-* build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
