# The commands of this repository. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON := .venv/bin/python
NODE_MODULES := ui/node_modules/.package-lock.json
PAGE := backend/page/index.html
SPARK := .tools/spark.jsa
PAGE_SOURCES = $(shell find ui/src ui/public ui/index.html ui/*.json ui/*.ts -type f -not -name '*.test.*')
UNIT := not (spark or cluster or neo4j or lake or e2e or slow or torture)

PATHS ?=
ARGS ?=
SUITE ?= figures
PLANS ?= 100000

.PHONY: help demo test test-more quick torture audit lint types format bench readme schema docs page bootstrap clean

help: ## List these commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: bootstrap ## Install what is missing, then run the demo and serve its page (ARGS=--no-serve: exit instead).
	@. .tools/env; mkdir -p build; set -m; \
	{ $(MAKE) --no-print-directory INSTALLED=1 $(PAGE) >build/page.log 2>&1 || { cat build/page.log >&2; exit 1; }; } & \
	page=$$!; set +m; trap 'kill -- -$$page 2>/dev/null || true' EXIT; \
	.venv/bin/headwater demo $(ARGS) && wait $$page

test: ## Lint, types, and tests of every part: unit, Neo4j, Spark, servers, the page (ARGS="unit spark": those steps alone).
	@scripts/bootstrap test
	@. .tools/env && $(PYTHON) scripts/check.py $(ARGS)

test-more: ## The long tests that `make test` leaves out (ARGS=spark-more: that step alone).
	@scripts/bootstrap test
	@. .tools/env && $(PYTHON) scripts/check.py --more $(ARGS)

quick: bootstrap ## The unit tests alone (PATHS=tests/graph: those of that folder).
	@$(PYTHON) -m pytest -q -n 2 -m "$(UNIT)" $(PATHS)

torture: bootstrap ## What is too long for `make test`, and random programs against the oracle, in pieces (PLANS=100000).
	@$(PYTHON) -m bench.truth.torture --plans $(PLANS) $(ARGS)

audit: bootstrap ## Known faults of what is locked, by pip-audit and npm, where their services answer.
	@$(PYTHON) scripts/audit.py

lint: ## Ruff's rules and format, and the page's (PATHS=folder: those files alone, without the page).
	@$(PYTHON) -m ruff check $(or $(PATHS),.)
	@$(PYTHON) -m ruff format --check $(or $(PATHS),.) || { echo "Not formatted; type: make format"; exit 1; }
	@$(if $(PATHS),,scripts/npm run --silent lint)

types: ## mypy --strict over every package (PATHS=graph/stores: that folder and what it imports).
	@$(PYTHON) -m mypy $(addprefix headwater/,$(PATHS))

format: ## Sort imports and format (PATHS=folder: those files alone, without the page).
	@$(PYTHON) -m ruff check --quiet --fix --select I $(or $(PATHS),.)
	@$(PYTHON) -m ruff format $(or $(PATHS),.)
	@$(if $(PATHS),,scripts/npm run --silent format)

bench: bootstrap ## Measure into bench/results (SUITE=tpch, …; figures: all that is stated; ARGS="--rounds 5"; ARGS=--truth: of tpch and tpcds).
	@. .tools/env && unset SPARK_SUBMIT_OPTS && $(PYTHON) -m bench.run $(SUITE) $(ARGS)

readme: ## Fill the figures of README.md and docs/benchmarks.md from bench/results.
	@$(PYTHON) scripts/readme_figures.py

schema: ## Export the GraphQL schema, and the page's types from it.
	@$(PYTHON) -m headwater.graphql.export
	@scripts/npm run --silent codegen

docs: ## Write docs/reference/commands.md from the code.
	@$(PYTHON) scripts/reference.py

page: bootstrap $(PAGE) ## Build the page into backend/page, if its sources changed.

bootstrap: ## Install what this machine lacks to run the demo.
	@$(if $(INSTALLED),,scripts/bootstrap run)

clean: ## Remove what was built or cached (not .venv, .tools or ui/node_modules).
	rm -rf build dist backend/page spark_listener/jars headwater.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse metastore_db

$(NODE_MODULES): ui/package-lock.json | bootstrap
	@scripts/npm ci --no-audit --no-fund
	@touch $@

$(SPARK): .venv/.headwater-stamp .tools/env
	@. .tools/env && $(PYTHON) scripts/spark_archive.py $@

$(PAGE): $(PAGE_SOURCES) $(NODE_MODULES) | bootstrap
	@scripts/npm run --silent build
	@touch $@
