#!/bin/sh
# Builds sdist and wheel, installs the wheel into an empty environment and runs it from another folder.
# PYTHON names an interpreter that has the build tools; the packages' versions are those of requirements.lock.
set -eu
PYTHON=$(command -v "${PYTHON:-python3}")
project=$(cd "$(dirname "$0")/.." && pwd)
case "$PYTHON" in /*) ;; *) PYTHON="$project/$PYTHON" ;; esac

work=$(mktemp -d /var/tmp/memex-packaging-XXXXXX)
chmod 755 "$work"  # as root the embedded server runs as another user, who must reach its data
trap 'rm -rf "$work"' EXIT

cd "$project"
"$PYTHON" -m build --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
# The wheel is built from the sdist, so one listing shows that neither dropped the linked folders.
"$PYTHON" -m zipfile -l "$work"/dist/*.whl >"$work/contents"
for file in store/migrations/0001_memory.sql store/migrations/vectors/0001_embedding.sql subagent/embedders/minilm/tokenizer.json store/queries/search/chunk_best.sql subagent/__init__.py prompts/__init__.py prompts/context.md subagent/statements/languages/en.yaml store/search/languages/english.yaml store/search/calendars/english.yaml demo/questions.yaml evals/__init__.py evals/cases/context/assistant.yaml evals/states/empty/state.yaml evals/reading/people/e4.txt setup/AGENTS.md setup/CONVERSATIONS.md setup/plugins/run_hook.mjs setup/plugins/openclaw/openclaw.plugin.json ui/templates/base.html ui/static/memex.css ui/static/vendor/htmx.min.js; do
  grep -q "memex/$file" "$work/contents" || { echo "the wheel lacks $file"; exit 1; }
done
for folder in beam bench lives languages recordings retrieval true_statements work; do
  ! grep -q "memex/evals/$folder/" "$work/contents" || { echo "the wheel holds evals/$folder"; exit 1; }
done

sed -e '/^ *--hash/d' -e 's/ *\\$//' requirements.lock >"$work/constraints"
wheel=$(ls "$work"/dist/*.whl)
# uv where it is there and reaches an index, as for the environment of the project; pip stands in for it.
if "$PYTHON" -m uv venv --quiet --python "$PYTHON" "$work/venv" 2>"$work/install.log" &&
  "$PYTHON" -m uv pip install --quiet --python "$work/venv/bin/python" --constraint "$work/constraints" "$wheel[embedded]" 2>>"$work/install.log"; then
  uv=yes
else
  uv=
  rm -rf "$work/venv"
  "$PYTHON" -m venv "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet --constraint "$work/constraints" "$wheel[embedded]" 2>>"$work/install.log" ||
    { cat "$work/install.log"; exit 1; }
fi

cd "$work"
export MEMEX_DATA_DIR="$work/data"
unset DATABASE_URL
"$work/venv/bin/memex" --version
"$work/venv/bin/memex-memory" --version
# The command that hints name finds the package installed, so it fetches nothing of that name from an index.
"$PYTHON" -m pip --python "$work/venv/bin/python" install --quiet --no-index \
  "$("$work/venv/bin/python" -c 'from memex.distribution import NAME; print(f"{NAME}[embedded]")')"
"$work/venv/bin/memex" write user/hello.md --content "# Hello from a wheel" --json >/dev/null
"$work/venv/bin/memex" find wheel --json | grep -q user/hello.md
"$work/venv/bin/memex" eval states | grep -q support
"$work/venv/bin/memex" eval beam 2>&1 | grep -q 'python -m memex.evals.beam'
"$work/venv/bin/memex" setup agents-md --print | grep -q memory_remember
"$work/venv/bin/memex" setup codex --print | grep -q '^\[mcp_servers.memex\]'
# The hook of coding agents is installed, and says nothing and ends well whatever it is given.
test -z "$(echo '{"hook_event_name":' | "$work/venv/bin/memex-hook" claude-code)"
"$work/venv/bin/memex" setup codex --hooks --print | grep -q 'memex-hook codex'

# An adapter whose library is missing says which extra brings it, and there is such an extra.
"$work/venv/bin/python" - <<'CHECK'
import importlib, pkgutil, re
from importlib.metadata import metadata

import memex.integrations

extras = set(metadata("memex-memory").get_all("Provides-Extra"))
told = set()
for module in pkgutil.iter_modules(memex.integrations.__path__):
    try:
        importlib.import_module(f"memex.integrations.{module.name}")
    except ImportError as error:
        found = re.search(r"memex-memory\[([\w-]+)\]", str(error))
        if found:
            assert found[1] in extras, f"{module.name} names an extra that there is not: {error}"
            told.add(found[1])
        elif module.name != "crewai":  # which lives in an environment of its own
            raise
assert {"langchain", "llama-index", "openai-agents", "google-adk"} <= told, told
CHECK

# Without an environment: uvx takes the wheel, here with nothing but what was fetched above.
if [ -n "$uv" ]; then
  "$PYTHON" -m uv tool run --quiet --offline --no-config --python "$PYTHON" --constraints "$work/constraints" \
    --from "$wheel[embedded]" memex --version >/dev/null
  echo "packaging: uvx runs the wheel"
else
  echo "packaging: uvx was not run, as uv is not there or reaches no index"
fi
pipx=$(command -v pipx || true)
if [ -z "$pipx" ] && [ -n "$uv" ]; then pipx="$PYTHON -m uv tool run --quiet pipx"; fi
if [ -n "$pipx" ] && $pipx --version >/dev/null 2>&1; then
  PIPX_HOME="$work/pipx" PIP_CONSTRAINT="$work/constraints" UV_CONSTRAINT="$work/constraints" \
    $pipx run --spec "$wheel[embedded]" memex --version >/dev/null 2>"$work/pipx.log" || { cat "$work/pipx.log"; exit 1; }
  echo "packaging: pipx runs the wheel"
else
  echo "packaging: pipx was not run, as it cannot be had"
fi
echo "packaging: ok"
