"""A plugin of pytest: each test function runs in one way, and the outcomes go to a file.

NUMPY_SUITE_WAY is "plain", "everywhere" or "stressed" (regions of at most three instructions), NUMPY_SUITE_RESULT the file.
Everywhere mode is on during the test functions only: NumPy is imported before, as in a program that compiles its functions.
"""

import json
import os

import numpy  # noqa: F401  its family is registered at the first compile
import pytest

import minidynamo
from minidynamo._dynamo import eval_frame

WAY = os.environ["NUMPY_SUITE_WAY"]
# A trace unrolls loops; the tests have long ones.
minidynamo._dynamo.config.walk_limit = 1000
minidynamo._dynamo.config.snapshot_stress = 3 if WAY == "stressed" else 0

outcomes = {}


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    if WAY == "plain":
        return (yield)
    with eval_frame.enable_everywhere(backend="onednn"):
        return (yield)


def pytest_runtest_logreport(report):
    name = report.nodeid.split("::", 1)[1]
    if outcomes.get(name, "passed") == "passed" and (report.when == "call" or report.outcome != "passed"):
        outcomes[name] = report.outcome


def pytest_sessionfinish():
    with open(os.environ["NUMPY_SUITE_RESULT"], "w") as file:
        json.dump({"outcomes": outcomes, "counters": eval_frame.execution_counters()}, file)
