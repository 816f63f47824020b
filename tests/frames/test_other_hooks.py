"""The frame evaluator of another library next to this one: before, inside and around it. The other one sees the same frames as
without this library.
"""

import contextlib
import gc

import pytest
from at_once import at_once

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo.eval_frame import enable_everywhere

_testinternalcapi = pytest.importorskip("_testinternalcapi")


@pytest.fixture(autouse=True)
def restore():
    _dynamo.reset()
    yield
    _testinternalcapi.set_eval_frame_default()


def ones():
    return minidynamo.ones(2)


@contextlib.contextmanager
def watched(names):
    """Collects the names of the functions that another evaluator sees; TorchDynamo sets its own like this around a
    compiled call."""
    _testinternalcapi.set_eval_frame_record(names)
    try:
        yield
    finally:
        _testinternalcapi.set_eval_frame_default()


def leaf(value):
    return value * 3


def helper(value):
    return leaf(value) + 1


class Callable:
    def __call__(self, value):
        return helper(value)

    @property
    def attribute(self):
        return helper(1)

    def __getitem__(self, key):
        return helper(key)

    def __add__(self, other):
        return helper(other)

    def __enter__(self):
        return helper(1)

    def __exit__(self, *exception):
        return False

    def __len__(self):
        return helper(1)

    def __iter__(self):
        yield helper(1)


def by_function(x):
    return helper(x)


def by_object(x):
    return Callable()(x)


def by_attribute(x):
    return Callable().attribute


def by_item(x):
    return Callable()[2]


def by_operator(x):
    return Callable() + 1


def by_block(x):
    with Callable() as value:
        return value


def by_length(x):
    return len(Callable())


def by_iteration(x):
    return [each for each in Callable()]


def by_keywords(x):
    return helper(**{"value": x})


def by_generator(x):
    return list(helper(each) for each in (1, 2))


def by_map(x):
    return list(map(helper, (1, 2)))


def by_disabled(x):
    return minidynamo.compiler.disable(helper)(x)


CALLS = [value for name, value in dict(globals()).items() if name.startswith("by_")]


def same(left, right):
    return left.tolist() == right.tolist() if isinstance(left, minidynamo.Tensor) else left == right


def seen_plainly(call, value):
    call(value)  # which may import
    names = []
    with watched(names):
        result = call(value)
        seen = list(names)
    # The callback of Hypothesis, whenever garbage is collected.
    return [name for name in seen if name != "gc_callback"], result


@pytest.mark.parametrize("fullgraph_inside", [False, True])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [2, "tensor"])
def test_a_hook_inside_a_captured_function(call, value, fullgraph_inside):
    value = ones() if value == "tensor" else value
    expected, result = seen_plainly(call, value)
    names = []

    def inside(value):
        with watched(names):
            return call(value)

    def outer(x, value):
        y = x * 2
        z = inside(value)
        return y + 1, z

    compiled = minidynamo.compile(outer)
    for _ in range(3):
        names.clear()
        y, z = compiled(ones(), value)
        assert y.tolist() == [3.0, 3.0] and same(z, result)
        for name in expected:
            assert names.count(name) >= expected.count(name), (name, names, expected)
    # The code after it is captured again.
    assert _dynamo.explain(outer)(ones(), value).graph_count >= 2


@pytest.mark.parametrize("policy", ["default", "disable", "not nested", "everywhere"])
@pytest.mark.parametrize("call", CALLS)
def test_a_hook_that_comes_and_goes_in_the_functions_own_frame(call, policy):
    expected, result = seen_plainly(call, 2)
    names = []

    def function(x):
        y = x * 2
        _testinternalcapi.set_eval_frame_record(names)
        z = call(2)
        _testinternalcapi.set_eval_frame_default()
        return y + 1, z

    around = {
        "disable": lambda: contextlib.nullcontext(),
        "not nested": lambda: _dynamo.config.patch(nested_graph_breaks=False),
        "everywhere": enable_everywhere,
    }.get(policy, contextlib.nullcontext)
    compiled = minidynamo.compile(minidynamo.compiler.disable(function) if policy == "disable" else function)
    for _ in range(3):
        names.clear()
        with around():
            y, z = compiled(ones())
        assert y.tolist() == [3.0, 3.0] and same(z, result)
        for name in expected:
            assert names.count(name) >= expected.count(name), (name, names, expected)


