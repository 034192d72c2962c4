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
for file in store/migrations/0001_memory.sql store/migrations/vectors/0001_embedding.sql subagent/embedders/minilm/tokenizer.json store/queries/chunk_score.sql subagent/__init__.py prompts/__init__.py prompts/context.md subagent/languages/en.yaml demo/questions.yaml evals/__init__.py; do
  grep -q "memex/$file" "$work/contents" || { echo "the wheel lacks $file"; exit 1; }
done

sed -e '/^ *--hash/d' -e 's/ *\\$//' requirements.lock >"$work/constraints"
"$PYTHON" -m venv "$work/venv"
wheel=$(ls "$work"/dist/*.whl)
"$work/venv/bin/python" -m pip install --quiet --constraint "$work/constraints" "$wheel[embedded]" 2>"$work/pip.log" ||
  { cat "$work/pip.log"; exit 1; }

cd "$work"
export MEMEX_DATA_DIR="$work/data"
unset DATABASE_URL
"$work/venv/bin/memex" --version
"$work/venv/bin/memex" write user/hello.md --content "# Hello from a wheel" --json >/dev/null
"$work/venv/bin/memex" find wheel --json | grep -q user/hello.md
echo "packaging: ok"
