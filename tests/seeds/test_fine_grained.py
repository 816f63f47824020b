"""The page on the APIs for fine-grained tracing: each row of its table, and the picture of nested functions."""

import pytest

import minidynamo
from minidynamo._dynamo.testing import CompileCounterWithBackend

X = minidynamo.tensor([1.0, 2.0])

# The structure that the page describes: fn calls a_fn and b_fn, a_fn calls aa_fn and ab_fn.
PROGRAM = """\
import torch

def aa_fn(x):
    seen.append(("aa_fn", torch.compiler.is_compiling()))
    return x + 10

def ab_fn(x):
    return x + 11

def a_fn(x):
    x = aa_fn(x)
    x = ab_fn(x)
    return x + 1

def b_fn(x):
    return x + 2

def fn(x):
    x = a_fn(x)
    x = b_fn(x)
    return x
"""


@pytest.fixture
def program(notebook):
    notebook.namespace["seen"] = []
    notebook.run(PROGRAM, "<program>")
    return notebook


def compiled(program, name="fn", **options):
    counter = CompileCounterWithBackend("eager")
    return minidynamo.compile(program.namespace[name], backend=counter, **options), counter


@pytest.mark.counts_regions
def test_every_frame_is_captured(program):
    function, counter = compiled(program, fullgraph=True)
    assert function(X).tolist() == [25.0, 26.0]
    assert (counter.frame_count, counter.op_count) == (1, 4)
    assert program.namespace["seen"] == [("aa_fn", True)]


@pytest.mark.counts_regions
@pytest.mark.parametrize("form", ["decorator", "call"])
def test_disable_leaves_a_function_and_all_that_it_calls(program, form):
    if form == "decorator":
        source = PROGRAM.replace("def a_fn(x):", "@torch.compiler.disable\ndef a_fn(x):")
        program.run(source, "<decorated>")
    else:
        program.run("a_fn = torch.compiler.disable(a_fn)", "<call>")
    function, counter = compiled(program)
    assert function(X).tolist() == [25.0, 26.0]
    assert counter.op_count == 1  # that of b_fn
    assert program.namespace["seen"] == [("aa_fn", False)]


def test_torch_compiler_compile_is_torch_compile(program):
    assert program.run("torch.compiler.compile(fn, fullgraph=True)(torch.zeros(1))", "<c>").tolist() == [24.0]


@pytest.mark.counts_regions
def test_disallow_in_graph_breaks_at_an_operation(program):
    program.run("def g(x):\n    return torch.sub(x + 1, 2) * 3", "<g>")
    try:
        program.run("torch._dynamo.disallow_in_graph(torch.sub)", "<disallow>")
        function, counter = compiled(program, "g")
        assert function(X).tolist() == [0.0, 3.0]
        assert (counter.frame_count, counter.op_count) == (2, 2)
    finally:
        # The flag is global, as the page warns: allow_in_graph restores it.
        program.run("torch.compile.allow_in_graph(torch.sub)", "<allow>")
    function, counter = compiled(program, "g")
    assert function(X).tolist() == [0.0, 3.0]
    assert (counter.frame_count, counter.op_count) == (1, 3)


def test_disallow_in_graph_is_for_operations_not_functions(program):
    with pytest.raises(RuntimeError, match="already allowed callable"):
        program.run("torch._dynamo.disallow_in_graph(fn)", "<function>")


def test_disallow_in_graph_does_not_work_for_aten_operators(program):
    with pytest.raises(RuntimeError, match="already allowed callable"):
        program.run("torch._dynamo.disallow_in_graph(torch.ops.aten.add)", "<aten>")


@pytest.mark.counts_regions
@pytest.mark.parametrize("place", ["compile", "compiler", "_dynamo"])
def test_allow_in_graph_makes_one_node(program, place):
    program.run(f"@torch.{place}.allow_in_graph\ndef hidden(x):\n    return (x + 1) * (x - 1)\n", "<hidden>")
    program.run("def g(x):\n    return hidden(x) + 1", "<g>")
    function, counter = compiled(program, "g", fullgraph=True)
    assert function(X).tolist() == [1.0, 4.0]
    assert counter.op_count == 2
    assert "hidden" in counter.graphs[0].code


@pytest.mark.counts_regions
def test_graph_break_has_graphs_on_both_sides(program):
    program.run("def g(x):\n    x = x + 1\n    torch._dynamo.graph_break()\n    return x + 2", "<g>")
    function, counter = compiled(program, "g")
    assert function(X).tolist() == [4.0, 5.0]
    assert (counter.frame_count, counter.op_count) == (2, 2)


@pytest.mark.parametrize("name", ["is_compiling", "is_dynamo_compiling"])
def test_whether_something_is_compiling(program, name):
    program.run(f"def g(x):\n    return x + 1 if torch.compiler.{name}() else x - 1", "<g>")
    assert program.namespace["g"](X).tolist() == [0.0, 1.0]
    function, _ = compiled(program, "g", fullgraph=True)
    assert function(X).tolist() == [2.0, 3.0]