@pytest.mark.parametrize("call", CALLS)
def test_a_pre_existing_hook(call):
    """It sees the frames in which nothing is captured."""
    expected, result = seen_plainly(call, 2)
    names = []

    def function(x):
        y = x * 2
        _dynamo.graph_break()
        return y + 1, breaking(call)

    def breaking(call):
        _dynamo.graph_break()
        return call(2)

    compiled = minidynamo.compile(function)
    for _ in range(3):
        names.clear()
        with watched(names):
            y, z = compiled(ones())
            helper(1)
            seen = list(names)
        seen = [
            name for name in seen if name != "gc_callback"
        ]  # the callback of Hypothesis, whenever garbage is collected
        assert y.tolist() == [3.0, 3.0] and same(z, result)
        assert "breaking" in seen and seen[-2:] == ["helper", "leaf"]
        for name in expected:
            assert seen.count(name) >= expected.count(name), (name, seen, expected)


def test_captures_continue_after_it():
    names = []

    def inside():
        with watched(names):
            return helper(2)

    def later(x):
        _dynamo.graph_break()
        return x * 4

    def function(x):
        y = x * 2
        z = inside()
        return later(y + 1), z

    compiled = minidynamo.compile(function, backend="eager")
    for _ in range(3):
        y, z = compiled(ones())
        assert y.tolist() == [12.0, 12.0] and z == 7
    explained = _dynamo.explain(function)(ones())
    assert explained.op_count == 3


def test_hooks_in_several_threads():
    """The evaluator is global to the process: the only effect may be frames that are not captured."""

    def function(x):
        y = x * 2
        _dynamo.graph_break()
        return leaf(y) + 1

    compiled = minidynamo.compile(function)
    wrong = []

    def work(seed):
        for number in range(200):
            if (number + seed) % 7 == 0:
                with watched([]):
                    result = compiled(ones())
            else:
                result = compiled(ones())
            if result.tolist() != [7.0, 7.0]:
                wrong.append(result)

    at_once(work, 4)
    assert not wrong
    gc.collect()


# ---- torch's own: these need torch beside minidynamo


def torch_compiled(torch, graphs):
    def backend(gm, example_inputs):
        graphs.append(gm)
        return gm.forward

    namespace = {}
    exec("def raw(y): return (y + 1).sum() * 2", namespace)
    return torch.compile(namespace["raw"], backend=backend), torch.compile(
        namespace["raw"], backend=backend, fullgraph=True
    )


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "where", ["inside", "alone", "disabled", "in a callee", "twice", "before", "around and inside"]
)
def test_torch_compile_captures_its_graphs(which, where):
    torch = pytest.importorskip("torch", minversion="2.10")
    torch._dynamo.reset()
    graphs, md_graphs = [], []
    compiled_by_torch = torch_compiled(torch, graphs)[which]
    expected = compiled_by_torch(torch.ones(2))
    torch._dynamo.reset()
    graphs.clear()

    def md_backend(gm, example_inputs):
        md_graphs.append(gm)
        return gm.forward

    def inside(x, y):
        a = x * 2
        b = compiled_by_torch(y)
        return a.sum(), b

    def alone(x, y):
        return x.sum() * 2, compiled_by_torch(y)

    def disabled(x, y):
        a = x * 2
        return a.sum(), minidynamo.compiler.disable(compiled_by_torch)(y)

    def callee(y):
        _dynamo.graph_break()
        return compiled_by_torch(y)

    def in_a_callee(x, y):
        return (x * 2).sum(), callee(y)

    def twice(x, y):
        compiled_by_torch(y)
        return (x * 2).sum(), compiled_by_torch(y)

    functions = {"inside": inside, "alone": alone, "disabled": disabled, "in a callee": in_a_callee, "twice": twice}
    outer = minidynamo.compile(functions.get(where, inside), backend=md_backend)
    if where in ("before", "around and inside"):
        md_outer = outer
        around = torch.compile(lambda x, y: (md_outer(x, y + 0), (y * 3).sum())[0], backend="eager")
        outer = around if where == "before" else minidynamo.compile(lambda x, y: around(x, y))
    for _ in range(3):
        a, b = outer(minidynamo.ones(2), torch.ones(2))
        assert a.item() == 4.0 and torch.equal(b, expected)
    assert len(graphs) == 1
    assert md_graphs or where in ("before", "around and inside")
