"""Counts how often each program of size_programs.py is compiled after each call, here and in torch, and writes size_counts.json.

    python tests/guards/torch_sizes.py              counts in minidynamo
    python tests/guards/torch_sizes.py --torch      counts in torch, where that is installed

The calls of a backend are counted. For a call that raises, the name of the exception replaces the count.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE / "size_counts.json"


def as_torch():
    """Lets the programs import torch under our name."""
    import torch
    import torch._dynamo

    torch._dynamo.mark_unbacked = torch._dynamo.decorators.mark_unbacked

    sys.modules |= {"minidynamo": torch, "minidynamo._dynamo": torch._dynamo}
    return torch


def count(library, program):
    """The number of compilations so far, after each call."""
    options, function, calls = program
    compiled = 0

    def backend(gm, example_inputs):
        nonlocal compiled
        compiled += 1
        return gm.forward

    library._dynamo.reset()
    run = library.compile(function, backend=backend, **options)
    counts = []
    for call in calls:
        try:
            run(*call())
            counts.append(compiled)
        except Exception as error:
            counts.append(type(error).__name__)
    return counts


def main():
    name = "torch" if "--torch" in sys.argv else "minidynamo"
    library = as_torch() if name == "torch" else __import__("minidynamo")
    sys.path.insert(0, str(HERE))
    from size_programs import PROGRAMS

    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    stored[name] = {key: count(library, program) for key, program in PROGRAMS.items()}
    rows = ",\n".join(
        f' "{library}": {{\n' + ",\n".join(f'  "{key}": {json.dumps(counts)}' for key, counts in rows.items()) + "\n }"
        for library, rows in sorted(stored.items())
    )
    STORE.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
