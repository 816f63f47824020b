"""Runs test modules of NumPy in separate processes and compares their outcomes by test."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = ("plain", "everywhere", "stressed")
MODULES = {
    "numpy._core.tests": "umath ufunc numeric indexing nep50_promotions multiarray".split(),
    "numpy.lib.tests": ["function_base"],
}

_ROUNDING = "compares two ways to compute a number without any tolerance: one of them is NumPy's"
_MEMORY = "looks at the base or the alignment of a view of an array that the same region made: it owns its memory here"
_REFERENCES = "counts references: a region does not store what is not read again, and holds the constants that it met"
_BYTES = "an array of bools whose bytes are neither 0 nor 1"
# The parts of a test's name, and why it may fail.
KNOWN = {
    "test_ufunc_override_with_super": _ROUNDING,
    "test_std_with_mean_keyword_keepdims_false": _ROUNDING,
    "test_var_with_mean_keyword_keepdims_false": _ROUNDING,
    "TestFilterwindows::": _ROUNDING,
    "test_dot_3args": _ROUNDING,
    "test_count_nonzero_non_aligned_array": _MEMORY,
    "TestAttributes::test_attributes": _MEMORY,
    "test_no_dgemv": _MEMORY,
    "test_matmul_out": _MEMORY,
    "test_for_reference_leak": _REFERENCES,
    "TestResize::test_check_reference": _REFERENCES,
    "TestIndexing::test_small_regressions": _REFERENCES,
    "TestBool::test_sum": _BYTES,
}


def all_modules():
    return [f"{package}.test_{name}" for package, names in MODULES.items() for name in names]


def are_there():
    """Whether NumPy is installed with its tests."""
    return all(importlib.util.find_spec(package.split(".")[0]) and _is_there(package) for package in MODULES)


def _is_there(package):
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def run(module, way, timeout=3600):
    """({test: outcome}, counters, messages) of a module run one way."""
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory, "result.json")
        path = [str(Path(__file__).parent), *filter(None, sys.path)]
        environment = dict(
            os.environ, PYTHONPATH=os.pathsep.join(path), NUMPY_SUITE_WAY=way, NUMPY_SUITE_RESULT=str(result)
        )
        # Tests of NumPy's write into the working directory.
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-W", "ignore", "-m", "pytest", "-q", "--tb=short"]
            + ["-p", "everywhere_plugin", "-p", "no:cacheprovider", "--pyargs", module],
            cwd=directory, env=environment, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        if not result.exists():
            return {}, {}, done.stdout + done.stderr
        found = json.loads(result.read_text())
    return found["outcomes"], found["counters"], done.stdout


def lost(reference, found):
    """{test that passes in the reference and not here: the reason, or None if none is known}."""
    tests = [test for test, outcome in reference.items() if outcome == "passed" and found.get(test) != "passed"]
    return {test: next((KNOWN[part] for part in KNOWN if part in test), None) for test in tests}
