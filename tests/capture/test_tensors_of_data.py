"""tensor(), as_tensor() and new_tensor() of data in which tensors and numbers that vary stand beside constants."""

import pytest

import minidynamo
from minidynamo import arange, ones, tensor

FLOATS = (tensor([1.0, 2.0]), tensor([3.5, -4.25]))
INTS = (tensor([3, 4]), tensor([-5, 2**40]))
NARROW = (tensor([3, 4], dtype=minidynamo.int8), tensor([5, 6], dtype=minidynamo.int8))

WHOLE = {
    "a sum and a constant": lambda x: tensor([x.sum(), 1.0]),
    "nested": lambda x: tensor([[x.sum(), 1.0], [2, x[0]]]),
    "rows": lambda x: tensor([x, x + 1]),
    "rows and numbers": lambda x: tensor([x[:1], [7]]),
    "of a tensor": lambda x: tensor(x),
    "of an element": lambda x: tensor(x[0]),
    "in float64": lambda x: tensor([x[0], 1], dtype=minidynamo.float64),
    "as_tensor of elements": lambda x: minidynamo.as_tensor([x[0], x[1]]),
    "new_tensor of constants": lambda x: x.new_tensor([1, 2]),
    "new_tensor of an element": lambda x: x.new_tensor([x[0], 2], dtype=minidynamo.float64),
    "new_tensor by name": lambda x: x.new_tensor(data=(1, (2, 3)[0])),
    "constants before and after": lambda x: tensor([1, 2, x[0], *range(3), x[1], 9]),
    "ranges": lambda x: tensor([range(3), range(2, 5)]) + x[0],
    "empty rows": lambda x: tensor([x[:0], x[:0]]),
    "nothing": lambda x: tensor([]) + x[0],
    "an item": lambda x: tensor([x[0].item(), 1]),
    "a truth": lambda x: tensor([(x[0] > 1).item(), True]),
    "bools and an element": lambda x: tensor([True, x[1], False]),
    "sizes": lambda x: tensor(x.shape),
    "requires_grad_ that changes nothing": lambda x: x.requires_grad_(False) + 1,
    "and by name": lambda x: x.requires_grad_(requires_grad=False) + 1,
}

LEFT_TO_PYTHON = {
    "ragged": lambda x: tensor([[x[0]], [1, 2]]),
    "text": lambda x: tensor("abc"),
    "text beside an element": lambda x: tensor([x[0], "abc"]),
    "None": lambda x: tensor([x[0], None]),
    "a narrower dtype": lambda x: tensor([x[0], 1], dtype=minidynamo.int8),
    "too large a constant": lambda x: tensor([x[0], 300], dtype=minidynamo.int8),
    "too few arguments": lambda x: x.new_tensor(),
    "an unknown keyword": lambda x: tensor([x[0]], size=3),
    "requires_grad_ of integers or floats": lambda x: x.clone().requires_grad_() + 1,
    "requires_grad_ of no bool": lambda x: x.requires_grad_("yes"),
    "requires grad": lambda x: tensor([x[0], 1.0], requires_grad=True),
}


def _observed(function, *args):
    try:
        result = function(*args)
    except Exception as error:
        return type(error), str(error)
    return result.tolist(), result.dtype, result.shape, result.stride(), result.requires_grad


@pytest.mark.parametrize("inputs", [FLOATS, INTS, NARROW], ids=["float32", "int64", "int8"])
@pytest.mark.parametrize("name", [*WHOLE, *LEFT_TO_PYTHON])
def test_elements_are_operands(name, inputs):
    function = WHOLE.get(name) or LEFT_TO_PYTHON[name]
    compiled = minidynamo.compile(function, fullgraph=name in WHOLE)
    for _ in range(2):
        for x in inputs:
            assert _observed(compiled, x) == _observed(function, x)


def test_the_result_owns_its_memory():
    compiled = minidynamo.compile(lambda x: tensor(x), fullgraph=True)
    x = ones(3)
    made = compiled(x)
    made.zero_()
    assert x.tolist() == [1, 1, 1]
    assert compiled(x).tolist() == [1, 1, 1]


@pytest.mark.parametrize("numbers", [[3, 4, 5, 6, -1], [2.5, 3.5, 4.5, float("inf")], [3, True, 4.5, 2**70]])
def test_numbers_that_vary(numbers):
    def function(x, n):
        return tensor([[n, 2], [x[0], n]])

    compiled = minidynamo.compile(function)
    for n in numbers * 2:
        for x in (ones(1), arange(2)):
            assert _observed(compiled, x, n) == _observed(function, x, n)


def test_no_region_for_each_number():
    counter = minidynamo._dynamo.testing.CompileCounter()
    compiled = minidynamo.compile(lambda x, n: x + tensor([n, 1]), backend=counter)
    for n in range(5, 17):
        assert compiled(ones(2), n).tolist() == [n + 1, 2]
    assert counter.frame_count == 2


def test_history_is_left_to_python():
    compiled = minidynamo.compile(lambda x: tensor([x[0] * 2, 1.0]))
    x = ones(2, requires_grad=True)
    assert compiled(x).tolist() == [2, 1]
    assert not compiled(x).requires_grad
