# The commands of this repository. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON := .venv/bin/python
PATHS ?=
ARGS ?=

.PHONY: help demo test quick lint types format bench schema page bootstrap clean

help: ## List these commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lint: ## Ruff's rules and format, and the page's (PATHS=folder: those files alone, without the page).
	@$(PYTHON) -m ruff check $(or $(PATHS),.)
	@$(PYTHON) -m ruff format --check --quiet $(or $(PATHS),.) || { echo "not formatted: make format PATHS=…"; exit 1; }
	@$(if $(PATHS),,scripts/npm run --silent lint)

types: ## mypy --strict over every package (PATHS=graph/stores: that folder and what it imports).
	@$(PYTHON) -m mypy $(addprefix headwater/,$(PATHS))

format: ## Sort imports and format (PATHS=folder: those files alone).
	@$(PYTHON) -m ruff check --quiet --fix --select I $(or $(PATHS),.)
	@$(PYTHON) -m ruff format $(or $(PATHS),.)
	@$(if $(PATHS),,scripts/npm run --silent format)
