"""The fast path for the simplest calls has the same results as the general path: values, dtype, requires_grad,
exceptions."""

import itertools

import pytest

import minidynamo as md
from minidynamo import _C

DTYPES = [md.bool, md.uint8, md.int8, md.int32, md.int64, md.float16, md.bfloat16, md.float32, md.float64]
NUMBERS = [True, 0, 3, -2, 2.5, float("inf"), float("nan"), 300, 2**63 - 1, 2**70]
ROWS = [row for row in _C._op_rows() if row["kind"] in ("PointwiseUnary", "PointwiseBinary", "Compare")]
NAMES = sorted({row["name"].partition(".")[0] for row in ROWS if row["function"]})


def tensor(dtype, values=(0, 1, 2, 5)):
    return md.tensor(list(values)).to(dtype)


def strided(tensor):
    """The same elements with gaps, for which only the general path exists."""
    wide = md.stack([tensor, tensor], 1)
    assert not wide[:, 0].is_contiguous()
    return wide[:, 0]


def outcome(function, *args):
    try:
        result = function(*args)
    except Exception as error:
        return type(error), str(error)
    if isinstance(result, tuple):  # max and min along a dim
        return [facts(part) for part in result]
    return facts(result)


def facts(result):
    return result.dtype, result.shape, result.stride(), result.requires_grad, repr(result.tolist())


def function_of(name):
    return getattr(md, name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors(name, dtype):
    function = function_of(name)
    a, b = tensor(dtype), tensor(dtype, (3, 1, 0, 2))
    assert outcome(function, a) == outcome(function, strided(a))
    assert outcome(function, a, b) == outcome(function, strided(a), strided(b))
    assert outcome(function, a, tensor(md.int64, (1, 1, 2, 2))) == outcome(
        function, strided(a), tensor(md.int64, (1, 1, 2, 2))
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers(name, dtype):
    function = function_of(name)
    a = tensor(dtype)
    for number in NUMBERS:
        assert outcome(function, a, number) == outcome(function, strided(a), number), number
        assert outcome(function, number, a) == outcome(function, number, strided(a)), number


@pytest.mark.parametrize("dtype", [md.float32, md.int64], ids=str)
def test_shapes(dtype):
    shapes = [(), (1,), (4,), (0,), (1, 4), (2, 0), (4, 1)]
    for one, other in itertools.product(shapes, shapes):
        a, b = md.ones(*one, dtype=dtype) if one else tensor(dtype)[1], md.full(other, 3, dtype=dtype)
        assert outcome(md.add, a, b) == outcome(lambda x, y: md.add(x, y, alpha=1), a, b), (one, other)


def test_requires_grad():
    x = md.ones(3, requires_grad=True)
    y = md.ones(3)
    assert (x + y).requires_grad and (y * x).requires_grad and md.relu(x).requires_grad and (2 - x).requires_grad
    assert not (y + y).requires_grad and not (x < y).requires_grad
    with md.no_grad():
        assert not (x + y).requires_grad


def test_subclasses_take_the_general_path():
    parameter = md.nn.Parameter(md.ones(3))
    assert type(parameter + 1) is md.Tensor and (parameter + 1).requires_grad


def test_more_or_fewer_values_are_errors():
    x = md.ones(3)
    with pytest.raises(TypeError, match="other"):
        md.add(x)
    with pytest.raises(TypeError, match="positional"):
        md.relu(x, x)
    with pytest.raises(TypeError, match="maximum"):
        md.maximum(x, 1)
