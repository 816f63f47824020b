"""Writes the C file that stands in for the interpreter layer on a Python that has none; takes the headers.

Every function that csrc/cpython/*.h declares for C is defined to return zero; compile() never gets to calling one.
"""

import re
import sys
from pathlib import Path

DECLARATION = re.compile(r"^(?!typedef)(\w[\w *]*?\*?)\b(pv_\w+)(\([^;{]*\));", re.MULTILINE)


def main():
    for header in map(Path, sys.argv[1:]):
        text = header.read_text()
        if not DECLARATION.search(text):
            continue
        print(f'#include "cpython/{header.name}"')
        for result, name, arguments in DECLARATION.findall(text):
            body = "{}" if result.strip() == "void" else "{ return 0; }"
            print(f"{result}{name}{arguments} {body}")


if __name__ == "__main__":
    main()
