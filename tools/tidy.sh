#!/bin/bash
# Runs clang-tidy by .clang-tidy, where each finding is an error: tools/tidy.sh [--all | FILE...]
# Without arguments it takes what changed in csrc/ since the last full run (docs/results/tidy.txt): what is not committed first, then
# the newest commits, at most 12 files. A header stands for the source of the same name. JOBS is the number of processes.
set -euo pipefail
cd "$(dirname "$0")/.."
at_most=12
results=docs/results/tidy.txt
venv=$PWD/.venv-tidy
build_venv=$PWD/.venv-build
database=build/tidy

set_up() {
  local python pip_install=(-m pip --disable-pip-version-check install --quiet)
  python=$(tools/find_python.sh "${PYTHON:-python3.11}")
  tools/make_venv.sh "$python" "$venv"
  "$venv/bin/python" "${pip_install[@]}" clang-tidy==22.1.8 "pybind11>=3.1,<3.2"
  tools/make_venv.sh "$python" "$build_venv"
  "$build_venv/bin/python" "${pip_install[@]}" cmake ninja "onednn-devel-cpu-gomp==2023.2.0"
  # Nothing is built. Clang cannot read a precompiled header of GCC's and does not know all its options for optimising across files.
  PATH="$build_venv/bin:$PATH" cmake -G Ninja -S . -B "$database" -DPython_EXECUTABLE="$venv/bin/python" \
    -Ddnnl_DIR="$build_venv/lib/cmake/dnnl" -DMINIDYNAMO_WERROR=OFF -DMINIDYNAMO_TESTS=OFF \
    -DMINIDYNAMO_PRECOMPILED_HEADERS=OFF -DMINIDYNAMO_LINK_TIME_OPTIMISATION=OFF \
    -DMINIDYNAMO_OUTPUT_DIR="$PWD/$database/minidynamo"
  # Of GCC's folder of headers omp.h alone: Clang's own stdatomic.h would include GCC's.
  mkdir -p "$database/include"
  ln -sf "$(c++ -print-file-name=include)/omp.h" "$database/include/"
  sed -i 's/ -fno-canonical-system-headers//' "$database/compile_commands.json"
}

# The commit of the last full run; where the history does not have it, the commit that stored its results.
last_full_run() {
  local commit
  commit=$(sed -n '1s/.*commit \([0-9a-f]*\).*/\1/p' "$results" 2>/dev/null || true)
  if [ -n "$commit" ] && git merge-base --is-ancestor "$commit" HEAD 2>/dev/null; then
    echo "$commit"
  else
    git log -1 --format=%h -- "$results"
  fi
}

changed_since() {
  git diff --name-only HEAD -- csrc
  git ls-files --others --exclude-standard -- csrc
  git log --format= --name-only "$1..HEAD" -- csrc
}

# The sources among the names on stdin or beside them, each once and in the order of the names.
sources_of() {
  local name source
  while read -r name; do
    for source in "${name%.*}".cpp "${name%.*}".c; do
      if [ -e "$source" ]; then echo "$source"; fi
    done
  done | awk '!seen[$0]++'
}

check() {
  local started=$SECONDS output
  if output=$("$venv/bin/clang-tidy" -p "$database" --quiet '-warnings-as-errors=*' \
    --extra-arg="-idirafter$PWD/$database/include" "$1" 2>&1); then
    echo "ok     $1 ($((SECONDS - started)) s)"
  else
    printf '%s\n' "$output" "FAILED $1 ($((SECONDS - started)) s)"
    return 1
  fi
}

set_up >&2
# The inner loops of each instruction set are in GCC's dialect (its pragmas for targets and __builtin_shuffle).
known=$(sed -n "s|^ *\"file\": \"$PWD/\(csrc/.*\)\".*|\1|p" "$database/compile_commands.json" | grep -v /simd/loops_ | sort)
left_out=()
case ${1:-} in
  --all) mapfile -t files <<<"$known" ;;
  "")
    since=$(last_full_run)
    if [ -z "$since" ]; then
      echo "error: there is no $results, so this cannot tell what changed; see .ci/long tidy" >&2
      exit 2
    fi
    mapfile -t files < <(changed_since "$since" | sources_of)
    left_out=("${files[@]:at_most}")
    files=("${files[@]:0:at_most}")
    ;;
  *)
    for name in "$@"; do
      [ -e "$name" ] || { echo "error: there is no file $name" >&2; exit 2; }
    done
    mapfile -t files < <(printf '%s\n' "$@" | sources_of)
    ;;
esac

chosen=()
for file in "${files[@]}"; do
  if grep -qxF "$file" <<<"$known"; then
    chosen+=("$file")
  else
    echo "left out, because Clang does not compile it, or not for this Python: $file"
  fi
done
for file in "${left_out[@]}"; do
  echo "left out, because $at_most newer ones come first: $file"
done

status=0
if [ ${#chosen[@]} -gt 0 ]; then
  export -f check
  export venv database
  printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" bash -c 'check "$1"' check || status=1
fi
echo "clang-tidy: ${#chosen[@]} files, ${#left_out[@]} left out$([ $status = 0 ] || echo ', with findings')"
exit $status
