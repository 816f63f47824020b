#!/bin/sh
# Prints the path of a Python that runs, for a name such as python3.12. A name on PATH can be a version manager's shim
# for a version that is not active: then the manager's own installation is taken.
set -eu
name=$1
if path=$("$name" -c 'import sys; print(sys.executable)' 2>/dev/null) && [ -n "$path" ]; then
  echo "$path"
  exit 0
fi
version=${name#python}
if command -v pyenv >/dev/null 2>&1; then
  for path in $(ls -d "$(pyenv root)/versions/$version".*/bin/python 2>/dev/null | sort -rV); do
    if "$path" -c '' 2>/dev/null; then
      echo "$path"
      exit 0
    fi
  done
fi
echo "error: no Python that runs was found for '$name'" >&2
exit 1
