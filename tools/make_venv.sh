#!/bin/bash
# Makes the virtual environment $2 with the Python $1, unless it is there and runs.
set -euo pipefail
python=$1
venv=$2
if [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  exit 0
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

can_make_venv() { "$python" -c 'import ensurepip, venv' 2>/dev/null; }
has_headers() {
  "$python" -c 'import os, sysconfig as s; os.stat(os.path.join(s.get_path("include"), "Python.h"))' 2>/dev/null
}

# Debian's Python comes without these two parts.
if ! can_make_venv || ! has_headers; then
  packages="python$version-venv python$version-dev"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends $packages
  fi
  if ! can_make_venv || ! has_headers; then
    echo "error: $python lacks the module ensurepip or its C headers; on Debian: apt-get install $packages" >&2
    exit 1
  fi
fi
rm -rf "$venv"
"$python" -m venv "$venv"
