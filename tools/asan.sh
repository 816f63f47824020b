#!/bin/sh
# Runs a command with the extension of the asan preset: tools/asan.sh python -m pytest tests
set -eu
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD/build/asan/python" PYTHONMALLOC=malloc
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}" UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
LD_PRELOAD="$(c++ -print-file-name=libasan.so) $(c++ -print-file-name=libstdc++.so)" exec "$@"
