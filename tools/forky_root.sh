#!/bin/bash
# Runs the tests on a CPython that this system does not have, in a root of Debian forky with its own compiler:
#   tools/forky_root.sh 3.14 [arguments of pytest]
# Makes the root with debootstrap in MINIDYNAMO_FORKY_ROOT (default: build/forky) and keeps it. Needs root.
# Where the root cannot be had (no root, debootstrap, mount, network or archive), or the tests could not begin within
# MINIDYNAMO_FORKY_SECONDS (default: 1500), it says so and ends with status 77. Tests that have begun run to their end.
# The C++ tests are left out, because they know no Python; MINIDYNAMO_CORE_TESTS=ON builds and runs them too.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
root=${MINIDYNAMO_FORKY_ROOT:-$PWD/build/forky}
mirror=${MINIDYNAMO_FORKY_MIRROR:-http://deb.debian.org/debian}
deadline=${MINIDYNAMO_FORKY_SECONDS:-1500}

skip() {
  echo "skipped: Python $version was not tested: $1"
  exit 77
}

# What is mounted is mounted in a namespace of its own, which ends with this script however that ends.
if [ "${MINIDYNAMO_FORKY_UNSHARED:-}" != "$$" ]; then
  [ "$(id -u)" = 0 ] || skip "making a Debian root needs root"
  unshare --mount true || skip "mounting is not permitted here"
  exec unshare --mount env MINIDYNAMO_FORKY_UNSHARED=$$ tools/forky_root.sh "$@"
fi
shift

phase=$SECONDS
tell() {
  echo "--- $1 ($((SECONDS - phase)) s)"
  phase=$SECONDS
}

# COMMAND...: ends it at the deadline, with status 124.
in_time() { timeout "$((SECONDS < deadline ? deadline - SECONDS : 1))" "$@"; }

if ! command -v debootstrap >/dev/null; then
  command -v apt-get >/dev/null || skip "there is no debootstrap"
  { in_time apt-get update && in_time apt-get install -y --no-install-recommends debootstrap; } ||
    skip "debootstrap could not be installed; apt's words are above"
fi

# The caller's proxies and package index hold in the root as well; so do the authorities that it trusts.
settings=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_INDEX_URL PIP_DEFAULT_TIMEOUT \
  CMAKE_BUILD_PARALLEL_LEVEL; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
inside() { chroot "$root" env -i "${settings[@]}" "$@"; }
prepare() { in_time chroot "$root" env -i "${settings[@]}" "$@"; }

if [ ! -e "$root/ready-$version" ]; then
  if [ ! -e "$root/ready" ]; then
    # What an interrupted run left cannot be gone on with.
    if [ -d "$root/debootstrap" ]; then rm -rf --one-file-system "$root"; fi
    mkdir -p "$root" || skip "$root cannot be made"
    # Old versions of debootstrap do not know the name forky; every suite is made like sid.
    in_time debootstrap --variant=minbase forky "$root" "$mirror" /usr/share/debootstrap/scripts/sid ||
      skip "debootstrap failed; its words are above"
    touch "$root/ready"
    tell "made the root"
  fi
fi
for place in proc dev; do
  mount --rbind "/$place" "$root/$place" || skip "/$place cannot be mounted in the root"
done
# The root's compiler has a cache of its own beside this system's, so that a root that is made anew need not build all again.
packages=("python$version-dev" "python$version-venv" g++ make git ca-certificates)
if command -v ccache >/dev/null; then
  cache=${CCACHE_DIR:-$(ccache --get-config cache_dir)}/forky
  if mkdir -p "$cache" "$root/ccache" && mount --bind "$cache" "$root/ccache"; then
    packages+=(ccache)
    settings+=(CCACHE_DIR=/ccache)
  fi
fi
if [ ! -e "$root/ready-$version" ]; then
  # The archive may be a frozen copy, whose lists are out of date on purpose.
  { prepare dpkg --configure -a && prepare apt-get -o Acquire::Check-Valid-Until=false update &&
    prepare DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      "${packages[@]}"; } ||
    skip "its packages could not be installed; apt's words are above"
  touch "$root/ready-$version"
  tell "installed its packages"
fi

authorities=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
if [ -e "$authorities" ]; then
  cp "$authorities" "$root/root/authorities.crt"
  settings+=(PIP_CERT=/root/authorities.crt)
fi
probe="python$version -m venv --clear /root/probe && /root/probe/bin/pip --quiet --disable-pip-version-check download --no-deps --dest /root/probe pybind11"
prepare sh -c "$probe" || skip "pip cannot reach its index from the root; its words are above"
tell "reached the package index"

# A copy, so that the root's builds and environments stay apart from this system's.
source=$root/root/minidynamo
mkdir -p "$source"
find "$source" -mindepth 1 -maxdepth 1 ! -name build ! -name '.venv*' -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar --null --files-from - -c | tar -x -C "$source"

# Warnings are not errors: the root's compiler is whatever forky has today.
core_tests=${MINIDYNAMO_CORE_TESTS:-OFF}
status=0
prepare MINIDYNAMO_WERROR=OFF MINIDYNAMO_CORE_TESTS="$core_tests" bash -c \
  'cd /root/minidynamo && tools/install.sh "$0" test' "python$version" || status=$?
case $status in
  0) ;;
  124) skip "the build did not end in time" ;;
  *) exit "$status" ;;
esac
tell "built the package"
if [ "$core_tests" = ON ]; then
  inside /root/minidynamo/.venv-build/bin/ctest --test-dir /root/minidynamo/build/core --output-on-failure
fi
inside sh -c 'cd /root/minidynamo && exec "$0" -m pytest "$@"' ".venv-$version/bin/python" "$@"
