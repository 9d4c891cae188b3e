# Kedge. `make` lists the targets; `make demo` and `make test` set up what they need first.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KAFKA_VERSIONS := 3.8.1 3.9.1 4.1.1 4.2.0 4.3.0
CACHE := .cache
# Beside the kernels it stands for: checkouts that share a cache have kernels of their own.
KERNELS := planner/balance/__pycache__/kernels.compiled
LAKE_JARS := $(CACHE)/spark/jars/delta-storage-4.4.0.jar
HCLOUD := $(CACHE)/terraform/hcloud.built
IMAGES := $(foreach v,$(KAFKA_VERSIONS),$(CACHE)/kafka/$(v)/cds/broker.jsa)
# Those that the demo rolls from and to.
DEMO_VERSIONS := $(if $(filter zookeeper,$(MODE)),3.8.1 3.9.1,4.1.1 4.2.0)
DEMO_IMAGES := $(foreach v,$(DEMO_VERSIONS),$(CACHE)/kafka/$(v)/cds/broker.jsa)
# What copies one cluster to another: a pair is of clusters in KRaft mode, and the demo has none.
MIRROR_MAKERS := $(foreach v,$(KAFKA_VERSIONS),$(CACHE)/kafka/$(v)/mirror-maker)

export PYSPARK_PYTHON := $(abspath $(BIN)/python)
export KEDGE_KAFKA_DIR ?= $(abspath $(CACHE)/kafka)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: check
check: ## is everything here that Kedge needs of the machine?
	@$(PYTHON) controlplane/server/prerequisites.py

# Packages, and the command `kedge` of this checkout: what the demo runs on, and all (which are more of the same).
INSTALL := $(PYTHON) requirements/install.py
HOW := requirements/install.py requirements/setup.lock

$(VENV)/.demo: requirements/demo.lock requirements/demo.trim $(HOW)
	@echo "installing the Python packages of the demo (0.9 GB on disk)"
	@$(INSTALL) requirements/demo.lock $(VENV) --project --trim requirements/demo.trim
	@touch $@

$(VENV)/.locked: requirements.lock $(HOW)
	@echo "installing all Python packages (2 GB on disk)"
	@$(INSTALL) requirements.lock $(VENV) --project
	@touch $@ $(VENV)/.demo

# Beside the packages: it takes Python and its standard library.
$(CACHE)/kafka/%/cds/broker.jsa:
	@echo "building the machine image of Kafka $*"
	@$(PYTHON) -m providers.local image $* --cds --cache $(CACHE) > /dev/null

# Apache's own archives of Kafka have them, Maven's closure of a broker has not. After the image: Maven runs once at a time.
$(CACHE)/kafka/%/mirror-maker: | $(CACHE)/kafka/%/cds/broker.jsa
	@echo "fetching what MirrorMaker 2 of Kafka $* needs beside it"
	@$(PYTHON) -m providers.local image $* --mirror-maker --cache $(CACHE) > /dev/null

$(LAKE_JARS): spark/pom.xml | $(VENV)/.locked
	@echo "fetching the jars of Delta and of Spark's Kafka connector"
	@$(BIN)/python -m spark.lake_jars --cache $(CACHE)
	@touch $@

# For the tests alone: without Go everything else works, and the tests that need it fail and say so.
$(HCLOUD): tests/tools/hcloud/go.mod tests/tools/hcloud/go.sum | $(VENV)/.locked
	@if command -v go > /dev/null; then \
	  echo "building Terraform's provider for Hetzner Cloud (two minutes the first time)"; \
	  $(BIN)/python -m tests.tools.hcloud.build --cache $(CACHE) && touch $@; \
	else echo "no Go here: Terraform's provider for Hetzner Cloud is not built, its tests will fail"; fi

# numba looks only at the file of the outermost kernel: what one of its parts left behind goes first.
$(KERNELS): $(shell find planner -name '*.py') | $(VENV)/.demo
	@echo "compiling the planner's kernels"
	@find planner -name '*.nb[ci]' -delete
	@$(BIN)/python -m planner.compile
	@touch $@

# Stand-ins for vendors' Terraform providers (tests/standins): `tf` needs an older protobuf than Google's SDK.
$(CACHE)/standins/.locked: tests/standins/requirements.txt
	@echo "installing what the stand-in Terraform providers need"
	@$(INSTALL) $< $(CACHE)/standins
	@touch $@

# For the tests alone: a Debian that they boot as a VM. Without mmdebstrap or root those tests say so.
DEBIAN := $(CACHE)/debian/bookworm.tar
$(DEBIAN): tests/tools/debian_root.py | $(VENV)/.locked
	@if command -v mmdebstrap > /dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "making the root of a plain Debian (a minute)"; \
	  $(BIN)/python -m tests.tools.debian_root --cache $(CACHE) && touch $@; \
	else echo "no mmdebstrap or no root here: no Debian is made, the tests that boot it are skipped or fail"; fi

