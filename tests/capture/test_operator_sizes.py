"""Custom operators with sizes that differ from call to call: their writes and results, as in eager Python."""

import pytest

import minidynamo as md
from minidynamo._dynamo import config

RUNS = []


@md.library.custom_op("sizes::bump", mutates_args=("c",))
def bump(c: md.Tensor) -> None:
    RUNS.append("bump")
    c.add_(1)


@md.library.custom_op("sizes::swap", mutates_args=("a", "b"))
def swap(a: md.Tensor, b: md.Tensor, times: int = 1) -> None:
    RUNS.append("swap")
    for _ in range(times):
        kept = a.clone()
        a.copy_(b)
        b.copy_(kept)


@md.library.custom_op("sizes::take", mutates_args=("c",))
def take(c: md.Tensor, x: md.Tensor) -> md.Tensor:
    RUNS.append("take")
    c.mul_(2)
    return x + c.sum()


@take.register_fake
def _(c, x):
    return md.empty_like(x)


@md.library.custom_op("sizes::parts", mutates_args=("c",))
def parts(c: md.Tensor) -> tuple[md.Tensor, md.Tensor]:
    RUNS.append("parts")
    c.add_(1)
    return c.t().clone() if c.dim() == 2 else c * 2, c.sum()


@parts.register_fake
def _(c):
    return md.empty_like(c.t()) if c.dim() == 2 else md.empty_like(c), c.new_empty(())


@md.library.custom_op("sizes::pure", mutates_args=())
def pure(x: md.Tensor) -> md.Tensor:
    RUNS.append("pure")
    return x * 3


@pure.register_fake
def _(x):
    return x.new_empty(x.shape)


@md.library.custom_op("sizes::all_of", mutates_args=("tensors",))
def all_of(tensors: list[md.Tensor]) -> None:
    RUNS.append("all_of")
    for tensor in tensors:
        tensor.add_(1)


def argument(c, x):
    bump(c)
    return c * 2


def nothing_given(c, x):
    bump(c)


def twice(c, x):
    bump(c)
    y = c + x
    bump(c)
    bump(y)
    return y, c + 0


def of_the_region(c, x):
    y = c * 2
    bump(y)
    return y + x, y


def view_of_an_argument(c, x):
    bump(c[1:])
    return c * 2


def strided_view(c, x):
    bump(c[::2])
    return c + x


def view_of_the_region(c, x):
    y = c + x
    bump(y[:2])
    return y, y[:2]


def written_before(c, x):
    c.mul_(2)
    bump(c)
    c.mul_(3)
    return c + x


def two(c, x):
    swap(c, x)
    return c - x


def the_same_twice(c, x):
    y = c + 0
    swap(y, x, times=3)
    return y, c


def results(c, x):
    y = take(c, x)
    return y + c, c.shape[0]


def several_results(c, x):
    turned, total = parts(c)
    return turned * 2, total + x.sum()


def without_writes(c, x):
    return pure(c) + x, pure(c[1:])


def lists(c, x):
    y = c * 1
    all_of([c, y, x])
    return y + c


def inner(c):
    bump(c)
    return c.shape[0] * 2


def nested(c, x):
    n = inner(c)
    return x * n, [inner(c) for _ in range(2)]


def of_a_size(c, x):
    y = md.zeros(c.shape[0], 2)
    bump(y)
    return y, y.numel()


def broken(c, x):
    bump(c)
    md._dynamo.graph_break()
    y = c[: x.shape[0] - 1]
    bump(y)
    return y, c


def caught(c, x):
    c.add_(1)
    try:
        bump(c)
        return take(c, x)
    except ValueError:
        return x


def matrix(c, x):
    y = c.unsqueeze(0).repeat(3, 1)
    turned, total = parts(y)
    bump(y.t())
    return y, turned, total


class Counter(md.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("seen", md.zeros(n))

    def forward(self, x):
        bump(self.seen)
        take(self.seen, x)
        return self.seen + x


def buffer(c, x):
    module = Counter(c.shape[0])
    return module(x), module(c), module.seen


def two_sizes(c, x):
    table = c.unsqueeze(1) + md.zeros(1, c.shape[0] + 2)
    bump(table.t())
    bump(table[:, 1:])
    swap(table, md.ones(c.shape[0], c.shape[0] + 2), times=1)
    return table, take(table, x)


def keywords(c, x):
    swap(b=c, a=x, times=2)
    return take(x=c, c=x.to(md.int64)), c


PROGRAMS = [
    buffer,
    two_sizes,
    keywords,
    argument,
    nothing_given,
    twice,
    of_the_region,
    view_of_an_argument,
    strided_view,
    view_of_the_region,
    written_before,
    two,
    the_same_twice,
    results,
    several_results,
    without_writes,
    lists,
    nested,
    of_a_size,
    broken,
    caught,
    matrix,
]
WAYS = {
    "automatic": {},
    "dynamic": {"dynamic": True},
    "static": {"dynamic": False},
    "fullgraph": {"fullgraph": True},
    "eager": {"backend": "eager"},
    "eager_dynamic": {"backend": "eager", "dynamic": True},
    "marked": {},
}
SIZES = (3, 4, 5, 2, 3, 7)


def describe(value):
    if isinstance(value, md.Tensor):
        return "tensor", tuple(value.shape), value.stride(), value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value), [describe(item) for item in value]
    return value


def outcome(function, n, marked):
    c, x = md.arange(float(n)), md.ones(n)
    if marked:
        md._dynamo.mark_dynamic(c, 0)
        md._dynamo.mark_dynamic(x, 0)
    RUNS.clear()
    result = function(c, x)
    return describe(result), describe(c), describe(x), list(RUNS), (c._version > 0, x._version > 0)


FLAGS = {"verify_graphs": True, "suppress_internal_errors": False, "recompile_limit": 64}


@pytest.fixture(autouse=True)
def checked():
    before = {name: getattr(config, name) for name in FLAGS}
    for name, value in FLAGS.items():
        setattr(config, name, value)
    md._dynamo.reset()
    yield
    for name, value in before.items():
        setattr(config, name, value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_eager_python(program, way):
    if way == "fullgraph" and program is broken:
        pytest.skip("has a break")
    if way == "marked" and program in (without_writes, view_of_the_region):
        pytest.skip("asks for the number")  # x.shape in a fake, and whether a size is more than 2
    compiled = md.compile(program, **WAYS[way])
    for n in SIZES:
        assert outcome(compiled, n, way == "marked") == outcome(program, n, False), n


def test_one_region_for_all_sizes():
    captured = []

    def backend(gm, inputs):
        captured.append(gm)
        return gm.forward

    def program(c, x):
        y = take(c, x)
        bump(y)
        return y * 2

    compiled = md.compile(program, backend=backend, dynamic=True)
    for n in SIZES:
        assert outcome(compiled, n, False) == outcome(program, n, False)
    assert len(captured) == 1


def test_a_result_with_another_size_than_the_fake():
    @md.library.custom_op("sizes::wrong", mutates_args=())
    def wrong(x: md.Tensor) -> md.Tensor:
        return x[:2] * 1

    wrong.register_fake(lambda x: md.empty_like(x))
    compiled = md.compile(lambda x: wrong(x) + 1, dynamic=True)
    assert compiled(md.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"result 0 is f32\[2\].*, but its fake says f32\[4\]"):
        compiled(md.ones(4))
