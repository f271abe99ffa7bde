# Everything a person or CI types. Set-up happens by itself: see scripts/setup.

PYTHON ?=
BENCH ?=
FUZZ ?=
MUTANTS ?=
PROFILE ?=
TASKS ?=
TRIES ?= 3
TESTS ?= tests
BIN := .venv/bin
# The heaviest tests start processes and wait for them: on two cores four workers end earlier than two. Each worker gets
# neighbouring tests, which share fixtures, and reads the bytecode that another one has written, whatever the shell says.
WORKERS ?= 4
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

export PYTHON
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Checks report one after another, so that the first failure is the last thing on the screen.
.NOTPARALLEL:
.PHONY: help run test check lint types imports dead-code unit slow coverage bench evals fuzz mutants reference site mcp-servers pictures lock clean setup-run setup-dev

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: setup-run ## run a real task on the built-in scripted model: no key, no network
	@$(BIN)/robota demo

test: setup-dev check unit ## check, then all tests but the slow ones; CI runs make slow, too

check: lint types imports dead-code ## style, spelling, types, import contracts, unused code

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/codespell

types: setup-dev
	$(BIN)/mypy

imports: setup-dev
	$(BIN)/lint-imports

dead-code: setup-dev
	$(BIN)/python -m scripts.dead_code

unit: setup-dev
	$(PYTEST) -m "not slow" $(TESTS)

slow: setup-dev ## tests that take long: attacks, kills, terminals, servers of other projects, packaging
	$(PYTEST) -m slow $(TESTS)

coverage: setup-dev ## run the tests and show which lines none of them reaches; the report is build/coverage/index.html
	ROBOTA_TESTS_FORK=0 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term --cov-report=html:build/coverage $(TESTS)

bench: setup-dev ## measure speed against the targets; BENCH="--check --json FILE" for more
	@$(BIN)/python -m benchmarks $(BENCH)

evals: setup-dev ## let a real model try small tasks and judge the outcome; PROFILE=name, TASKS="german tabs", TRIES=1
	@$(BIN)/python -m evals --profile "$(PROFILE)" --tries $(TRIES) --json build/evals.jsonl $(TASKS)

fuzz: setup-dev ## look for a command that does more than policy judged; FUZZ="--minutes 1", FUZZ="--gate" under strace
	@$(BIN)/python -m tests.fuzz.shell_fuzz $(FUZZ)

mutants: setup-dev ## break the program in small ways and list what no test notices; MUTANTS="--count 50 src/robota/policy"
	@$(BIN)/python -m scripts.mutants $(MUTANTS)

reference: setup-dev ## write the reference pages of docs/ from the program
	@$(BIN)/python -m scripts.reference

site: setup-dev ## make a site of docs/ in build/site, with every link checked
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "Open build/site/index.html in a browser; its search works offline."

mcp-servers: setup-dev ## install the reference MCP servers for tests, if set-up could not (needs npm)
	@scripts/mcp-servers

pictures: setup-dev ## draw the screens of the terminal UI into docs/pictures, by running it
	@$(BIN)/python -m scripts.pictures

lock: ## resolve requirements/*.in again into pinned and hashed *.txt
	@scripts/lock

clean: ## remove the virtual environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests benchmarks evals -name __pycache__ -type d -prune -exec rm -rf {} +

setup-run:
	@scripts/setup run

setup-dev:
	@scripts/setup dev
