"""Functions at the top of torch that are written over others: creation, questions, and those of nn.functional."""

import inspect
import itertools
import struct

import numpy as np
import pytest

import minidynamo
from minidynamo.nn import functional


def outcome(function, library):
    try:
        result = function(library)
    except Exception as error:
        return type(error).__name__, str(error).replace("minidynamo", "torch")
    if hasattr(result, "tolist"):
        return result.tolist(), str(result.dtype).replace("minidynamo", "torch"), tuple(result.stride())
    return str(result).replace("minidynamo", "torch")


CALLS = [
    lambda t: t.scalar_tensor(3),
    lambda t: t.scalar_tensor(3, dtype=t.int64),
    lambda t: t.scalar_tensor(True),
    lambda t: t.scalar_tensor("a"),
    lambda t: t.empty_strided((2, 3), (1, 2)).zero_(),
    lambda t: t.empty_strided((2, 0), (1, 2)),
    lambda t: t.empty_strided((), ()).zero_(),
    lambda t: t.empty_strided((2,), (1, 2)),
    lambda t: t.asarray([1, 2]),
    lambda t: t.asarray(3.5),
    lambda t: t.asarray([1], dtype=t.float32),
    lambda t: t.asarray([1], copy=False),
    lambda t: t.asarray(np.array([1.0]), copy=False),
    lambda t: t.asarray(t.ones(2), dtype=t.int32),
    lambda t: t.asarray([1.0], requires_grad=True).requires_grad,
    lambda t: t.frombuffer(bytearray(struct.pack("4h", 1, 2, 3, 4)), dtype=t.int16),
    lambda t: t.frombuffer(bytearray(struct.pack("4h", 1, 2, 3, 4)), dtype=t.int16, count=2, offset=2),
    lambda t: t.frombuffer(bytearray(struct.pack("2f", 1, 2)), dtype=t.float32),
    lambda t: t.frombuffer(bytearray(0), dtype=t.int16),
    lambda t: t.frombuffer(bytearray(3), dtype=t.int16),
    lambda t: t.frombuffer(bytearray(4), dtype=t.int16, count=5),
    lambda t: t.frombuffer(bytearray(4), dtype=t.int16, count=0),
    lambda t: t.frombuffer(bytearray(4), dtype=t.int16, offset=9),
    lambda t: t.frombuffer(bytearray(4), dtype=t.int16, offset=-1),
    lambda t: t.frombuffer(3, dtype=t.int16),
    lambda t: t.is_nonzero(t.tensor(3)),
    lambda t: t.is_nonzero(t.tensor([0.0])),
    lambda t: t.is_nonzero(t.ones(2)),
    lambda t: t.is_nonzero(t.ones(0)),
    lambda t: t.is_same_size(t.ones(2), t.zeros(2)),
    lambda t: t.is_same_size(t.ones(2), t.zeros(3)),
    lambda t: t.is_storage(3),
    lambda t: t.typename(t.ones(1)),
    lambda t: t.typename(t.ones(1).long()),
    lambda t: t.typename(3),
    lambda t: t.typename(len),
    lambda t: t._assert(True, "x"),
    lambda t: t._assert(False, "boo"),
    lambda t: t._assert(t.tensor(False), "boo"),
    lambda t: t.relu_(t.tensor([-1.0, 2.0])),
    lambda t: t.selu_(t.tensor([0.0, 2.0])),
    lambda t: t.celu_(t.tensor([0.0, 2.0])),
    lambda t: t.threshold_(t.tensor([-1.0, 2.0]), 1, 5),
    lambda t: t.conv2d(t.ones(1, 1, 3, 3), t.ones(1, 1, 2, 2), None, 1, 1),
    lambda t: t.conv1d(t.ones(1, 1, 3), t.ones(1, 1, 2)),
    lambda t: t.conv_transpose1d(t.ones(1, 1, 3), t.ones(1, 1, 2), None, 2, 0, 1),
    lambda t: t.max_pool2d(t.arange(16.0).reshape(1, 1, 4, 4), 2),
    lambda t: t.avg_pool1d(t.arange(4.0).reshape(1, 1, 4), 2),
    lambda t: t.dropout(t.ones(3), 0.5, False),
    lambda t: t.group_norm(t.ones(1, 2, 3), 2),
    lambda t: t.pixel_shuffle(t.arange(4.0).reshape(1, 4, 1, 1), 2),
    lambda t: t.prelu(t.tensor([-2.0]), t.tensor([0.5])),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.filterwarnings("ignore")
def test_as_torch(number):
    torch = pytest.importorskip("torch")
    assert outcome(CALLS[number], minidynamo) == outcome(CALLS[number], torch)


def test_which_dtypes_can_be_cast():
    torch = pytest.importorskip("torch")
    for one, other in itertools.product(minidynamo._C._dtypes, repeat=2):
        ours, theirs = (each.can_cast(getattr(each, one), getattr(each, other)) for each in (minidynamo, torch))
        assert ours == theirs, (one, other)


IN_PLACE = [
    ("relu_", ()),
    ("leaky_relu_", (0.2,)),
    ("elu_", (0.5,)),
    ("celu_", (0.5,)),
    ("selu_", ()),
    ("hardtanh_", (-0.5, 0.5)),
    ("threshold_", (0.1, 3.0)),
    ("rrelu_", ()),
]


@pytest.mark.parametrize(("name", "arguments"), IN_PLACE, ids=lambda each: str(each))
def test_in_place(name, arguments):
    torch = pytest.importorskip("torch")
    results = []
    for library in (minidynamo, torch):
        x = library.tensor([-2.0, -0.1, 0.3, 4.0])
        result = getattr(library.nn.functional, name)(x, *arguments)
        assert result.data_ptr() == x.data_ptr()
        results.append(x.tolist())
    assert results[0] == pytest.approx(results[1], abs=1e-6)

    def run(x):
        return getattr(functional, name)(x * 1, *arguments)

    compiled = minidynamo.compile(run, fullgraph=True)(minidynamo.tensor([-2.0, -0.1, 0.3, 4.0]))
    assert compiled.tolist() == pytest.approx(results[0], abs=1e-6)


def test_functions_of_both_places():
    for name in minidynamo._FUNCTIONAL_NAMES:
        assert getattr(minidynamo, name) is getattr(functional, name)
        assert not inspect.isclass(getattr(minidynamo, name))
    weight = minidynamo.ones(1, 1, 2, 2)
    compiled = minidynamo.compile(lambda x: minidynamo.conv2d(x, weight), fullgraph=True)
    assert compiled(minidynamo.ones(1, 1, 2, 2)).item() == 4


def test_memory_is_shared():
    buffer = bytearray(4)
    x = minidynamo.frombuffer(buffer, dtype=minidynamo.int16)
    x[0] = 7
    assert buffer[0] == 7
    array = np.zeros(2)
    minidynamo.asarray(array)[0] = 1
    assert array[0] == 1
    y = minidynamo.ones(2)
    assert minidynamo.asarray(y).data_ptr() == y.data_ptr()
    assert minidynamo.asarray(y, copy=True).data_ptr() != y.data_ptr()
    with pytest.raises(TypeError, match="integer dtype"):
        minidynamo.frombuffer(buffer, dtype=minidynamo.float16)
    number = minidynamo.seed()
    assert minidynamo.initial_seed() == number
