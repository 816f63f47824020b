"""Arguments of tensor(), as_tensor() and ops other than tensors: their contents and attributes are read at each call, not only at the
first.
"""

import array
import collections
import ctypes

import pytest

import minidynamo
from minidynamo import tensor
from minidynamo._dynamo.testing import CompileCounter

try:
    import numpy
except ImportError:
    numpy = None


class UserSequence:
    def __init__(self, values):
        self.values = list(values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, at):
        return self.values[at]

    def __setitem__(self, at, value):
        self.values[at] = value


class OfList(list):
    pass


class OfDeque(collections.deque):
    pass


class Backwards(list):
    """Eager Python iterates over the list's own elements, whatever the class defines."""

    def __iter__(self):
        return iter(self[::-1])


BUFFERS = {
    "array.array": lambda: array.array("d", [1.0, 2.0]),
    "array of ints": lambda: array.array("i", [1, 2]),
    "bytearray": lambda: bytearray(b"ab"),
    "memoryview": lambda: memoryview(array.array("d", [1.0, 2.0])),
    "memoryview of a bytearray": lambda: memoryview(bytearray(b"ab")),
    "deque": lambda: collections.deque([1.0, 2.0]),
    "deque of a subclass": lambda: OfDeque([1.0, 2.0]),
    "list": lambda: [1.0, 2.0],
    "list of a subclass": lambda: OfList([1.0, 2.0]),
    "list with an own way": lambda: Backwards([1.0, 2.0]),
    "user's sequence": lambda: UserSequence([1.0, 2.0]),
    "user's list": lambda: collections.UserList([1.0, 2.0]),
}
if numpy is not None:
    BUFFERS["numpy"] = lambda: numpy.array([1.0, 2.0])
    BUFFERS["numpy ints"] = lambda: numpy.array([1, 2])

MAKERS = {
    "tensor": lambda data: minidynamo.tensor(data).sum(),
    "tensor of a dtype": lambda data: minidynamo.tensor(data, dtype=minidynamo.float64) + 1,
    "as_tensor": lambda data: minidynamo.as_tensor(data) * 2,
    "as_tensor of a dtype": lambda data: minidynamo.as_tensor(data, dtype=minidynamo.float32) * 2,
    "in a list": lambda data: minidynamo.tensor([data, data]).sum(0),
    "in a tuple": lambda data: minidynamo.tensor((data, data)) + 1,
    "new_tensor": lambda data: minidynamo.ones(1).new_tensor(data).sum(),
    "Tensor": lambda data: minidynamo.Tensor(data).sum(),
    "FloatTensor": lambda data: minidynamo.FloatTensor(data).sum(),
    "from_numpy": lambda data: minidynamo.from_numpy(data) + 1,
    "frombuffer": lambda data: minidynamo.frombuffer(data, dtype=minidynamo.uint8).sum(),
    "list of it": lambda data: minidynamo.tensor(list(data)).sum(),
    "tuple of it": lambda data: minidynamo.tensor(tuple(data)).sum(),
    "an element": lambda data: minidynamo.ones(2) + data[0],
    "with a tensor": lambda data: minidynamo.stack([minidynamo.tensor(data), minidynamo.tensor(data)]).sum(),
    "write through it": lambda data: minidynamo.as_tensor(data).add_(1).sum(),
}


def outcome(function, data):
    try:
        return function(data).tolist()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_buffer_that_is_filled_again(buffer, maker):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(MAKERS[maker])
    ours, plain = BUFFERS[buffer](), BUFFERS[buffer]()
    for step in range(4):
        for data in (ours, plain):
            data[0] = type(data[0])(step + 3)
        assert outcome(compiled, ours) == outcome(MAKERS[maker], plain)
        # A write through a tensor that shares the memory is visible.
        assert list(ours) == list(plain)


@pytest.mark.parametrize("buffer", [name for name in BUFFERS if "list" not in name])
@pytest.mark.parametrize("maker", ["tensor", "as_tensor"])
def test_many_buffers_of_one_kind_are_one_capture(buffer, maker):
    minidynamo._dynamo.reset()
    counter = CompileCounter()
    compiled = minidynamo.compile(MAKERS[maker], backend=counter)
    for step in range(12):
        data = BUFFERS[buffer]()
        data[0] = type(data[0])(step)
        assert outcome(compiled, data) == outcome(MAKERS[maker], data)
    assert counter.frame_count <= 2


class Number:
    def __init__(self, value):
        self.value = value


class Index(Number):
    def __index__(self):
        return self.value


class Real(Number):
    def __float__(self):
        return float(self.value)


class Both(Number):
    def __index__(self):
        return self.value

    def __float__(self):
        return self.value + 0.5


class Wrong(Number):
    def __index__(self):
        return "text"


class Raises(Number):
    def __index__(self):
        raise ValueError(f"not {self.value}")


class Truth(Number):
    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return self.value

    def __complex__(self):
        return complex(self.value)


class Sequence(Index):
    def __len__(self):
        return 2

    def __getitem__(self, at):
        if at > 1:
            raise IndexError
        return self.value


