#!/bin/sh
# Install the browser in which the pages are tested: Debian's Chromium.
# Without root, or where Debian's packages cannot be had, these tests are skipped and say so.
set -eu
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, as this needs root and apt-get: chromium"
  exit 0
fi
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends chromium; } \
  >/dev/null || echo "Could not be installed: chromium"
