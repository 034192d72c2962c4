#!/bin/sh
# Plays the Dockerfile without Docker: builds the image's folders, starts the service from them, calls it, stops it and
# starts it again on the same data. All of that as a user without rights and without an environment: see image.py.
# PYTHON names the interpreter that stands for the image's; as root it is Debian's when that user cannot run it.
set -eu
project=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d /var/tmp/memex-image-XXXXXX)
trap 'rm -rf "$work"' EXIT

as_user() { "$@"; }
if [ "$(id -u)" = 0 ]; then
  user=$(id -u nobody)  # a user with a name, which initdb looks up
  as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
  chown "$user:$user" "$work"
fi

cd "$project"
for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
  # An environment's interpreter need not have pip; the one that it was made with has.
  python=$("$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null) || continue
  as_user env -i "$python" -I -c 'import ensurepip, pip' 2>/dev/null && break
  python=
done
[ -n "$python" ] || { echo "image: PYTHON must name a Python with pip and venv that any user can run"; exit 1; }

# What Docker would send: all but .dockerignore, whose patterns begin at the root.
set --
while read -r pattern; do
  case $pattern in
    '#'* | '') ;;
    '**/'*) set -- "$@" --no-anchored --exclude="${pattern#'**/'}" ;;
    *) set -- "$@" --anchored --exclude="./$pattern" ;;
  esac
done <.dockerignore
as_user mkdir "$work/context"
tar --create "$@" . | as_user tar --extract --directory "$work/context"
as_user cp /dev/stdin "$work/image.py" <tests/image.py

# Where packages come from is a matter of the machine.
index=$(env | sed -n -E 's/^(PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|PIP_CERT|HTTPS_PROXY|https_proxy)=/&/p')
cd "$work"
IFS='
'
# shellcheck disable=SC2086  # a word a line
as_user env -i PATH=/usr/local/bin:/usr/bin:/bin $index "$python" -I image.py
echo "image: ok"
