"""Runs one test module of CPython in one way: python worker.py RESULT MODE MODULE [STRESS]

MODE is "plain" (no hook), "idle" (a hook that only calls the interpreter) or "everywhere"; STRESS ends every region after
this number of instructions. RESULT is the file to write a JSON object to: outcomes by test id, and the counters of the
evaluator. The messages of failing tests go to standard error.

Nothing is imported before the module, under the hook: its imports are first imports.
"""

import sys

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import eval_frame

# A trace unrolls loops; the tests have long ones.
WALK_LIMIT = 1000


def start_hook(mode):
    """Returns the function that ends it."""
    if mode == "everywhere":
        eval_frame.enable_everywhere()
        return eval_frame.disable_everywhere
    if mode == "idle":
        hook = _C._testing.IdleHook()
        hook.start()
        return hook.stop
    return lambda: None


def run_tests(module, without_resources):
    """The result of the tests; a skip of the whole module is the outcome of one test."""
    if without_resources:
        import test.support

        test.support.use_resources = []
    try:
        __import__(f"test.{module}")
    except BaseException as error:
        import unittest

        if not isinstance(error, unittest.SkipTest):
            raise
        return {f"test.{module}": "skip"}, []
    import unittest

    from outcomes import Outcomes, name_of

    result = Outcomes()
    unittest.defaultTestLoader.loadTestsFromName(f"test.{module}").run(result)
    return result.outcomes, [(name_of(test), text) for test, text in [*result.failures, *result.errors]]


def main(path, mode, module, stress="0", without_resources=""):
    minidynamo._dynamo.config.walk_limit = WALK_LIMIT
    minidynamo._dynamo.config.snapshot_stress = int(stress)
    import io

    output, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    end_hook = start_hook(mode)
    try:
        outcomes, failures = run_tests(module, bool(without_resources))
    finally:
        end_hook()
        sys.stdout = output
    import json

    for test, text in failures:
        print(f"--- {test}\n{text}", file=sys.stderr)
    with open(path, "w") as file:
        json.dump({"outcomes": outcomes, "counters": eval_frame.execution_counters()}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
