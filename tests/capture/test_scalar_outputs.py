"""item(), tolist(), int() and float() of tensors: breaks by default, scalars in the graph with capture_scalar_outputs."""

import itertools
import math
import traceback

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
VALUES = {
    "bool": [False, True],
    "uint8": [0, 1, 200],
    "int8": [-128, 0, 3, 127],
    "int16": [-5, 0, 300],
    "int32": [-7, 0, 2, 2**31 - 1],
    "int64": [-(2**63), -3, 0, 1, 2, 2**53 + 1, 2**62, 2**63 - 1],
    "float": [-math.inf, -2.5, -0.0, 0.0, 0.1, 3.0, 1e30, math.inf, math.nan],
}


@pytest.fixture(autouse=True)
def captured():
    _dynamo.reset()
    with config.patch(capture_scalar_outputs=True, recompile_limit=64):
        yield


def describe(value):
    if isinstance(value, minidynamo.Tensor):
        return str(value.dtype), tuple(value.shape), value.requires_grad, repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [describe(item) for item in value]
    return type(value), repr(value)


def outcome(function, args):
    """The value, or the exception with its text and its lines in this file."""
    try:
        return describe(function(*args))
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        return type(error), str(error), lines[1:]


def made(value, dtype):
    return minidynamo.tensor(value, dtype=getattr(minidynamo, dtype))


def values_of(dtype):
    return VALUES.get(dtype, VALUES["float"])


def check(function, argument_lists, graphs=None):
    compiled = minidynamo.compile(function)
    for make in argument_lists:
        assert outcome(compiled, make()) == outcome(function, make()), make()
    if graphs is not None:
        report = minidynamo.explain(function)(*argument_lists[0]())
        assert (report.graph_count, report.graph_break_count) == graphs, report.break_reasons


def returned(x):
    return x.item(), x + 1


def nested(x):
    return x.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_number_itself(dtype):
    check(returned, [lambda v=v: (made(v, dtype),) for v in values_of(dtype)], (1, 0))
    check(returned, [lambda v=v: (made([[v]], dtype),) for v in values_of(dtype)], (1, 0))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0), (2, 1, 2)])
def test_lists(shape):
    count = math.prod(shape)
    for dtype in ("bool", "int32", "float32"):
        makes = [
            lambda start=start: (minidynamo.arange(start, start + count).to(getattr(minidynamo, dtype)).reshape(shape),)
            for start in (0, 5)
        ]
        check(nested, makes)
    report = minidynamo.explain(nested)(minidynamo.ones(shape))
    assert report.graph_break_count == 0


FULLGRAPH = {
    "item": lambda x: x + x.item(),
    "returned": lambda x: (x + 1, x.item()),
    "int": lambda x: x * int(x.to(minidynamo.int64)),
    "float": lambda x: x * float(x),
    "list": lambda x: x + x.tolist()[0],
}


@pytest.mark.parametrize("name", FULLGRAPH)
def test_numbers_stay_in_the_graph_under_fullgraph(name):
    """As in TorchDynamo 2.13, whatever the flag is."""
    function = FULLGRAPH[name]
    with minidynamo._dynamo.config.patch(capture_scalar_outputs=False):
        captured = minidynamo.compile(function, fullgraph=True)
        for value in (2.0, 3.0, 5.5):
            x = minidynamo.tensor([value])
            assert repr(captured(x)) == repr(function(x))
        assert minidynamo.explain(function)(x).graph_break_count == 1


def test_a_branch_on_a_number_breaks_under_fullgraph():
    captured = minidynamo.compile(lambda x: x + 1 if x.item() > 2 else x, fullgraph=True)
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        captured(minidynamo.ones(1))


def test_long_lists_break():
    report = minidynamo.explain(nested)(minidynamo.ones(100))
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0019"]
    check(nested, [lambda: (minidynamo.arange(100),)])


