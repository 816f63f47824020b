#!/bin/bash
# Installs minidynamo in .venv-<version> of the Python named by $1, with the extras named by $2; prints the environment.
# The core library is built once, in build/core, for all versions. MINIDYNAMO_WERROR=ON makes warnings errors;
# MINIDYNAMO_CORE_TESTS=OFF leaves out the tests of the core.
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${2:-}

if ! command -v c++ >/dev/null; then
  echo "error: no C++ compiler was found; on Debian: apt-get install g++" >&2
  exit 1
fi
python=$(tools/find_python.sh "$1")
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
venv=$PWD/.venv-$version
build_venv=$PWD/.venv-build
werror=${MINIDYNAMO_WERROR:-OFF}
{
  tools/make_venv.sh "$python" "$build_venv"
  tools/make_venv.sh "$python" "$venv"
  pip_install=(-m pip --disable-pip-version-check install --quiet)
  "$build_venv/bin/python" "${pip_install[@]}" cmake ninja "onednn-devel-cpu-gomp==2023.2.0"
  "$venv/bin/python" "${pip_install[@]}" "scikit-build-core>=0.11" "pybind11>=3.1,<3.2"

  export PATH="$build_venv/bin:$PATH"
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  dnnl_dir=$build_venv/lib/cmake/dnnl
  cmake -G Ninja -S . -B build/core -DMINIDYNAMO_CORE_ONLY=ON -Ddnnl_DIR="$dnnl_dir" \
    -DMINIDYNAMO_WERROR="$werror" -DMINIDYNAMO_TESTS="${MINIDYNAMO_CORE_TESTS:-ON}"
  cmake --build build/core
  "$venv/bin/python" "${pip_install[@]}" --no-build-isolation ".${extra:+[$extra]}" \
    --config-settings=cmake.define.dnnl_DIR="$dnnl_dir" --config-settings=cmake.define.MINIDYNAMO_CORE_DIR="$PWD/build/core" \
    --config-settings=cmake.define.MINIDYNAMO_WERROR="$werror"
} >&2
echo "$venv"
