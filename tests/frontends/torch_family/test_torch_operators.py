"""Custom operators of torch.library, and functions under allow_in_graph, over torch's tensors: steps of the region."""

import gc
import importlib.util
import weakref

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from compiled_torch import difference_of_runs, run
from node_by_node import node_by_node
from torch.library import custom_op

import minidynamo

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]


@custom_op("minidynamo_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * x.dtype.itemsize * by).to(x.dtype)


@scaled.register_fake
def _(x, by=2.0):
    return torch.empty_like(x)


@custom_op("minidynamo_tests::halves", mutates_args=())
def halves(xs: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    middle = len(xs[0]) // 2
    return xs[0][:middle].clone(), xs[-1][middle:].clone()


@halves.register_fake
def _(xs):
    middle = len(xs[0]) // 2
    return xs[0].new_empty((middle, *xs[0].shape[1:])), xs[-1].new_empty((len(xs[-1]) - middle, *xs[-1].shape[1:]))


@custom_op("minidynamo_tests::raised_by_one", mutates_args={"x"})
def raised_by_one(x: torch.Tensor) -> None:
    x.numpy()[:] += 1


@custom_op("minidynamo_tests::sum_into", mutates_args={"out"})
def sum_into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    out.numpy()[:] = x.numpy().sum(0)
    return torch.ones(2)


@sum_into.register_fake
def _(x, out):
    return x.new_empty(2)


@custom_op("minidynamo_tests::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@custom_op("minidynamo_tests::raises", mutates_args=())
def raises(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("no such number")


@raises.register_fake
def _(x):
    return torch.empty_like(x)


@custom_op("minidynamo_tests::lies", mutates_args=())
def lies(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(2)


@lies.register_fake
def _(x):
    return torch.empty_like(x)


@custom_op("minidynamo_tests::transposed", mutates_args=())
def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.t().clone(memory_format=torch.contiguous_format)


@transposed.register_fake
def _(x):
    return x.new_empty((x.shape[1], x.shape[0]))


@custom_op("minidynamo_tests::counted", mutates_args=())
def counted(x: torch.Tensor) -> int:
    return int(x.numpy().sum())


@counted.register_fake
def _(x):
    return 0


CALLS = []


@custom_op("minidynamo_tests::remembered", mutates_args=())
def remembered(number: int) -> torch.Tensor:
    CALLS.append(number)
    return torch.full((2,), float(number))


@remembered.register_fake
def _(number):
    return torch.empty(2)


LIBRARY = torch.library.Library("minidynamo_tests_of_libraries", "DEF")
LIBRARY.define("negated(Tensor x) -> Tensor")
LIBRARY.impl("negated", lambda x: -x, "CPU")
torch.library.register_fake("minidynamo_tests_of_libraries::negated", torch.empty_like, lib=LIBRARY)
OPS, OTHERS = torch.ops.minidynamo_tests, torch.ops.minidynamo_tests_of_libraries


def function_of_numpy(x, y, add=1):
    if type(x) is not torch.Tensor:
        return x + y
    return torch.from_numpy(x.numpy() + y.numpy())


def several(x):
    return {"twice": x * 2, "itself": x, "number": 3, "list": [x.sum(), (x + 1,)]}


def a_view(x):
    return x[1:]


def writes(x):
    x.mul_(2)
    return x


WEIGHT = torch.full((3,), 2.0)
with_a_constant = torch.compiler.allow_in_graph(lambda x: x * WEIGHT)
by_torch = torch.compiler.allow_in_graph(lambda x, y: function_of_numpy(x, y))
by_dynamo = torch._dynamo.allow_in_graph(lambda x: several(x))
by_ours = minidynamo._dynamo.allow_in_graph(lambda x, y: function_of_numpy(x, y))
that_writes = torch.compiler.allow_in_graph(lambda x: writes(x))
that_views = torch.compiler.allow_in_graph(lambda x: a_view(x))
nonstrict = minidynamo._dynamo.nonstrict_trace(lambda x: several(x))


def caught(x):
    try:
        return raises(x)
    except ValueError as error:
        return x + 1, str(error)


A = torch.arange(1.0, 10.0).reshape(3, 3)
# Captured in one graph.
WHOLE = {
    "operator": (lambda x: scaled(x + 1, 3.0) * 2, (A,)),
    "default": (lambda x: scaled(x), (A,)),
    "keyword": (lambda x: scaled(x, by=0.5).sum(), (A,)),
    "packet": (lambda x: OPS.scaled(x, 2.0) + 1, (A,)),
    "overload": (lambda x: OPS.scaled.default(x, 2.0) + 1, (A,)),
    "list_of_tensors": (lambda x: halves([x, x + 1]), (A,)),
    "result_is_new": (lambda x: (lambda c: (c, c[0], c.t()))(scaled(x)), (A,)),
    "writes": (lambda x: (raised_by_one(x), x * 2)[1], (A,)),
    "writes_twice": (lambda x: (raised_by_one(x), OPS.raised_by_one(x), x)[2], (A,)),
    "writes_to_a_result": (lambda x: (lambda c: (raised_by_one(c), c)[1])(x * 2), (A,)),
    "writes_to_a_view": (lambda x: (raised_by_one(x[1]), x + 0)[1], (A,)),
    "writes_and_returns": (lambda x, y: (sum_into(x, y), y), (A, A[0])),
    "after_a_write": (lambda x: scaled(x.add_(1)), (A,)),
    "strides": (lambda x: (transposed(x), transposed(x.t())), (A[:2],)),
    "library": (lambda x: OTHERS.negated(x) + 1, (A,)),
    "by_torch": (lambda x: by_torch(x, x + 1) * 2, (A,)),
    "by_dynamo": (lambda x: by_dynamo(x), (A,)),
    "by_ours": (lambda x: by_ours(x, x) - 1, (A,)),
    "nonstrict": (lambda x: nonstrict(x + 1), (A,)),
    "a_constant": (lambda x: with_a_constant(x), (A,)),
    "a_function_that_writes": (lambda x: that_writes(x) + 1, (A,)),
    "aten": (lambda x: torch.ops.aten.mul.Tensor(x, x), (A,)),
    "grad_mode": (lambda x: modes(x), (A,)),
}
# Broken at the call, where torch's own runs.
BROKEN = {
    "without_fake": (lambda x: without_fake(x + 1) * 2, (A,)),
    "view": (lambda x: that_views(x * 2), (A,)),
    "aten_view": (lambda x: torch.ops.aten.view.default(x, [9]), (A,)),
    "raises_in_a_handler": (lambda x: caught(x * 1), (A,)),
    "returns_a_number": (lambda x: x + counted(x), (A,)),
    "without_tensors": (lambda x: x[:2, :2] + remembered(3), (A,)),
    "wrong_argument": (lambda x: scaled(x, "2"), (A,)),
    "no_argument": (lambda x: scaled(), (A,)),
}
# Captured; the exception is that of torch.
RAISING = {"raises": (lambda x: raises(x * 2) + 1, (A,))}


def ask_for_grad_mode(x):
    return x + torch.is_grad_enabled()


asked = torch.compiler.allow_in_graph(ask_for_grad_mode)


def modes(x):
    with torch.enable_grad():
        first = asked(x)
    return first, asked(x)


def compare(function, given, **options):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, **options)
    theirs = run(lambda args, _: function(*args), (given, {}))
    for _ in range(3):
        assert not difference_of_runs(run(lambda args, _: compiled(*args), (given, {})), theirs)


BACKENDS = {"onednn": "onednn", "eager": "eager", "the_module": lambda gm, inputs: gm, "node_by_node": node_by_node}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WHOLE)
def test_in_one_graph(name, backend):
    function, given = WHOLE[name]
    compare(function, given, fullgraph=True, backend=BACKENDS[backend])


@pytest.mark.parametrize("name", RAISING)
def test_raising(name):
    function, given = RAISING[name]
    compare(function, given, fullgraph=True)


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name):
    compare(*BROKEN[name])


def test_operators_without_tensors_run_once_in_each_call():
    compiled = minidynamo.compile(lambda: remembered(5) + 1)
    for _ in range(3):
        CALLS.clear()
        compiled()
        assert CALLS == [5]
    with torch.profiler.profile() as profile:
        minidynamo.compile(lambda x: recorded(x))(torch.ones(3))
    assert [event.name for event in profile.events()].count("of the program") == 1


def recorded(x):
    with torch.profiler.record_function("of the program"):
        return x + 1


def test_missing_fake_is_an_error_under_fullgraph():
    with pytest.raises(minidynamo._dynamo.exc.Unsupported, match="without_fake"):
        minidynamo.compile(lambda x: without_fake(x), fullgraph=True)(A)


def test_a_fake_that_is_wrong():
    with pytest.raises(RuntimeError, match="lies.*but its fake says"):
        minidynamo.compile(lambda x: lies(x) + 1)(torch.ones(3))


def test_arguments_are_the_tensors_of_the_caller():
    seen = []

    def remembering(x):
        if type(x) is torch.Tensor:
            seen.append(x)
        return x + 1

    torch.compiler.allow_in_graph(remembering)
    x = torch.ones(3)
    result = minidynamo.compile(lambda x: remembering(x))(x)
    assert seen[-1] is x and result._base is None and result.tolist() == [2, 2, 2]


def test_sizes_that_vary():
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(lambda x: scaled(x) + x.shape[0], fullgraph=True)
    for size in (3, 4, 5, 4):
        x = torch.arange(float(size))
        assert torch.equal(compiled(x), scaled(x) + size)


def test_another_dtype_and_gradients():
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(lambda x: scaled(x) * 2)
    for x in (torch.ones(3), torch.ones(3, dtype=torch.float64)):
        assert torch.equal(compiled(x), scaled(x) * 2)
    weight = torch.ones(3, requires_grad=True)
    double = torch.compiler.allow_in_graph(lambda x: x * 2)
    with torch.enable_grad():
        result = minidynamo.compile(lambda x: double(x) + 1)(weight)
        result.sum().backward()
    assert weight.grad.tolist() == [2, 2, 2]


def test_nothing_is_kept():
    class Result:
        pass

    def made(x):
        return x + 1

    made.mark = Result()
    torch.compiler.allow_in_graph(made)
    compiled = minidynamo.compile(lambda x: made(x) * 2)
    x = torch.ones(3)
    alive = weakref.ref(x), weakref.ref(made.mark)
    compiled(x)
    del x
    gc.collect()
    assert alive[0]() is None
