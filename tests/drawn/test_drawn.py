"""python -m tests.drawn: each generator runs and reports failures, and the table lists every module that draws at
random."""

import ast
import re
import subprocess
import sys

import pytest

from minidynamo import _C
from minidynamo._dynamo import config

from . import running
from .generators import GENERATORS, TESTS, load

# Modules that draw something other than programs, calls or files, with what.
NO_GENERATORS = {
    "guards/test_guard_index.py": "the order of calls",
    "guards/test_guards.py": "where tensors lie in one memory",
    "ops/test_integer_convolutions.py": "elements",
    "api/test_public_scripts.py": "the data that the scripts read",
    "api/test_check_captures.py": "programs of a generator of the table",
    "capture/test_random_numbers.py": "numbers, which are what it is about",
    "ops/test_pools_of_long_rows.py": "elements",
    "ops/test_distances.py": "elements",
    "nn/test_alignments.py": "elements",
    "utils_data/test_workers.py": "numbers, which show the seeds of workers",
}


def draws(path):
    tree = ast.parse(path.read_text())
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {getattr(call, "attr", getattr(call, "id", "")) for call in calls}
    uses_hypothesis = any(isinstance(node, ast.ImportFrom) and node.module == "hypothesis" for node in ast.walk(tree))
    return "Random" in names or uses_hypothesis


def test_modules_that_draw_are_in_the_table():
    modules = {row.module.rpartition(".")[2] for row in GENERATORS.values()}
    found = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py") if draws(path)}
    missing = {str(path) for path in found if path.stem not in modules}
    assert missing == set(NO_GENERATORS)


def is_built(row):
    return not row.binary or any((TESTS.parent / "build").glob(f"*/{row.binary[0]}"))


@pytest.mark.parametrize("name", GENERATORS)
def test_each_runs(name):
    row = GENERATORS[name]
    if not is_built(row):
        pytest.skip(f"{row.binary[0]} is not built")
    if row.needs:
        pytest.importorskip(row.needs)
    before = _C.check_captures_counts()
    with config.patch(check_captures=10 if row.checked else 0):
        load(name)(5, 3_000_000)
    hits = {kind: count - before[kind] for kind, count in _C.check_captures_counts().items()}
    assert hits["mismatches"] == 0
    assert (hits["compared"] > 0) == row.checked


FAULTS = {
    "a wrong program": ("def check(seed): assert seed != 7, 'wrong'", "broken: seed 7"),
    "a crash": ("def check(seed): seed == 7 and os.abort()", "exits with -6"),
    "a mismatch that the program hides": (
        """
import minidynamo
from minidynamo._dynamo import config
def check(seed):
    wrong = lambda gm, example_inputs: lambda x: (x * 3,)
    try: minidynamo.compile(lambda x: x * 2, backend=wrong)(minidynamo.ones(2))
    except BaseException: pass
""",
        "mismatches from seed",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_reported(fault, monkeypatch, tmp_path):
    text, message = FAULTS[fault]
    (tmp_path / "broken.py").write_text(f"import os\n{text}\n")
    start = (
        f"import runpy, sys; sys.path[:0] = [{str(running.ROOT)!r}, {str(tmp_path)!r}]\n"
        "from tests.drawn.generators import GENERATORS, Generator\n"
        "GENERATORS['broken'] = Generator('broken', check='check')\n"
        "sys.argv = ['worker', 'broken', '20', '0']\n"
        "runpy.run_module('tests.drawn.worker', run_name='__main__')\n"
    )
    run = subprocess.run

    def run_broken(command, **keywords):
        return run([sys.executable, "-c", start], **keywords)

    monkeypatch.setattr(running.subprocess, "run", run_broken)
    result = running.run("broken", 20, 0, checked=True)
    (failure,) = result.failures
    assert message in failure
    assert re.search(r"worker broken 20 0 exits with -?\d", failure)
    assert str(result).startswith("broken: 20 from seed 0, 1 failed")


def test_the_command():
    command = [sys.executable, "-m", "tests.drawn", "arithmetic", "--count", "3", "--seed", "5", "--checked"]
    done = subprocess.run(command, cwd=running.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"arithmetic: 3 from seed 5, 0 failed; \d+ compared, \d+ uncompared hits", done.stdout)
    unknown = subprocess.run([*command[:3], "no_such"], cwd=running.ROOT, capture_output=True, text=True)
    assert unknown.returncode == 2 and "no such generator: no_such" in unknown.stderr
