"""Which frames that run during a compiled call are captured, and what is reported about the others."""

import logging
import subprocess
import sys
import textwrap

import pytest

import minidynamo as md
from minidynamo._dynamo import config, graph_break
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions


def run_program(text):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=True)


def test_importing_a_package_at_a_break_is_silent():
    pytest.importorskip("numpy")
    program = """
        import sys
        import minidynamo

        @minidynamo.compile
        def f(x):
            return (x + 1).numpy().sum() + 1

        assert "numpy" not in sys.modules
        print(f(minidynamo.ones(3)), "numpy" in sys.modules)
    """
    finished = run_program(program)
    assert finished.stdout == "7.0 True\n"
    assert finished.stderr == ""


@pytest.fixture
def warned(caplog):
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records if "recompile_limit" in record.getMessage()]


def test_a_function_without_operations_reaches_the_limit_silently(warned):
    def helper(value):
        graph_break()  # makes it a root, since its caller is not Python code
        return len(value)

    def f(x):
        return x + len(max(("a", "bb", "ccc", "dddd"), key=helper))

    before = md._C.engine_counters()["limits_reached"]
    with config.patch(recompile_limit=2):
        assert md.compile(f)(md.zeros(1)).tolist() == [4.0]
    assert md._C.engine_counters()["limits_reached"] > before
    assert warned() == []


def test_a_function_with_operations_causes_a_warning(warned):
    def f(x, text):
        return x + len(text)

    with config.patch(recompile_limit=2):
        compiled = md.compile(f)
        results = [compiled(md.zeros(1), "a" * n).tolist() for n in (1, 500, 3, 4)]
    assert results == [[1.0], [500.0], [3.0], [4.0]]
    (message,) = warned()
    assert max(map(len, message.splitlines())) < 250  # a long constant is cut


def test_listed_packages_are_inlined_but_never_roots(tmp_path):
    """A file in site-packages/numpy/ stands for the functions of the package."""
    source = "def called_at_a_break(x):\n    return x * 2 + 1\n"
    path = str(tmp_path / "site-packages" / "{}" / "module.py")
    counts = {}
    for package in ("numpy", "ordinary"):
        namespace = {}
        exec(compile(source, path.format(package), "exec"), namespace)
        helper = namespace["called_at_a_break"]

        def f(x, helper=helper):
            graph_break()
            return max([x], key=lambda value: (graph_break(), helper(value))[1].sum().item())

        counter = CompileCounter()
        assert md.compile(f, backend=counter)(md.ones(2)).tolist() == [1.0, 1.0]
        inlined = CompileCounter()
        md.compile(helper, backend=inlined)(md.ones(2))
        counts[package] = (counter.op_count, inlined.op_count)
    assert counts["numpy"][1] == counts["ordinary"][1] == 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.nn.functional.relu(x) + 1", "2.0"),
        ("x + torch.compiler.is_compiling()", "2.0"),
        ("x + (not torch.cuda.is_available())", "2.0"),
        ("x * torch.finfo(x.dtype).bits", "32.0"),
    ],
)
def test_parts_that_are_loaded_lazily(expression, expected):
    """In a fresh process, where no code has loaded them: no break either."""
    program = f"""
        import minidynamo as torch

        @torch.compile(fullgraph=True)
        def f(x):
            return {expression}

        print(f(torch.ones(1)).item())
    """
    assert run_program(program).stdout == expected + "\n"
