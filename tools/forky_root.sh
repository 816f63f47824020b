#!/bin/bash
# Runs the tests on a CPython that this system does not have, in a root of Debian forky with its own compiler:
#   tools/forky_root.sh 3.14 [arguments of pytest]
# Makes the root with debootstrap in MINIDYNAMO_FORKY_ROOT (default: build/forky) and keeps it. Needs root. Without root, debootstrap or
# the Debian archive it says so and succeeds; 77 is the status then with MINIDYNAMO_FORKY_REQUIRED=ON.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
shift
root=${MINIDYNAMO_FORKY_ROOT:-$PWD/build/forky}
mirror=${MINIDYNAMO_FORKY_MIRROR:-http://deb.debian.org/debian}

skip() {
  echo "skipped: Python $version was not tested: $1"
  if [ "${MINIDYNAMO_FORKY_REQUIRED:-OFF}" = ON ]; then exit 77; fi
  exit 0
}

[ "$(id -u)" = 0 ] || skip "making a Debian root needs root"
if ! command -v debootstrap >/dev/null; then
  command -v apt-get >/dev/null || skip "there is no debootstrap"
  { apt-get update && apt-get install -y --no-install-recommends debootstrap; } || skip "debootstrap could not be installed"
fi

packages="python$version-dev python$version-venv g++ make git ca-certificates"
if [ ! -e "$root/ready-$version" ]; then
  mkdir -p "$root"
  if [ ! -e "$root/ready" ]; then
    # Old versions of debootstrap do not know the name forky; every suite is made like sid.
    debootstrap --variant=minbase forky "$root" "$mirror" /usr/share/debootstrap/scripts/sid ||
      skip "debootstrap failed; its words are above"
    touch "$root/ready"
  fi
  # The archive may be a frozen copy, whose lists are out of date on purpose.
  { chroot "$root" apt-get -o Acquire::Check-Valid-Until=false update &&
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages; } ||
    skip "its packages could not be installed; apt's words are above"
  touch "$root/ready-$version"
fi

leave() {
  for place in "${mounted[@]}"; do umount "$place" || true; done
}
mounted=()
trap leave EXIT
for place in proc dev; do
  mount --bind "/$place" "$root/$place" || skip "/$place cannot be mounted in the root"
  mounted+=("$root/$place")
done

# A copy, so that the root's builds and environments stay apart from this system's.
source=$root/root/minidynamo
mkdir -p "$source"
find "$source" -mindepth 1 -maxdepth 1 ! -name build ! -name '.venv*' -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar --null --files-from - -c | tar -x -C "$source"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
  MINIDYNAMO_WERROR="${MINIDYNAMO_WERROR:-OFF}" \
  make -C /root/minidynamo test "PYTHON=python$version" "PYTEST_ARGS=$*"