# For the tests alone: without npm everything else works, and the tests that need it fail and say so.
OIDC := $(CACHE)/oidc/.installed
$(OIDC): tests/tools/oidc/package-lock.json tests/tools/oidc/provider.mjs | $(VENV)/.locked
	@if command -v npm > /dev/null; then \
	  echo "installing the OpenID provider of the tests"; \
	  $(BIN)/python -m tests.tools.oidc.install --cache $(CACHE) && touch $@; \
	else echo "no npm here: the OpenID provider of the tests is not installed, its tests will fail"; fi

# For the tests alone: tunnels where the kernel has no WireGuard. Without Go the tests that need them are skipped or fail.
WIREGUARD := $(CACHE)/wireguard/wireguard-go
$(WIREGUARD): tests/tools/wireguard/go.mod tests/tools/wireguard/go.sum tests/tools/wireguard/install.py | $(VENV)/.locked
	@if command -v go > /dev/null; then \
	  echo "building wireguard-go"; \
	  $(BIN)/python -m tests.tools.wireguard.install --cache $(CACHE) > /dev/null && touch $@; \
	else echo "no Go here: wireguard-go is not built, the tests of overlays are skipped or fail"; fi

# Scanners (tests/gates), in an environment of their own: checkov pins older packages than Kedge uses.
GATES := $(CACHE)/gates/.locked
$(GATES): tests/gates/requirements.txt
	@echo "installing the scanners of the gates (300 MB)"
	@$(INSTALL) $< $(CACHE)/gates
	@touch $@

GITLEAKS := $(CACHE)/gates/bin/gitleaks
$(GITLEAKS): tests/tools/gitleaks/go.mod tests/tools/gitleaks/go.sum | $(GATES) $(VENV)/.locked
	@if command -v go > /dev/null; then \
	  echo "building gitleaks"; \
	  $(BIN)/python -m tests.tools.gobuild --module tests/tools/gitleaks --output $@ \
	    --package github.com/zricethezav/gitleaks/v8; \
	else echo "no Go here: gitleaks is not built, the gate for commits will fail"; fi

# What makes mutants (tests/mutation), in an environment of its own: it brings a database layer and a web client.
MUTATION := $(CACHE)/mutation/.locked
$(MUTATION): tests/mutation/requirements.txt
	@echo "installing what makes mutants for the tests"
	@$(INSTALL) $< $(CACHE)/mutation
	@touch $@

# What a release is built with and described by.
BUILD := $(CACHE)/release/.locked
$(BUILD): tests/tools/release/requirements.txt
	@echo "installing what releases are built with"
	@$(INSTALL) $< $(CACHE)/release
	@touch $@

.PHONY: setup
setup: check $(VENV)/.locked $(LAKE_JARS) $(KERNELS) $(IMAGES) $(MIRROR_MAKERS) ## what Kedge runs with: packages, the command `kedge`, Kafka, Spark's jars, kernels

# Beside each other: most of it waits for a network, or has one processor to do. Two of Maven share its one repository,
# and are not made for that.
.PHONY: test-setup
test-setup: check $(VENV)/.locked ## that, and what only the tests need
	@$(MAKE) -s -j 3 maven-setup $(KERNELS) $(HCLOUD) $(GATES) $(DEBIAN) $(GITLEAKS) $(MUTATION) \
	  $(CACHE)/standins/.locked $(OIDC) $(WIREGUARD) $(BUILD)

.PHONY: maven-setup
maven-setup: $(VENV)/.locked
	@MAKEFLAGS= $(MAKE) -s $(IMAGES) $(LAKE_JARS) $(MIRROR_MAKERS)

# Packages, and kernels from them, beside Maven and Java.
.PHONY: demo-setup
demo-setup: check ## what the demo runs on, and nothing else
	@$(MAKE) -s -j 2 $(KERNELS) demo-images

.PHONY: demo-images
demo-images:
	@MAKEFLAGS= $(MAKE) -s $(DEMO_IMAGES) MODE=$(MODE)

.PHONY: demo
demo: demo-setup ## the main job, told as a story; MODE=zookeeper in that mode, REPORT=FILE writes it as JSON too, KEEP=1 stays open with the portal, SHORT=1 with less data, PLAINTEXT=1 without TLS and users
	@$(BIN)/python -m controlplane.cli demo $(if $(MODE),--mode $(MODE)) $(if $(REPORT),--report $(REPORT)) $(if $(KEEP),--keep) $(if $(SHORT),--short) $(if $(PLAINTEXT),--plaintext)