USES = {
    "add": lambda x, n: x + n,
    "radd": lambda x, n: n + x,
    "in place": lambda x, n: x.clone().add_(n),
    "multiply": lambda x, n: x * n,
    "power": lambda x, n: x**n,
    "compare": lambda x, n: x > n,
    "alpha": lambda x, n: x.add(x, alpha=n),
    "clamp": lambda x, n: x.clamp(n),
    "where": lambda x, n: minidynamo.where(x > 1, x, n),
    "fill": lambda x, n: x.clone().fill_(n),
    "full": lambda x, n: minidynamo.full((2,), n),
    "size": lambda x, n: minidynamo.zeros(n),
    "sizes": lambda x, n: minidynamo.zeros(n, 2),
    "size in a tuple": lambda x, n: minidynamo.zeros((2, n)),
    "arange": lambda x, n: minidynamo.arange(n),
    "arange from": lambda x, n: minidynamo.arange(n, 4),
    "linspace": lambda x, n: minidynamo.linspace(0, n, 3),
    "dim": lambda x, n: x.sum(n),
    "dims": lambda x, n: x.sum((0, n)),
    "keyword": lambda x, n: x.sum(dim=n),
    "select": lambda x, n: x.select(0, n),
    "narrow": lambda x, n: x.narrow(1, 0, n),
    "reshape": lambda x, n: x.reshape(-1, n),
    "expand": lambda x, n: x[:1].expand(n, 2),
    "transpose": lambda x, n: x.transpose(0, n),
    "cat": lambda x, n: minidynamo.cat([x, x], n),
    "split": lambda x, n: x.split(n)[0],
    "repeat": lambda x, n: x.repeat(n, 1),
    "subscript": lambda x, n: x[n],
    "subscript in a tuple": lambda x, n: x[:, n],
    "slice": lambda x, n: x[n:],
    "subscript by a list": lambda x, n: x[[n]],
    "store": lambda x, n: stored(x.clone(), n),
    "store at": lambda x, n: stored_at(x.clone(), n),
    "tensor": lambda x, n: minidynamo.tensor(n),
    "tensor of a list": lambda x, n: minidynamo.tensor([n, 2]),
    "tensor of a dtype": lambda x, n: minidynamo.tensor([n], dtype=minidynamo.float64),
    "as_tensor": lambda x, n: minidynamo.as_tensor([n]),
    "new_full": lambda x, n: x.new_full((2,), n),
    "topk": lambda x, n: x.topk(n)[0],
    "float": lambda x, n: x + float(n),
    "int": lambda x, n: x + int(n),
    "bool": lambda x, n: x + bool(n),
    "complex": lambda x, n: x + complex(n).real,
    "range": lambda x, n: x + sum(range(n)),
    "round": lambda x, n: x + [1, 2, 3][n],
    "sum": lambda x, n: x + sum([1, n]),
}


def stored(x, n):
    x[0] = n
    return x


def stored_at(x, n):
    x[n] = 5
    return x


def numbers(function, x, n):
    try:
        return function(x, n).tolist()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("kind", [Index, Real, Both, Wrong, Raises, Truth, Sequence, Number])
@pytest.mark.parametrize("use", USES)
def test_an_object_that_is_another_number_the_next_time(use, kind):
    minidynamo._dynamo.reset()
    function = USES[use]
    compiled = minidynamo.compile(function)
    held = kind(1)
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    for value in (1, 0, 1, 1):
        held.value = value
        assert numbers(compiled, x, held) == numbers(function, x, held)
    # Another object, and another method.
    assert numbers(compiled, x, kind(0)) == numbers(function, x, kind(0))
    other = type("Other", (kind,), {"__index__": lambda self: 1 - self.value})
    assert numbers(compiled, x, other(1)) == numbers(function, x, other(1))
    other.__index__ = lambda self: self.value
    assert numbers(compiled, x, other(1)) == numbers(function, x, other(1))


@pytest.mark.parametrize("kind", [Index, Real])
def test_how_often_a_method_is_called(kind):
    calls = []
    method = "__index__" if kind is Index else "__float__"

    class Counting(kind):
        pass

    setattr(Counting, method, lambda self: calls.append(1) or getattr(kind, method)(self))
    held = Counting(1)
    compiled = minidynamo.compile(lambda x, n: x + n)
    for _ in range(3):
        compiled(tensor([1.0]), held)
    assert len(calls) == 3


@pytest.mark.skipif(numpy is None, reason="needs numpy")
def test_memory_is_shared_as_in_eager_python():
    @minidynamo.compile
    def write(a):
        t = minidynamo.as_tensor(a)
        t.add_(1)
        return t

    a = numpy.zeros(2)
    results = [write(a) for _ in range(3)]
    assert a.tolist() == [3.0, 3.0]
    assert all(result.tolist() == [3.0, 3.0] for result in results)


def element_of(x, held):
    return x + (held[0] if hasattr(held, "__getitem__") else len(held))


@pytest.mark.parametrize("make", [*BUFFERS.values(), lambda: {0: 1.0}, lambda: {1.0}])
def test_arguments_of_a_traced_call(make):
    minidynamo._dynamo.reset()
    traced = minidynamo._dynamo.nonstrict_trace(element_of)
    compiled = minidynamo.compile(lambda x, held: traced(x, held) * 2)
    held, x = make(), tensor([1.0])
    for step in range(3):
        if isinstance(held, set):
            held.add(step + 5)
        else:
            held[0] = type(held[0])(step + 3)
        assert compiled(x, held).tolist() == (element_of(x, held) * 2).tolist()


@pytest.mark.parametrize("way", (minidynamo.tensor, minidynamo.as_tensor), ids=lambda way: way.__name__)
def test_arrays_of_ctypes(way):
    """Their buffers have no strides."""
    numbers, table, empty = (ctypes.c_int * 2)(1, 2), (ctypes.c_double * 2 * 3)((1, 2), (3, 4)), (ctypes.c_int * 0)()
    compiled = minidynamo.compile(lambda x, numbers: x + way(numbers))
    for number in (1, 7):
        numbers[0] = number
        assert way(numbers).tolist() == [number, 2]
        assert compiled(minidynamo.zeros(2), numbers).tolist() == [number, 2]
    assert way(table).tolist() == [[1, 2], [3, 4], [0, 0]]
    assert way(table).stride() == (2, 1)
    assert way(empty).tolist() == []
