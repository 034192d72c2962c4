#!/bin/sh
# Installs the coding agents of the tests into build/clients, from npm and the Python package index. The tests of one
# that cannot be had are skipped.
set -eu
project=$(cd "$(dirname "$0")/../.." && pwd)
target="$project/build/clients"
mkdir -p "$target"

# Says whether something else than these packages stands there.
is_due() { [ "$(cat "$target/$1.installed" 2>/dev/null || true)" != "$2" ]; }

wanted="@anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 opencode-ai@1.18.33"
if ! command -v npm >/dev/null 2>&1; then
  echo "npm is not here: the runs of Claude Code, Codex, OpenCode and OpenClaw are skipped"
elif is_due npm "$wanted"; then
  # shellcheck disable=SC2086
  if npm install --prefix "$target" --no-audit --no-fund --loglevel=error $wanted &&
    (cd "$target/node_modules/@anthropic-ai/claude-code" && node install.cjs); then
    echo "$wanted" >"$target/npm.installed"
  else
    echo "npm cannot install them: the runs of Claude Code, Codex and OpenCode are skipped"
  fi
fi

# OpenClaw needs a newer Node.js than most machines have; npm has that too.
wanted="node@24.21.0 openclaw@2026.9.6"
if command -v npm >/dev/null 2>&1 && is_due openclaw "$wanted"; then
  # shellcheck disable=SC2086
  if npm install --prefix "$target/node" --no-audit --no-fund --loglevel=error ${wanted% *} &&
    npm install --prefix "$target/openclaw" --ignore-scripts --no-audit --no-fund --loglevel=error ${wanted#* }; then
    echo "$wanted" >"$target/openclaw.installed"
  else
    echo "npm cannot install them: the run of OpenClaw is skipped"
  fi
fi

# Hermes pins all that it needs, so it has an environment of its own.
wanted="hermes-agent==0.19.0"
if is_due hermes "$wanted"; then
  if "$project/.venv/bin/python" -m venv "$target/hermes" &&
    { "$project/.venv/bin/uv" pip install --quiet --python "$target/hermes/bin/python" "$wanted" ||
      "$target/hermes/bin/python" -m pip install --quiet "$wanted"; }; then
    echo "$wanted" >"$target/hermes.installed"
  else
    echo "pip cannot install $wanted: the run of Hermes is skipped"
  fi
fi
