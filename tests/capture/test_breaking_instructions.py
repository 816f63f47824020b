"""An instruction that breaks after it has appended to the graph: the region ends before it, as if it had not started."""

import contextlib
import io
import itertools
import re

import pytest

import minidynamo as md
from minidynamo._dynamo import allow_in_graph, config, nonstrict_trace

RUNS = []


@md.library.custom_op("broken::bump", mutates_args=("c",))
def bump(c: md.Tensor) -> None:
    RUNS.append("bump")
    c.add_(1)


@md.library.custom_op("broken::without_fake", mutates_args=())
def without_fake(x: md.Tensor) -> md.Tensor:
    RUNS.append("without_fake")
    return x * 2


@md.library.custom_op("broken::two", mutates_args=("a",))
def two(a: md.Tensor, b: md.Tensor) -> None:
    RUNS.append("two")
    a.add_(b.sum())


@allow_in_graph
def hidden(x):
    return x * 2 if x.sum() > 0 else x  # needs data


@nonstrict_trace
def traced(x):
    y = x * 2
    return y + float(y.sum())


# Computes y from x, an argument.
MAKERS = {
    "turned": "y = (x * 2).t()",
    "row": "y = (x * 2)[0]",
    "rows": "z = x * 2; y = z[1:]",
    "flat": "y = (x + 1).view(-1)",
    "diagonal": "y = (x * 2).diagonal()",
    "parts": "z = x * 2; y = z.chunk(2)[1]",
    "whole": "y = x * 2",
    "detached": "y = (x * 2).detach()[1:]",
    "argument": "y = x.detach()",
    "view_of_argument": "y = x.detach().t()[1:]",
}
WRITES = {
    "none": "pass",
    "add": "y += 1",
    "item": "y[0] = 5",
    "method": "y.mul_(3)",
    "through_a_view": "y.view_as(y)[1:].add_(1)",
    "twice": "y += 1; y.sub_(2)",
    "out": "md.add(y.detach(), 1, out=y.detach())",
}
# Each breaks while it reads its operands, or after it has appended to the graph.
BREAKERS = {
    "written_operator": "bump(y)",
    "view_of_it": "bump(y[1:])",
    "operator_of_two_views": "two(y, y[:1])",
    "operator_without_fake": "r = without_fake(y)",
    "hidden": "r = hidden(y)",
    "traced": "r = traced(y)",
    "leaf_operand": "y.add_(leaf[: y.shape[-1]])",
    "several": "r = md.cat([y, without_fake(y)])",
    "item": "r = y.sum().item()",
    "branch": "r = 1 if y.sum() > 3 else 2",
    "mask": "r = y[y > 2]",
    "list": "r = y.tolist()",
    "print": "print(y)",
    "text": "r = f'{y}'",
    "break_call": "md._dynamo.graph_break()",
    "generator": "r = md.rand(y.shape[0], generator=source)",
    "wrong_sizes": "\\n    try: y.add_(md.ones(7, 7))\\n    except RuntimeError as error: r = type(error)",
    "wrong_dtype": "\\n    try: y.to(md.int64).add_(0.5)\\n    except RuntimeError as error: r = type(error)",
    "resized_out": "\\n    md.add(y.detach(), 1, out=md.empty(0))",
    "foreign": "r = sorted([y], key=id)[0]",
}
BEFORE = {"silent": "pass", "printing": "print('begun')"}


def program(maker, write, breaker, before):
    text = f"def f(x, leaf, source):\n    r = None\n    {BEFORE[before]}\n    {MAKERS[maker]}\n    {WRITES[write]}\n"
    text += "    " + BREAKERS[breaker].replace("\\n", "\n") + "\n    w = y * 1\n    return r, y.detach(), w.detach()\n"
    names = {"md": md, "bump": bump, "without_fake": without_fake, "two": two, "hidden": hidden, "traced": traced}
    exec(compile(text, f"<{maker} {write} {breaker}>", "exec"), names)
    return names["f"]


def without_names_of_nodes(text):
    """A region is one node of the graph of gradients."""
    return re.sub(r"Output \d+ of \w+ is a view", "a view", re.sub(r"grad_fn=<\w+>", "grad_fn", text))


def describe(value):
    if isinstance(value, md.Tensor):
        return "tensor", tuple(value.shape), value.stride(), value.requires_grad, value.tolist()
    if isinstance(value, str):
        return without_names_of_nodes(value)
    return [describe(item) for item in value] if isinstance(value, (list, tuple)) else value


def outcome(function, requires_grad):
    x = (md.arange(12.0).reshape(4, 3) - 4).requires_grad_(requires_grad)
    leaf = md.ones(4, requires_grad=requires_grad)
    source = md.Generator().manual_seed(3)
    RUNS.clear()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            result = describe(function(x, leaf, source))
        except Exception as error:
            result = type(error).__name__, without_names_of_nodes(str(error)), error.__traceback__.tb_next.tb_lineno
    return result, describe(x), describe(leaf), list(RUNS), without_names_of_nodes(output.getvalue())


FLAGS = {"verify_graphs": True, "suppress_internal_errors": False}


@pytest.fixture(autouse=True)
def checked():
    before = {name: getattr(config, name) for name in FLAGS}
    for name, value in FLAGS.items():
        setattr(config, name, value)
    yield
    for name, value in before.items():
        setattr(config, name, value)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("breaker", BREAKERS)
def test_as_in_eager_python(breaker, requires_grad):
    wrong = []
    for number, (maker, write) in enumerate(itertools.product(MAKERS, WRITES)):
        function = program(maker, write, breaker, list(BEFORE)[number % 2])
        want = outcome(function, requires_grad)
        options = ({}, {"backend": "eager"}, {"dynamic": True})[number % 3]
        md._dynamo.reset()
        compiled = md.compile(function, **options)
        for _ in range(2):
            got = outcome(compiled, requires_grad)
            if got != want:
                wrong.append((maker, write, options, got, want))
    assert wrong == []


def test_values_read_by_a_breaking_instruction_are_not_guarded():
    """The number is read for a call that cannot be traced: Python makes the call, whatever the number is."""

    @allow_in_graph
    def times(x, k):
        return x * k if x.sum() > 0 else x

    def f(x, k):
        y = x + 1
        r = times(y, k)
        return r * 2

    captured = []

    def backend(gm, inputs):
        captured.append(gm)
        return gm.forward

    compiled = md.compile(f, backend=backend)
    for k in (1, 2, 3, 4):
        assert compiled(md.ones(2), k).tolist() == [4 * k, 4 * k]
    assert len(captured) == 4


@pytest.mark.counts_python_runs
def test_a_function_with_a_constant_result_is_called_once():
    calls = []

    @md.compiler.assume_constant_result
    def number():
        calls.append(1)
        return len(calls)

    @md.compile
    def f(x):
        y = x + number() + number()
        return without_fake(y[0]) + number()

    assert f(md.ones(2)).item() == 11
    assert f(md.ones(2)).item() == 11
    assert len(calls) == 3