ARITHMETIC = {
    "add": lambda x, y, n: x.item() + n,
    "radd": lambda x, y, n: n + x.item(),
    "sub": lambda x, y, n: x.item() - n,
    "rsub": lambda x, y, n: n - x.item(),
    "mul": lambda x, y, n: x.item() * n,
    "two": lambda x, y, n: x.item() * y.item() - x.item() + y.item(),
    "neg": lambda x, y, n: -x.item(),
    "pos": lambda x, y, n: +x.item(),
    "abs": lambda x, y, n: abs(x.item()),
    "halved": lambda x, y, n: x.item() / 2,
    "third": lambda x, y, n: x.item() // 3,
    "rest": lambda x, y, n: x.item() % 3,
    "divided": lambda x, y, n: x.item() / y.item(),
    "floored": lambda x, y, n: x.item() // n,
    "divided_by": lambda x, y, n: n / x.item(),
    "power": lambda x, y, n: x.item() ** 2,
    "less": lambda x, y, n: x.item() < n,
    "at_most": lambda x, y, n: n <= x.item(),
    "equal": lambda x, y, n: x.item() == y.item(),
    "unequal": lambda x, y, n: x.item() != n,
    "not": lambda x, y, n: not x.item(),
    "bool": lambda x, y, n: bool(x.item()),
    "int": lambda x, y, n: int(x.item()),
    "float": lambda x, y, n: float(x.item()),
    "of_tensor": lambda x, y, n: (int(x), float(y)),
    "str": lambda x, y, n: str(x.item()),
    "formatted": lambda x, y, n: f"{x.item()}",
    "is_none": lambda x, y, n: x.item() is None,
    "type": lambda x, y, n: type(x.item()),
    "instance": lambda x, y, n: isinstance(x.item(), int),
    "max": lambda x, y, n: max(x.item(), n),
    "bits": lambda x, y, n: int(x.item()) & 3,
    "range": lambda x, y, n: list(range(int(x.item()) % 5)),
    "key": lambda x, y, n: {x.item(): 1}.get(n),
    "index": lambda x, y, n: [1, 2, 3, 4][int(x.item()) % 4],
}


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtypes", [("int64", "int64"), ("float64", "float64"), ("float32", "int8"), ("bool", "int64")])
def test_arithmetic(name, dtypes):
    function = ARITHMETIC[name]
    pairs = itertools.product(values_of(dtypes[0]), values_of(dtypes[1])[-4:])
    numbers = itertools.cycle([2, -3, 0, 2.5, 2**62, True])
    check(
        function,
        [lambda v=v, w=w, n=n: (made(v, dtypes[0]), made(w, dtypes[1]), n) for (v, w), n in zip(pairs, numbers)],
    )


TENSOR_OPS = {
    "add": lambda x, n: x + n.item(),
    "radd": lambda x, n: n.item() + x,
    "sub": lambda x, n: x - n.item(),
    "rsub": lambda x, n: n.item() - x,
    "mul": lambda x, n: x * n.item(),
    "div": lambda x, n: x / n.item(),
    "floor_divide": lambda x, n: x // n.item(),
    "remainder": lambda x, n: x % n.item(),
    "power": lambda x, n: x ** n.item(),
    "compared": lambda x, n: x < n.item(),
    "mirrored": lambda x, n: n.item() >= x,
    "maximum": lambda x, n: minidynamo.maximum(x, x * n.item()),
    "worked_out": lambda x, n: x * (n.item() * 2 + 1),
    "clamped": lambda x, n: x.clamp(min=n.item()),
    "alpha": lambda x, n: minidynamo.add(x, x, alpha=n.item()),
    "full": lambda x, n: minidynamo.full((2,), n.item()) + 1,
    "where": lambda x, n: minidynamo.where(x > 0, x, n.item()),
    "in_place": lambda x, n: x.clone().add_(n.item()),
    "stored": lambda x, n: x.clone().__setitem__(0, n.item()),
    "written_after": lambda x, n: (n.item(), n.add_(1), x * 2)[0],
    "sizes": lambda x, n: minidynamo.zeros(abs(int(n.item())) % 4),
    "chain": lambda x, n: (x * n.item()).sum().item() * x,
    "matmul": lambda x, n: minidynamo.ones(2, 3) @ x.to(minidynamo.float32) * float(n.item()) + 1,
}


@pytest.mark.parametrize("name", TENSOR_OPS)
@pytest.mark.parametrize("x_dtype", ["bool", "int8", "int64", "float16", "float32", "float64"])
def test_tensor_operations(name, x_dtype):
    function = TENSOR_OPS[name]
    data = [True, False, True] if x_dtype == "bool" else [1, -2, 3]
    for n_dtype in ("bool", "int64", "float64", "float32"):
        _dynamo.reset()
        check(function, [lambda v=v: (made(data, x_dtype), made(v, n_dtype)) for v in values_of(n_dtype)])


