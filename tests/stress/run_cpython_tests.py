"""Runs test modules of CPython with every frame of the main thread executed by minidynamo, or with an idle hook.

    python run_cpython_tests.py MODE RATE SEED MODULE...

RATE is the share of instructions before which a frame bails out; if it is not 0, half of the loops are lent to the evaluator.
MODE is "plain", "idle" (hook installed, frames to the evaluator) or "concrete". One line per test on standard output,
"module outcome test-id", and "counters {...}" at the end.
"""

import io
import json
import sys
import unittest
from pathlib import Path

from minidynamo import _C

sys.path.insert(0, str(Path(__file__).parents[1] / "cpython"))
from outcomes import Outcomes  # noqa: E402


def main(mode, rate, seed, modules):
    frames = _C._testing.ConcreteFrames(
        float(rate), 0.5 if float(rate) else 0.0, int(seed), 0.5 if float(rate) else 0.0
    )
    idle = _C._testing.IdleHook()
    output = sys.stdout
    for name in modules:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{name}")
        result = Outcomes()
        sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        driver = {"plain": None, "idle": idle, "concrete": frames}[mode]
        if driver:
            driver.start()
        try:
            suite.run(result)
        finally:
            if driver:
                driver.stop()
            sys.stdout = output
        for test, outcome in result.outcomes.items():
            print(name, outcome, test)
        for kind in (result.failures, result.errors):
            for test, text in kind:
                print(f"--- {test.id()}\n{text}", file=sys.stderr)
    print("counters", json.dumps(frames.counters()))


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4:])
