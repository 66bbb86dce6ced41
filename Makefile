# Two commands do everything on a fresh machine with Python 3.11 (and its venv package), git and make:
#   make demo    set up and run the main job on embedded defaults
#   make test    set up and run every check
#   make quick   the fast tests only
#   make release-check   build wheel and sdist, and try them on every Python that is installed
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
QUIET := --disable-pip-version-check --quiet
PIP := $(BIN)/python -m pip $(QUIET)
# Bytecode is made for what is imported, not for everything that is installed.
LOCKED := install --no-compile --no-deps --require-hashes
PACKAGES := import sysconfig; folder = sysconfig.get_path('purelib')

# Bytecode is kept, whatever the surroundings say: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick lint types imports unit docs bench peers compat release-check clean

demo: $(VENV)/ready
	@$(BIN)/sottovoce demo

# Setting up, the tests and everything else go side by side; what the others print follows when they
# are done.
test: $(VENV)/installed
	@$(MAKE) --no-print-directory --output-sync --jobs=2 unit lint types imports docs peers

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-dev
	$(BIN)/mypy

imports: $(VENV)/ready-dev
	$(BIN)/lint-imports

# Following lines doubles the time of exact tests, so that the figure of covered lines comes from
# the fast ones alone. Many of the others wait for servers and browsers: hence a process more than
# cores. Threads of the linear algebra would only get in each other's way. The plus sign has make
# show the progress as it comes.
unit: export OPENBLAS_NUM_THREADS := 1
unit: $(VENV)/ready $(VENV)/ready-dev
	+$(BIN)/pytest -n 2 -m fast --cov=sottovoce --cov-report=term:skip-covered
	+$(BIN)/pytest -n 3 --dist worksteal -m "not fast"

# What most changes need to be checked against, in less than a minute.
quick: $(VENV)/ready $(VENV)/ready-dev
	$(BIN)/pytest -n 2 -m fast tests

docs: $(VENV)/ready-dev
	$(BIN)/sphinx-build -W --keep-going -E -q -b html docs build/docs
	@echo "The documentation is in build/docs/index.html"

# Other libraries live in an environment of their own: the race, and agreement with them. So does
# Spark, which is half a gigabyte. What both environments need is installed once: this one looks
# into the other for what it does not have itself.
bench: $(PEERS)/ready
	$(PEERS)/bin/python -m benchmarks

peers: $(PEERS)/ready
	$(PEERS)/bin/python -m pytest tests/peers tests/scale/test_spark.py

# Other Pythons that are installed here, and the oldest versions that pyproject.toml allows.
compat:
	$(PYTHON) -m tests.compat

# What an upload would be: built, checked, installed into fresh environments and tried there.
release-check:
	$(PYTHON) -m tests.release

$(PEERS)/ready: $(VENV)/ready $(VENV)/ready-dev benchmarks/peers.lock
	@echo "Installing the peers into $(PEERS) …"
	@$(BIN)/python -m venv --clear --without-pip $(PEERS) && echo '*' > $(PEERS)/.gitignore
	@$(BIN)/python -c "$(PACKAGES); print(f'import site; site.addsitedir({folder!r})')" \
	  > "$$($(PEERS)/bin/python -c "$(PACKAGES); print(folder)")/shared.pth"
	@$(PEERS)/bin/python -m pip $(QUIET) $(LOCKED) --requirement benchmarks/peers.lock
	@touch $@

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sottovoce needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "could not make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml requirements.lock
	@echo "Installing into $(VENV) …"
	@$(PIP) $(LOCKED) --requirement requirements.lock
	@$(PIP) install --no-deps --editable .
	@touch $@

# Compiles the kernels once, so that the first real run does not wait for it.
$(VENV)/ready: $(VENV)/installed
	@$(BIN)/python -m sottovoce.mechanisms
	@touch $@

$(VENV)/ready-dev: $(VENV)/installed requirements-dev.lock
	@$(PIP) $(LOCKED) --requirement requirements-dev.lock
	@touch $@

clean:
	rm -rf $(VENV) $(PEERS) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
