# Two commands do everything on a fresh machine with Python 3.11 (and its venv package), git and make:
#   make demo    set up and run the main job on embedded defaults
#   make test    set up and run every check
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint types imports unit bench clean

demo: $(VENV)/ready
	@$(BIN)/sottovoce demo

test: lint types imports unit

lint: $(VENV)/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready-dev
	$(BIN)/mypy

imports: $(VENV)/ready-dev
	$(BIN)/lint-imports

unit: $(VENV)/ready-dev
	$(BIN)/pytest

bench: $(VENV)/ready-dev
	$(BIN)/python -m benchmarks.spine

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Sottovoce needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "could not make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

# The last step compiles the kernels once, so that the first real run does not wait for it.
$(VENV)/ready: $(VENV)/python pyproject.toml requirements.lock
	@echo "Installing into $(VENV) …"
	@$(PIP) install --constraint requirements.lock --editable '.[all]'
	@$(BIN)/python -m sottovoce.mechanisms
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	@$(PIP) install --constraint requirements.lock --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
