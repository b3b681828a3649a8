# What a newcomer needs: `make demo` and `make test`.
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
# One more than there are cores: many tests wait for processes.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: help demo test test-long mutants faults lint types layers suite bench clean

help:
	@echo "make demo        set up $(VENV) and watch an agent stray, in a scratch repository"
	@echo "make test        set up $(VENV) and run lint, types, layers and the tests"
	@echo "make test-long   run the tests that take very long"
	@echo "make mutants     break the code on purpose and see whether the tests notice"
	@echo "make faults      kill kedge, fill its disk, damage its files, and count what is lost"
	@echo "make bench       run the benchmarks"

demo: $(VENV)/.kedge
	@$(BIN)/kedge demo

test: lint types layers suite

lint: $(VENV)/.dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

types: $(VENV)/.dev
	@$(BIN)/mypy --no-error-summary

layers: $(VENV)/.dev
	@$(BIN)/lint-imports --no-cache >$(VENV)/layers.log || { cat $(VENV)/layers.log; exit 1; }

suite: $(VENV)/.dev
	@tools/clients $(VENV)
	@tools/browser $(VENV)
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not long"

test-long: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto -m long

mutants: $(VENV)/.dev
	@$(BIN)/python tools/mutants

faults: $(VENV)/.dev
	@$(BIN)/python tools/faults

bench: $(VENV)/.dev
	@for file in benchmarks/[a-z]*.py benchmarks/scope/measure.py benchmarks/knowledge/relevance.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV)

$(VENV)/.kedge: pyproject.toml tools/setup
	@tools/setup $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml tools/setup
	@tools/setup $(VENV) dev
	@touch $@ $(VENV)/.kedge
