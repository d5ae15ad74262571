# Everything is installed into .venv from the lock files in requirements/.
.DEFAULT_GOAL := help
.PHONY: newest help demo web test quick check bench soak docs lock clean

PYTHON ?= python3
export PYTHON
BIN := .venv/bin
SCRIPTS := tools/error_codes.py tools/openapi tools/reference tools/requirements tools/screenshots tools/tally

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

demo: ## a scripted agent at work on a sample repository: no keys, no network
	@tools/environment run
	@tools/system-packages git
	@$(BIN)/allstop demo

web: ## build the control room's page; no Node is needed for it
	@tools/environment dev
	@$(BIN)/python hatch_build.py

test: ## the whole test suite; ARGS="-k stop" goes to pytest
	@tools/environment dev
	@tools/system-packages git openssl bwrap setpriv postgres ip cargo
	@tools/kernel
	@tools/agent-programs codex claude claude-acp gemini goose jest
	@tools/browser
	@$(BIN)/python hatch_build.py
	@REPORTS='$(REPORTS)' tools/suite $(ARGS)

newest: ## a report: the tests of codex and claude on their newest versions; never fails
	@tools/environment dev
	@tools/system-packages git bwrap setpriv
	@ALLSTOP_NEWEST=1 tools/agent-programs codex claude
	@-ALLSTOP_NEWEST=1 $(BIN)/python -m pytest -q --no-header --tb=line \
	  tests/adapters/agents/codex tests/adapters/agents/claude_code $(ARGS) </dev/null

quick: ## the tests for daily work: all that start no programs, and a few that do
	@tools/environment dev
	@tools/system-packages git bwrap setpriv
	@unset PYTHONDONTWRITEBYTECODE; TEST_EXAMPLES=quick TEST_SEEDS=20 \
	  $(BIN)/python -m pytest -n 4 -m 'not slow and not serial' $(ARGS) </dev/null

check: ## format, lint, types, imports, requirements, the page
	@tools/environment dev
	@$(BIN)/ruff format --quiet --check . $(SCRIPTS) >.venv/format.log || { grep -e "-->" .venv/format.log; echo "not formatted; run: $(BIN)/ruff format . $(SCRIPTS)"; exit 1; }
	@$(BIN)/ruff check --quiet --output-format concise . $(SCRIPTS)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary --scripts-are-modules $(SCRIPTS)
	@$(BIN)/lint-imports --no-logo >.venv/imports.log || { cat .venv/imports.log; exit 1; }
	@$(BIN)/python tools/requirements
	@$(BIN)/python hatch_build.py
	@tools/npm run --silent verify >.venv/web.log 2>&1 || { cat .venv/web.log; exit 1; }
	@echo 'all checks pass'

bench: ## every benchmark, and a table of all figures
	@tools/environment dev
	@tools/system-packages git bwrap setpriv postgres ip
	@$(BIN)/python bench

soak: ## the long forms of the fault suites; takes hours
	@tools/environment dev
	@tools/system-packages git openssl bwrap setpriv postgres ip cargo
	@tools/kernel
	@tools/agent-programs codex claude claude-acp gemini goose jest opencode qwen aider
	@tools/browser
	@$(BIN)/python hatch_build.py
	@TEST_SEEDS=$${TEST_SEEDS:-10000} TEST_KILLS=$${TEST_KILLS:-1000} \
	  TEST_EXAMPLES=soak \
	  tools/suite -o timeout=14400 -o faulthandler_timeout=0 $(ARGS)

docs: ## write the generated pages of docs/reference again
	@tools/environment dev
	@$(BIN)/python tools/reference
	@$(BIN)/python tools/openapi
	@tools/npm run --silent types

lock: ## write requirements/*.txt again; UPGRADE=1 takes the newest versions
	@tools/environment lock
	@tools/lock $(if $(UPGRADE),--upgrade)

clean: ## remove .venv, caches and build output
	@rm -rf .venv .grimp_cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist web/node_modules src/allstop/_web
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
