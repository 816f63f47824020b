"""CPython's own tests with every frame executed concretely pass if they pass under an idle hook."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent / "run_cpython_tests.py"
# Not included: test_dis checks what the interpreter has specialised.
MODULES = """
test_asyncgen test_augassign test_binop test_bool test_builtin test_call test_code test_collections test_compile
test_context test_contextlib test_copy test_coroutines test_dataclasses test_decorators test_descr test_dict
test_enum test_except_star test_exception_variations test_exceptions test_extcall test_frame test_fstring test_functools
test_gc test_generators test_genexps test_grammar test_import test_iter test_json test_keywordonlyarg test_list
test_listcomps test_metaclass test_named_expressions test_opcodes test_patma test_peepholer test_positional_only_arg
test_property test_raise test_re test_scope test_set test_super test_traceback test_tuple test_type_params
test_types test_unpack test_unpack_ex test_warnings test_weakref test_with test_yield_from
""".split()
# Asleep most of the time, and sensitive to timing.
WAITS = ["test_signal"]
QUICK = ["test_iter", "test_raise", "test_with"]
# Both start tracing and raise in one instruction: one event more than in the interpreter.
KNOWN = {"test_09_settrace_and_raise"}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("test.test_grammar") is None, reason="this Python has no test directory"
)


def outcomes(mode, rate, seed, modules, directory):
    command = [sys.executable, "-W", "ignore", str(RUNNER), mode, str(rate), str(seed), *modules]
    # The tests write into the working directory and import the package that this process imported.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    *lines, last = done.stdout.splitlines()
    rows = [line.split(" ", 2) for line in lines]
    return {test: outcome for _, outcome, test in rows}, json.loads(last.removeprefix("counters ")), done.stderr


def compare(rate, seed, modules, directory):
    idle, _, _ = outcomes("idle", rate, seed, modules, directory)
    found, counters, messages = outcomes("concrete", rate, seed, modules, directory)
    assert idle.keys() == found.keys()
    lost = {test for test in idle if idle[test] in ("ok", "skip") and found[test] != idle[test]}
    assert not {test for test in lost if test.rsplit(".", 1)[-1] not in KNOWN}, messages[-5000:]
    assert counters["instructions"] > 1000
    return counters


@pytest.mark.exhaustive
@pytest.mark.parametrize("module", WAITS)
def test_modules_that_sleep(module, tmp_path):
    compare(0.02, 11, [module], tmp_path)


def test_a_few_modules(tmp_path):
    counters = compare(0.01, 7, QUICK, tmp_path)
    assert counters["random_hand_overs"] > 100 and counters["unwound"] and counters["thrown"] and counters["loops_lent"]


# The share of instructions before which a frame bails out to the interpreter; a rate of 0 in the long run only.
@pytest.mark.slow
@pytest.mark.parametrize("rate", [pytest.param(0, marks=pytest.mark.exhaustive), 0.02])
@pytest.mark.parametrize("module", MODULES)
def test_module(module, rate, tmp_path):
    if importlib.util.find_spec(f"test.{module}") is None:
        pytest.skip("not in this version")
    compare(rate, 11, [module], tmp_path)
