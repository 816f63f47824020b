"""Backends that are callables, over torch's tensors: what they see is torch's, and what they return reaches the program."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from compiled_torch import difference_of_runs, run
from node_by_node import node_by_node, targets

import minidynamo
from minidynamo._dynamo.exc import BackendCompilerFailed

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]


def through_the_module(gm, example_inputs):
    return lambda *args: gm(*args)


BACKENDS = {
    "onednn": "onednn",
    "eager": "eager",
    "forward": lambda gm, example_inputs: gm.forward,
    "the_module": lambda gm, example_inputs: gm,
    "through_the_module": through_the_module,
    "node_by_node": node_by_node,
    "compiled_by_ours": lambda gm, example_inputs: gm._graph.compiled("onednn", example_inputs),
}


def split_in_two(a):
    c = a + 1
    return c[:2], c[1:]


def with_its_views(a):
    c = a + 1
    return c[0], c, c.view(4, 3), c.t()


def written_results(a):
    c = a * 2
    return c.add_(1), c[0], a


def dtypes_of_one_memory(a):
    c = a + 1
    return c.view(torch.int32)[1:], c[:2]


def module(x):
    return NET(x)


NET = torch.nn.Sequential(
    *(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
    *(torch.nn.Flatten(), torch.nn.Linear(36, 5), torch.nn.LayerNorm(5)),
).eval()

A = torch.arange(12.0).reshape(3, 4)
PROGRAMS = {
    "operators": (lambda a, b: (a * b + 2) / (b - a * 3), (A, A + 1)),
    "functions": (lambda a, b: torch.relu(torch.add(a, b, alpha=2)), (A, A)),
    "methods": (lambda a: a.mul(2).sum(dim=1, keepdim=True), (A,)),
    "overloads": (lambda a: (a.max(), a.max(1), a.mean(0, keepdim=True), torch.sort(a, stable=True)), (A,)),
    "a_keyword_after_a_default": (lambda a: (a.clamp(max=5), a.std(keepdim=True), torch.sort(a, 1, True)), (A,)),
    "no_namesake": (lambda a: torch.nn.functional.pad(a, (1, 1)) + torch.diag_embed(a)[0].sum(), (A,)),
    "no_tensors": (lambda: torch.linspace(0, 1, 5), ()),
    "constants": (lambda a: a + torch.tensor([1.0, 2, 3, 4]), (A,)),
    "numbers": (lambda a, n: a * n, (A, 2.5)),
    "dtypes": (lambda a: (a.to(torch.float64), a.long(), torch.zeros(2, dtype=torch.int16)), (A,)),
    "formats": (lambda a: a.contiguous(memory_format=torch.channels_last), (A.reshape(1, 3, 2, 2),)),
    "lists": (lambda a: (torch.split(a, 2), torch.split(a, 5), torch.cat([a, a])), (A,)),
    "in_place": (lambda a, b: (a.add_(b), a), (A, A)),
    "into_a_window": (lambda a, b: a[1:].copy_(b[:2]), (A, A * 2)),
    "out": (lambda a, b: torch.mul(a, b, out=a), (A, A)),
    "arguments": (lambda a: (a, a[0], a + 1), (A,)),
    "views_in_one_memory": (split_in_two, (A,)),
    "a_result_and_its_views": (with_its_views, (A,)),
    "results_written": (written_results, (A,)),
    "dtypes_of_one_memory": (dtypes_of_one_memory, (A,)),
    "a_module": (module, (torch.arange(192.0).reshape(1, 3, 8, 8).cos(),)),
    "empty": (lambda a: (a[:0] + 1, a[:0].sum()), (A,)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, backend):
    function, given = PROGRAMS[name]
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, backend=BACKENDS[backend])
    theirs = run(lambda args, _: function(*args), (given, {}))
    for _ in range(2):
        ours = run(lambda args, _: compiled(*args), (given, {}))
        assert not difference_of_runs(ours, theirs, allowed=(1e-5, 1e-5))


# What a write to one result does to the others.
SHARING = ["views_in_one_memory", "a_result_and_its_views", "dtypes_of_one_memory", "lists", "results_written"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SHARING)
def test_writes_to_results(name, backend):
    function, given = PROGRAMS[name]

    def written(call):
        results = torch.utils._pytree.tree_leaves(call(*(value.clone() for value in given)))
        shown = []
        for each in results:
            each.zero_()
            shown.append([other.tolist() for other in results])
        return shown

    assert written(minidynamo.compile(function, backend=BACKENDS[backend])) == written(function)


def of_sizes(x):
    return x.sum() / x.shape[0], x.reshape(-1, 2 * x.shape[0]), x[: x.shape[0] // 2 - 1], x.new_zeros(x.shape[0] + 3)


# Sizes and numbers that vary, from arguments and from elements.
VARYING = {
    "sizes": (of_sizes, lambda n: (torch.arange(2.0 * n).reshape(n, 2),)),
    "numbers": (lambda x, n: x * n + n * 2, lambda n: (torch.ones(3), n)),
    "sizes_of_another": (lambda x, y: x[: y.shape[0]] + 1, lambda n: (torch.arange(20.0), torch.ones(n))),
    "counted": (lambda x: x[x > 4] * 2, lambda n: (torch.arange(float(n)),)),
    "elements": (lambda x, t: x[: int(t)] + 1, lambda n: (torch.arange(20.0), torch.tensor(n))),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", VARYING)
def test_sizes_that_vary(name, backend):
    function, given = VARYING[name]
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, backend=BACKENDS[backend], fullgraph=True)
    for n in (6, 8, 10, 12, 7):
        theirs = run(lambda args, _: function(*args), (given(n), {}))
        assert not difference_of_runs(run(lambda args, _: compiled(*args), (given(n), {})), theirs)


def test_strides_are_those_of_the_graph():
    def backend(gm, example_inputs):
        return lambda x: [x.clone().t().contiguous().t() + 1]

    result = minidynamo.compile(lambda x: x + 1, backend=backend)(A)
    assert torch.equal(result, A + 1) and result.stride() == A.stride()


SEEN = {
    "operators": (lambda a: a * 2 + a, ["mul", "add"]),
    "functions": (lambda a: torch.relu(torch.add(a, a)), [torch.add, torch.relu]),
    "functional": (lambda a: torch.nn.functional.gelu(torch.nn.functional.linear(a, a)), None),
    "methods": (lambda a: a.sum(1).sin(), ["sum", "sin"]),
}
SEEN["functional"] = (SEEN["functional"][0], [torch.nn.functional.linear, torch.nn.functional.gelu])


@pytest.mark.parametrize("name", SEEN)
def test_targets_are_torchs(name):
    function, expected = SEEN[name]
    found = []

    def backend(gm, example_inputs):
        found.extend(targets(gm))
        return gm

    minidynamo.compile(function, backend=backend)(A)
    assert [target if target in expected else target.__name__ for target in found] == expected


def test_what_a_backend_sees():
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, example_inputs))
        return gm

    weight, x = torch.nn.Parameter(torch.ones(2, 3)), torch.ones(4, 3)
    minidynamo.compile(lambda x: torch.nn.functional.linear(x, weight).to(torch.float64), backend=backend)(x)
    ((gm, (first, second)),) = seen
    assert first is x and second is weight
    assert gm.library == "torch" and type(gm(first, second)[0]) is torch.Tensor
    values = [node.meta["val"] for node in gm.graph.nodes if node.op != "output"]
    assert all(isinstance(value, torch.Tensor) for value in values)
    facts = [(tuple(v.shape), v.stride(), v.dtype, v.device.type) for v in values]
    assert facts[-1] == ((4, 2), (2, 1), torch.float64, "cpu") and facts[0] == ((4, 3), (3, 1), torch.float32, "cpu")
    text = gm.print_readable(False)
    for part in ("class GraphModule(torch.nn.Module)", "torch.nn.functional.linear(", ".to(torch.float64)"):
        assert part in text
    assert gm.graph.find_nodes(op="call_function", target=torch.nn.functional.linear)


@pytest.mark.counts_python_runs
def test_a_backend_that_writes_to_an_input():
    def backend(gm, example_inputs):
        return lambda x: (x.add_(1),)

    x = torch.zeros(3)
    result = minidynamo.compile(lambda x: x + 1, backend=backend)(x)
    assert result is x and x.tolist() == [1, 1, 1] and x._version == 1


@pytest.mark.counts_python_runs
def test_results_are_the_objects_of_the_backend():
    made = torch.ones(3)
    result = minidynamo.compile(lambda x: x + 1, backend=lambda gm, inputs: lambda x: [made])(torch.zeros(3))
    assert result is made


def raising(gm, example_inputs):
    raise KeyError("no such thing")


# Backend, exception, its text.
WRONG = {
    "raises": (raising, BackendCompilerFailed, "no such thing"),
    "returns_nothing": (lambda gm, inputs: None, BackendCompilerFailed, "must return a callable"),
    "its_callable_raises": (lambda gm, inputs: lambda x: x.no_such_method(), AttributeError, "no_such_method"),
    "no_tuple": (lambda gm, inputs: lambda x: x + 1, TypeError, "tuple or list of 1 tensors, not a Tensor"),
    "too_many": (lambda gm, inputs: lambda x: (x, x), TypeError, "not 2 values"),
    "no_tensor": (lambda gm, inputs: lambda x: (1,), TypeError, "a int at position 0"),
    "another_dtype": (lambda gm, inputs: lambda x: (x.double(),), RuntimeError, "output 0 must be f32"),
    "another_shape": (lambda gm, inputs: lambda x: (x[:1],), RuntimeError, "output 0 must be f32"),
    "a_sparse_tensor": (lambda gm, inputs: lambda x: (x.to_sparse(),), TypeError, "at position 0"),
    "a_meta_tensor": (lambda gm, inputs: lambda x: (x.to("meta"),), TypeError, "at position 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_backends(name):
    backend, error, text = WRONG[name]
    x = torch.ones(3)
    with pytest.raises(error, match=text):
        minidynamo.compile(lambda x: x + 1, backend=backend)(x)
    assert x._version == 0


def test_explain_says_whose_tensors_were_captured():
    found = minidynamo._dynamo.explain(lambda x, w: torch.relu(x) * w)(torch.ones(3), torch.nn.Parameter(torch.ones(3)))
    assert found.graphs[0].library == "torch" and "Ops 1 of torch: relu, mul" in str(found)
    guards = [text for text in found.out_guards if text.startswith("TENSOR_MATCH")]
    assert " is torch.Tensor float32" in guards[0] and " is torch.Parameter float32" in guards[1]
    own = minidynamo._dynamo.explain(lambda x: x + 1)(minidynamo.ones(3))
    assert own.graphs[0].library == "minidynamo" and "torch" not in str(own).replace("torch_", "")


def test_the_state_of_torch_guards_functions_without_tensors():
    compiled = minidynamo.compile(lambda: torch.linspace(0, 1, 5))
    assert compiled().device.type == "cpu"
    with torch.device("meta"):
        assert compiled().device.type == "meta"
