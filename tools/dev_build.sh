#!/bin/bash
# Builds the extension into python/minidynamo, for PYTHONPATH=python: tools/dev_build.sh [3.11|3.12|3.13|3.14] [cmake options]
# MINIDYNAMO_DEV_VENVS names the prefix of the environments (default: .venv-dev in the source tree).
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-3.11}
shift || true
venv=${MINIDYNAMO_DEV_VENVS:-$PWD/.venv-dev}-$version
build=build/dev-$version
if [ ! -e "$venv/ready" ]; then
  "$(tools/find_python.sh "python$version")" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check \
    "pybind11>=3.1,<3.2" "onednn-devel-cpu-gomp==2023.2.0" cmake ninja pytest numpy hypothesis
  touch "$venv/ready"
fi
export PATH="$venv/bin:$PATH"
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
mkdir -p build
cmake -G Ninja -S . -B "$build" -DPython_EXECUTABLE="$venv/bin/python" "${launcher[@]}" "$@" >"$build.log" 2>&1 ||
  { cat "$build.log"; exit 1; }
ninja -C "$build" -j"${JOBS:-2}"
echo "PYTHONPATH=$PWD/python $venv/bin/python -m pytest tests"
