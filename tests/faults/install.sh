#!/bin/sh
# Install the tools by which tests make faults: libfaketime sets a clock, libfiu lets system calls fail, and `ip` sets
# up a network of a test's own.
# Without root, or where Debian's packages cannot be had, the tests skip these faults and say so.
set -eu
missing=
[ -n "$(find /usr/lib -name 'libfaketimeMT.so.1' 2>/dev/null | head -n 1)" ] || missing="$missing faketime"
command -v fiu-run >/dev/null || missing="$missing fiu-utils"
PATH="$PATH:/usr/sbin:/sbin" command -v ip >/dev/null || missing="$missing iproute2"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, as this needs root and apt-get:$missing"
  exit 0
fi
# shellcheck disable=SC2086  # several packages
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends $missing; } \
  >/dev/null || echo "Could not be installed:$missing"
