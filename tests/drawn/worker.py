"""One process of a generator: python -m tests.drawn.worker NAME COUNT SEED. Prints the numbers of hits by outcome as
JSON."""

import json
import sys
import warnings

import minidynamo
from minidynamo import _C

from .generators import load

AT_ONCE = 50  # programs between two resets


def main(name, count, seed):
    warnings.simplefilter("ignore", SyntaxWarning)  # of drawn programs, such as (1)()
    run = load(name)
    for start in range(seed, seed + count, AT_ONCE):
        run(min(AT_ONCE, seed + count - start), start)
        minidynamo._dynamo.reset()
    counts = _C.check_captures_counts()
    # Including those whose exception the program handled.
    assert counts["mismatches"] == 0, f"{counts['mismatches']} mismatches from seed {seed}"
    print(json.dumps({kind: counts[kind] for kind in ("compared", "uncompared")}))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
