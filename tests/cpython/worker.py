"""Runs one test module of CPython in one way: python worker.py MODE MODULE [STRESS]

MODE is "plain" (no hook), "idle" (a hook that only calls the interpreter) or "everywhere"; STRESS ends every region after
so many instructions. The last line of standard output is a JSON object: outcomes by test id, and in everywhere mode the
counters of the evaluator. What tests fail with goes to standard error.
"""

import contextlib
import faulthandler
import io
import json
import resource
import sys
import unittest

from outcomes import Outcomes

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import eval_frame

# A walk follows loops; the tests have long ones.
WALK_LIMIT = 1000
# A test that takes more fails, rather than the machine.
BYTES = 6 << 30


class IdleHook:
    def __init__(self):
        self.hook = _C._testing.IdleHook()

    def __enter__(self):
        self.hook.start()

    def __exit__(self, *exception):
        self.hook.stop()


def hooked(mode):
    if mode == "everywhere":
        return eval_frame.enable_everywhere()
    return IdleHook() if mode == "idle" else contextlib.nullcontext()


def main(mode, module, stress="0"):
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    minidynamo._dynamo.config.walk_limit = WALK_LIMIT
    minidynamo._dynamo.config.snapshot_stress = int(stress)
    suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{module}")
    result = Outcomes()
    output, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with hooked(mode):
            suite.run(result)
    finally:
        sys.stdout = output
    for test, text in [*result.failures, *result.errors]:
        print(f"--- {test.id()}\n{text}", file=sys.stderr)
    print(json.dumps({"outcomes": result.outcomes, "counters": eval_frame.execution_counters()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
