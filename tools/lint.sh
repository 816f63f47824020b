#!/bin/bash
# Checks the form of the sources, or with --fix brings them into it.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/.venv-lint
tools/make_venv.sh "$(tools/find_python.sh "${PYTHON:-python3}")" "$venv" >&2
"$venv/bin/python" -m pip --disable-pip-version-check install --quiet clang-format==22.1.8 ruff==0.17.5
# A row of a .def file is one line, which clang-format would break.
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'csrc/*.h' 'csrc/*.cpp' 'csrc/*.c' 'csrc/*.inl' 'tests/*.h' 'tests/*.cpp' 'python/*.h')
if [ "${1:-}" = --fix ]; then
  "$venv/bin/clang-format" -i "${sources[@]}"
  "$venv/bin/ruff" check --fix .
  "$venv/bin/ruff" format .
else
  "$venv/bin/clang-format" --dry-run -Werror "${sources[@]}"
  "$venv/bin/ruff" check .
  "$venv/bin/ruff" format --check .
fi