def test_one_graph_contains_it():
    def scaled(x):
        n = x.sum().item()
        return x * n + n * 2, n

    check(scaled, [lambda: (minidynamo.ones(3),)], (1, 0))
    check(lambda x: x * int(x.max()), [lambda: (minidynamo.arange(4),)], (1, 0))


def test_no_capture_depends_on_the_number():
    def scaled(x, n):
        return x * (n.item() + 1)

    compiled = minidynamo.compile(scaled, fullgraph=True)
    before = minidynamo._C.engine_counters()["regions_captured"]
    for number in range(5):
        assert compiled(minidynamo.ones(2), minidynamo.tensor(number)).tolist() == [number + 1.0] * 2
    assert minidynamo._C.engine_counters()["regions_captured"] == before + 1


def test_a_branch_on_it_breaks_the_graph():
    def branches(x):
        n = x.sum().item()
        y = x * n
        if n > 3:
            return y + 1, n
        return y - 1, n

    check(branches, [lambda v=v: (minidynamo.full((2,), v),) for v in (1.0, 2.0, 5.0)])
    report = minidynamo.explain(branches)(minidynamo.ones(2))
    assert [(reason.gb_id, reason.title) for reason in report.break_reasons] == [
        ("MD0017", "Branch on the value of a tensor")
    ]
    assert [len(ops) for ops in report.ops_per_graph if ops] == [len(report.ops_per_graph[0]), 1]


def test_a_break_leaves_the_number_as_a_number():
    def broken(x):
        n = x.sum().item()
        _dynamo.graph_break()
        return x * n, n + 1, type(n)

    check(broken, [lambda: (minidynamo.ones(3),), lambda: (minidynamo.ones(4),)])


def test_breaks_by_default():
    def taken(x):
        return x * x.sum().item()

    def listed(x):
        return (x + 1).tolist()

    with config.patch(capture_scalar_outputs=False):
        for function, gb_id in ((taken, "MD0018"), (listed, "MD0019")):
            report = minidynamo.explain(function)(minidynamo.ones(3))
            assert [reason.gb_id for reason in report.break_reasons] == [gb_id]
            assert any("capture_scalar_outputs" in hint for hint in report.break_reasons[0].hints)
            check(function, [lambda: (minidynamo.ones(3),)])


def test_numbers_larger_than_64_bits_are_left_to_python():
    def squared(x):
        n = x.item() * x.item() * x.item()
        return n, minidynamo.ones(2) + 1

    check(squared, [lambda v=v: (minidynamo.tensor(v),) for v in (3, 2**40, -(2**62))])


def test_printed(capsys):
    def aloud(x):
        n = x.sum().item()
        print("n is", n, end=";")
        return x * n

    aloud(minidynamo.ones(3))
    plain = capsys.readouterr().out
    compiled = minidynamo.compile(aloud)
    assert compiled(minidynamo.ones(3)).tolist() == [3.0] * 3 and capsys.readouterr().out == plain


def test_of_more_than_one_element_it_raises_at_its_line():
    check(returned, [lambda: (minidynamo.ones(2),), lambda: (minidynamo.ones(1),), lambda: (minidynamo.ones(0),)])


def test_gradients_do_not_come_with_the_number():
    def scaled(x, y):
        return y * x.sum().item()

    x = minidynamo.ones(2, requires_grad=True)
    check(scaled, [lambda: (x, minidynamo.ones(2))])


def test_eager_backend():
    def scaled(x):
        n = x.sum().item()
        return x * (n + 1), n, x.tolist()

    compiled = minidynamo.compile(scaled, backend="eager", fullgraph=True)
    for value in (1.0, 2.5):
        x = minidynamo.full((2,), value)
        assert describe(compiled(x)) == describe(scaled(x))


def test_after_a_custom_operator_integers_are_left_to_python():
    calls = []

    @minidynamo.library.custom_op("scalars::noted", mutates_args=())
    def noted(x: minidynamo.Tensor) -> minidynamo.Tensor:
        calls.append(1)
        return x.clone()

    @noted.register_fake
    def _(x):
        return minidynamo.empty_like(x)

    def squared(x, n):
        y = noted(x)
        return y * 2, n.item() * n.item()

    def before(x, n):
        square = n.item() * n.item()
        return noted(x) * 2, square

    for function in (squared, before):
        compiled = minidynamo.compile(function)
        for number in (3, 2**40, 5):
            x, n = minidynamo.ones(2), minidynamo.tensor(number)
            calls.clear()
            assert describe(compiled(x, n)) == describe(function(x, n))
            assert len(calls) == 2
