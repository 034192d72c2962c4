#!/bin/sh
# Fetch the files of others that the pages of the web UI use, from the npm registry (`make vendor`).
# They are part of the repository, so neither the build nor the service fetches anything. For a new version, change
# package.json and run `npm install --package-lock-only` here first; an icon is added by an empty file of its name.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to="$here/../../src/memex/ui/static/vendor"
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$packages"
npm ci --prefix "$packages" --ignore-scripts --silent # refuses a package whose digest is not that of the lock
from="$packages/node_modules"

cp "$from/htmx.org/dist/htmx.min.js" "$to/htmx.min.js"
cp "$from/htmx.org/LICENSE" "$to/htmx.LICENSE"
cp "$from/@picocss/pico/css/pico.classless.min.css" "$to/pico.classless.min.css"
cp "$from/@picocss/pico/LICENSE.md" "$to/pico.LICENSE"
cp "$from/uplot/dist/uPlot.iife.min.js" "$to/uplot.iife.min.js"
cp "$from/uplot/dist/uPlot.min.css" "$to/uplot.min.css"
cp "$from/uplot/LICENSE" "$to/uplot.LICENSE"
cp "$from/lucide-static/LICENSE" "$to/icons/LICENSE"
for icon in "$to"/icons/*.svg; do
  cp "$from/lucide-static/icons/$(basename "$icon")" "$icon"
done
cd "$to" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
