# Kedge. `make` lists the targets; `make demo` and `make test` set up what they need first.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KAFKA_VERSIONS := 4.1.1 4.2.0
CACHE := .cache
IMAGES := $(foreach v,$(KAFKA_VERSIONS),$(CACHE)/kafka/$(v)/cds/broker.jsa)

export PYSPARK_PYTHON := $(abspath $(BIN)/python)
export KEDGE_KAFKA_DIR ?= $(abspath $(CACHE)/kafka)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: check
check: ## is everything here that Kedge needs of the machine?
	@$(PYTHON) controlplane/prerequisites.py

$(VENV)/.locked: requirements.lock
	@$(PYTHON) -m venv $(VENV)
	@echo "installing Python packages (about 1 GB, a few minutes the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(CACHE)/kafka/%/cds/broker.jsa: | $(VENV)/.locked
	@echo "building the machine image of Kafka $*"
	@$(BIN)/python -m providers.local image $* --cds --cache $(CACHE)

.PHONY: setup
setup: check $(VENV)/.locked $(IMAGES) ## virtual environment, Python packages, Kafka images

.PHONY: demo
demo: setup ## the main job, told as a story; REPORT=FILE writes it as JSON too
	@$(BIN)/python -m controlplane.cli demo $(if $(REPORT),--report $(REPORT))

.PHONY: test
test: setup ## all tests, with their time budget at the end
	@$(BIN)/python -m tests.stages

.PHONY: soak
soak: setup ## the long ones: every crash point, hundreds of seeds
	@$(BIN)/python -m pytest -m soak -q tests

.PHONY: lint
lint: $(VENV)/.locked ## style, types and import contracts
	@$(BIN)/python -m tests.stages lint

.PHONY: golden
golden: $(VENV)/.locked ## write the golden logs of rolls anew; review the difference
	@KEDGE_GOLDEN=update $(BIN)/python -m pytest -q tests/sequences

.PHONY: lock
lock: $(VENV)/.locked ## resolve the dependencies anew into requirements.lock
	@$(BIN)/python -m uv pip compile pyproject.toml --extra dev --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --quiet -o requirements.lock

.PHONY: docs
docs: $(VENV)/.locked ## generate the spec reference
	@$(BIN)/python -m events.spec.reference

.PHONY: clean
clean: ## end what a demo left, remove its files
	@for home in .kedge .kedge/demo; do \
	  if [ -x $(BIN)/python ] && [ -d $$home/local ]; then $(BIN)/python -m providers.local reap $$home/local; fi; done
	@rm -rf .kedge .pytest_cache .mypy_cache .ruff_cache
