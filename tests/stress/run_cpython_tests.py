"""Runs test modules of CPython with every frame of the main thread executed by minidynamo, or with an idle hook.

    python run_cpython_tests.py MODE RATE SEED MODULE...

MODE is "plain", "idle" (hook installed, frames to the evaluator) or "concrete". One line per test on standard output,
"module outcome test-id", and "counters {...}" at the end.
"""

import io
import json
import sys
import unittest

from minidynamo import _C


class Result(unittest.TestResult):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.outcomes = {}

    def record(self, test, outcome):
        if self.outcomes.get(test.id(), "ok") == "ok":
            self.outcomes[test.id()] = outcome

    def addSuccess(self, test):
        self.record(test, "ok")

    def addSkip(self, test, reason):
        self.record(test, "skip")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.record(test, "fail")

    def addError(self, test, error):
        super().addError(test, error)
        self.record(test, "error")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.record(test, "fail")

    def addExpectedFailure(self, test, error):
        self.record(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.record(test, "fail")


def main(mode, rate, seed, modules):
    frames = _C._testing.ConcreteFrames(float(rate), 0.5 if float(rate) else 0.0, int(seed))
    idle = _C._testing.IdleHook()
    output = sys.stdout
    for name in modules:
        suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{name}")
        result = Result(name)
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
