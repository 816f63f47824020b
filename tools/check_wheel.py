"""Checks what a wheel of minidynamo contains and how large it is: check_wheel.py WHEEL"""

import re
import sys
import zipfile
from pathlib import Path

MAX_BYTES = 16_000_000
ONE_OF_EACH = (
    r"minidynamo/__init__\.py",
    r"minidynamo/py\.typed",
    r"minidynamo/_C\.pyi",
    r"minidynamo/include/minidynamo/extension\.h",
    r"minidynamo/include/minidynamo/extension_api\.h",
    r"minidynamo/_C\.cpython-3\d+-[\w-]+\.so",
    r"minidynamo/libdnnl\.so\.3[\d.]*",
    r"minidynamo-[\d.]+\.dist-info/licenses/LICENSE",
    r"minidynamo-[\d.]+\.dist-info/licenses/LICENSES/oneDNN-LICENSE\.txt",
    r"minidynamo-[\d.]+\.dist-info/licenses/LICENSES/oneDNN-THIRD-PARTY-PROGRAMS\.txt",
    r"minidynamo-[\d.]+\.dist-info/licenses/LICENSES/pybind11-LICENSE\.txt",
)
ALLOWED = re.compile(
    r"minidynamo/.*\.(py|pyi|typed|so|so\.3[\d.]*)|minidynamo/include/.*\.h|minidynamo-[\d.]+\.dist-info/.*"
)


def problems(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for pattern in ONE_OF_EACH:
        found = [name for name in names if re.fullmatch(pattern, name)]
        if len(found) != 1:
            yield f"expected one file like {pattern}, found {found}"
    for name in names:
        if not ALLOWED.fullmatch(name) or "__pycache__" in name:
            yield f"unexpected file {name}"
    size = wheel.stat().st_size
    if size > MAX_BYTES:
        yield f"{size} bytes, more than {MAX_BYTES}"
    metadata = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("dist-info/METADATA"))).decode()
    for line in re.findall(r"^Requires-Dist: .*", metadata, re.MULTILINE):
        if "extra ==" not in line:
            yield f"a run-time dependency: {line}"


def main():
    wheel = Path(sys.argv[1])
    found = list(problems(wheel))
    for problem in found:
        print(f"{wheel.name}: {problem}", file=sys.stderr)
    if not found:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, contents as expected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
