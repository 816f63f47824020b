"""The page on `fullgraph=False`: the three modes that it lists, and its strategy, each as the program that it describes."""

import pytest

import minidynamo
from minidynamo._dynamo.exc import Unsupported

PROGRAM = """\
import torch

def inner(x):
    x = x + 1
    torch._dynamo.graph_break()
    return x + 2

def model(x):
    return inner(x * 2)
"""


@pytest.fixture
def program(notebook):
    notebook.run(PROGRAM, "<program>")
    return notebook


def run(notebook, source):
    return notebook.run(source, "<run>")


X = minidynamo.tensor([1.0, 2.0])
RESULT = [5.0, 7.0]


def test_fullgraph_enforces_one_graph_and_cannot_be_toggled(program):
    program.namespace["x"] = X
    with pytest.raises(Unsupported, match="graph_break"):
        run(program, "torch.compile(model, fullgraph=True)(x)")
    with pytest.raises(Unsupported, match="graph_break"):
        run(
            program,
            "with torch._dynamo.error_on_graph_break(False):\n    torch.compile(model, fullgraph=True)(x)\n",
        )
    program.namespace["inner"] = minidynamo._dynamo.error_on_graph_break(False)(program.namespace["inner"])
    with pytest.raises(Unsupported, match="graph_break"):
        run(program, "torch.compile(model, fullgraph=True)(x)")


def test_error_on_graph_break_errors_and_can_be_toggled(program):
    program.namespace["x"] = X
    run(program, "compiled = torch.compile(model, fullgraph=False)")
    with pytest.raises(Unsupported, match="graph_break"):
        run(program, "with torch._dynamo.error_on_graph_break(True):\n    compiled(x)\n")
    source = "with torch._dynamo.error_on_graph_break(True):\n    result = compiled(x)\n"
    program.namespace["inner"] = minidynamo._dynamo.error_on_graph_break(False)(program.namespace["inner"])
    run(program, source)
    assert program.namespace["result"].tolist() == RESULT


@pytest.mark.counts_regions
def test_otherwise_tracing_resumes_after_a_break(program):
    program.namespace["x"] = X
    counter = minidynamo._dynamo.testing.CompileCounter()
    program.namespace["backend"] = counter
    assert run(program, "torch.compile(model, fullgraph=False, backend=backend)(x)").tolist() == RESULT
    assert (counter.frame_count, counter.op_count) == (2, 3)
    assert run(program, "torch.compile(model)(x)").tolist() == RESULT


def test_step_1_compile_the_highest_function_or_parts_of_it(program):
    program.namespace["x"] = X
    run(program, "whole = torch.compile(model)\npart = inner = torch.compile(inner)")
    assert run(program, "whole(x)").tolist() == run(program, "model(x)").tolist() == RESULT


@pytest.mark.counts_regions
def test_step_2_disable_makes_one_break_of_many(program):
    program.namespace["x"] = X
    source = """\
def preprocess(x):
    x = x + 1
    torch._dynamo.graph_break()
    x = x + 2
    torch._dynamo.graph_break()
    x = x + 3
    torch._dynamo.graph_break()
    return x + 4

def step(x):
    return preprocess(x * 2) * 3
"""
    run(program, source)
    explain = minidynamo._dynamo.explain
    many = explain(program.namespace["step"])(X)
    run(program, "preprocess = torch.compiler.disable(preprocess)")
    one = explain(program.namespace["step"])(X)
    assert (many.graph_break_count, one.graph_break_count) == (3, 1)
    assert run(program, "torch.compile(step)(x)").tolist() == [36.0, 42.0]


def test_step_3_the_log_of_graph_breaks_and_the_eager_backend(program):
    program.namespace["x"] = X
    run(program, "torch._logging.set_logs(graph_breaks=True)")
    assert run(program, "torch.compile(model, backend='eager')(x)").tolist() == RESULT
    (record,) = program.records
    assert record.startswith("Graph break in user code at <program>:5\n")