.PHONY: pictures
pictures: $(VENV)/.locked ## the portal's pictures in docs/images, of a demo that runs beside (make demo KEEP=1); look at each
	@$(BIN)/python -m tests.tools.pictures $(if $(OUT),--out $(OUT)) $(ONLY)

.PHONY: test
test: test-setup ## all tests, with their time budget at the end
	@$(BIN)/python -m tests.stages

.PHONY: soak
soak: test-setup ## the long ones, and of sweeps over seeds and crash points the commit's turn (SWEEPS=all: all); killed, it goes on where it stopped; writes docs/soak.md; LANES=processor: those that need no brokers, beside other work; STREAMS=2: two of those with brokers at a time
	@SWEEPS=$(SWEEPS) $(BIN)/python -m tests.soak $(LANES) $(if $(STREAMS),--streams $(STREAMS))

.PHONY: mutants
mutants: $(VENV)/.locked $(KERNELS) $(MUTATION) ## small faults in code that could lose data: do its tests notice? TARGET=NAME for one
	@$(BIN)/python -m tests.mutation $(if $(TARGET),"$(TARGET)")

.PHONY: lint
lint: $(VENV)/.locked ## style, types and import contracts
	@$(BIN)/python -m tests.stages lint

.PHONY: gates
gates: $(VENV)/.locked $(GATES) $(GITLEAKS) ## what scanners find in the code, in Terraform's modules, in every commit
	@$(BIN)/python -m tests.stages gates

.PHONY: audit
audit: $(GATES) $(VENV)/.locked ## known vulnerabilities of the locked packages; asks PyPI, or OSV_URL=URL, which has to tell them
	@$(BIN)/python -m tests.gates.known_holes $(if $(OSV_URL),--osv-url $(OSV_URL))

.PHONY: sbom
sbom: $(VENV)/.locked $(BUILD) ## the bill of materials of this checkout, as sbom.cdx.json (CycloneDX); OUT=FILE elsewhere
	@$(BIN)/python -m tests.tools.release.bill --out $(or $(OUT),sbom.cdx.json)

.PHONY: release
release: $(VENV)/.locked $(BUILD) ## the last commit as wheel, archives, bill of materials and sums, in OUT=dist; KEY=ID signs
	@$(BIN)/python -m tests.tools.release.files --out $(or $(OUT),dist) $(if $(KEY),--key $(KEY))

.PHONY: golden
golden: $(VENV)/.locked ## write the golden logs of rolls anew; review the difference
	@KEDGE_GOLDEN=update $(BIN)/python -m pytest -q tests/sequences

.PHONY: lock
lock: $(VENV)/.locked ## resolve the dependencies anew: all of them, and those of the demo with the same versions
	@$(BIN)/python -m uv pip compile pyproject.toml --extra all --extra dev --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --quiet -o requirements.lock
	@$(BIN)/python -m uv pip compile pyproject.toml --extra server --extra spark --constraints requirements.lock \
	    --generate-hashes --python-version 3.11 --no-emit-index-url --quiet -o requirements/demo.lock
	@cd requirements && ../$(BIN)/python -m uv pip compile setup.in --constraints ../requirements.lock --generate-hashes \
	    --python-version 3.11 --no-emit-index-url --quiet -o setup.lock
	@cd tests/gates && ../../$(BIN)/python -m uv pip compile requirements.in --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --quiet -o requirements.txt
	@cd tests/mutation && ../../$(BIN)/python -m uv pip compile requirements.in --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --quiet -o requirements.txt
	@cd tests/tools/release && ../../../$(BIN)/python -m uv pip compile requirements.in --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --quiet -o requirements.txt

.PHONY: docs
docs: $(VENV)/.locked ## generate the reference pages: spec, command line, Kafka settings
	@$(BIN)/python -m events.spec.reference
	@$(BIN)/python -m controlplane.cli.reference
	@$(BIN)/python -m controlplane.kafka.settings_page

.PHONY: settings
settings: $(VENV)/.locked ## print Kafka's settings anew into their tables
	@$(BIN)/python -m controlplane.kafka.settings_table --cache $(CACHE)
	@$(BIN)/python -m controlplane.kafka.topic_table --cache $(CACHE)

.PHONY: clean
clean: ## end what a demo left, remove its files
	@for home in .kedge .kedge/demo; do \
	  if [ -x $(BIN)/python ] && [ -d $$home/local ]; then $(BIN)/python -m providers.local reap $$home/local; fi; done
	@rm -rf .kedge .pytest_cache .mypy_cache .ruff_cache
