"""The troubleshooting page of the first torchdynamo: each of its snippets, with its gaps filled in."""

import logging

import pytest

import minidynamo
from minidynamo._dynamo.exc import Unsupported

X = minidynamo.tensor([1.0, 2.0])

SETUP = """\
import torch
import torchdynamo

def some_fun(x):
    return x.sin() + 1

def my_model():
    for size in (2, 3, 4):
        graph_broken(torch.ones(size))

def graph_broken(x):
    x = x + 1
    torchdynamo.graph_break()
    return x * 2
"""


@pytest.fixture
def program(notebook):
    notebook.run(SETUP, "<setup>")
    notebook.namespace["x"] = X
    return notebook


@pytest.mark.counts_regions
def test_a_program_under_optimize(program):
    counter = minidynamo._dynamo.testing.CompileCounter()
    program.namespace["compiler"] = counter
    program.run("with torchdynamo.optimize(compiler):\n    result = some_fun(x)\n", "<optimize>")
    assert program.namespace["result"].tolist() == (X.sin() + 1).tolist()
    assert (counter.frame_count, counter.op_count) == (1, 2)


PROFILE = """\
prof = torchdynamo.utils.CompilationProfiler()
with torchdynamo.optimize(prof):
    my_model()
print(prof.report())
"""


@pytest.mark.counts_regions
def test_the_recompilation_profiler(program):
    program.run(PROFILE, "<profile>")
    assert "Graph break in user code at <setup>:13" in program.output
    profiler = program.namespace["prof"]
    assert len(profiler.graph_breaks) >= 1
    # As if cache_size_limit were 1: a call that does not fit the capture is listed with the guard that failed.
    assert any("size mismatch at index 0. expected 2, actual 3" in failure for failure in profiler.guard_failures)
    assert "size mismatch at index 0. expected 2, actual 3" in program.output
    assert minidynamo._dynamo.config.cache_size_limit > 1


@pytest.mark.counts_regions
def test_no_python_mode(program):
    with pytest.raises(Unsupported, match="graph_break") as caught:
        program.run("with torchdynamo.optimize('eager', nopython=True):\n    graph_broken(x)\n", "<nopython>")
    assert [(line.filename, line.lineno) for line in caught.value.real_stack] == [("<setup>", 13)]
    with pytest.raises(Unsupported, match="graph_break"):
        program.run("torchdynamo.optimize('eager', nopython=True)(graph_broken)(x)", "<nopython>")


@pytest.mark.counts_regions
def test_the_cache_limit(program, caplog):
    before = minidynamo._dynamo.config.recompile_limit
    source = """\
torchdynamo.config.cache_size_limit = 2
count = torch._dynamo.testing.CompileCounter()
counted = torch.compile(some_fun, backend=count, dynamic=False)
for size in (1, 2, 3, 4):
    counted(torch.ones(size))
"""
    try:
        with caplog.at_level(logging.WARNING):
            program.run(source, "<limit>")
        assert minidynamo._dynamo.config.recompile_limit == 2
    finally:
        minidynamo._dynamo.config.recompile_limit = before
    assert program.namespace["count"].frame_count == 2
    assert sum("recompile_limit (2)" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.counts_regions
def test_debug_shows_graphs_and_guards(program):
    messages = []

    class Keep(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())

    handler = Keep()
    logging.getLogger("minidynamo").addHandler(handler)
    try:
        program.run("torchdynamo.config.debug = True", "<debug>")
        program.run("torch.compile(some_fun)(x)", "<call>")
    finally:
        program.run("torchdynamo.config.debug = False", "<debug>")
        logging.getLogger("minidynamo").removeHandler(handler)
    text = "\n".join(messages)
    assert "sin" in text and "GUARDS" in text
