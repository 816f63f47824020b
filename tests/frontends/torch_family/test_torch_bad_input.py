"""Calls that torch refuses: the compiled function raises torch's own exception, at the user's line, and captures what is right."""

import importlib.util
import linecache
import traceback

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch
from compiled_torch import copy_of, difference_of_parts

import minidynamo

F = torch.nn.functional
x = torch.arange(12.0).reshape(3, 4)
ints = torch.arange(12).reshape(3, 4)
huge = torch.zeros(1).expand(2**31 + 5)
NOT_ALIKE = torch.ones(5)


def freed():
    """A tensor whose storage was given back."""
    tensor = torch.ones(4)
    tensor.untyped_storage().resize_(0)
    return tensor


def read_only():
    import numpy

    array = numpy.arange(4.0)
    array.flags.writeable = False
    return torch.from_numpy(array)


# name: (function, its arguments); each raises in plain torch, or gives the same.
CALLS = {
    # sizes
    "add of other sizes": (lambda a, b: a + b, (x, NOT_ALIKE)),
    "matmul of other sizes": (lambda a, b: a @ b, (x, NOT_ALIKE)),
    "mm of a vector": (lambda a, b: torch.mm(a, b), (x, NOT_ALIKE)),
    "bmm of matrices": (lambda a, b: torch.bmm(a, b), (x, x)),
    "linear of other sizes": (lambda a, b: F.linear(a, b), (x, torch.ones(2, 3))),
    "cat of other sizes": (lambda a, b: torch.cat([a, b]), (x, torch.ones(2, 3))),
    "cat of nothing": (lambda a: torch.cat([]), (x,)),
    "stack of other sizes": (lambda a, b: torch.stack([a, b]), (x, NOT_ALIKE)),
    "view of another count": (lambda a: a.view(5, 2), (x,)),
    "view of a transposed tensor": (lambda a: a.t().view(12), (x,)),
    "reshape of another count": (lambda a: a.reshape(-1, 5), (x,)),
    "expand of another size": (lambda a: a.expand(2, 4), (x,)),
    "conv2d of other channels": (lambda a, b: F.conv2d(a, b), (torch.ones(1, 3, 4, 4), torch.ones(2, 4, 1, 1))),
    "conv2d of a wide kernel": (lambda a, b: F.conv2d(a, b), (torch.ones(1, 3, 2, 2), torch.ones(2, 3, 5, 5))),
    "max_pool2d without place": (lambda a: F.max_pool2d(a, 9), (torch.ones(1, 3, 4, 4),)),
    "layer_norm of another size": (lambda a: F.layer_norm(a, (3,)), (x,)),
    "batch_norm of other channels": (lambda a: F.batch_norm(a, torch.ones(2), torch.ones(2)), (x,)),
    "cross_entropy of other sizes": (lambda a, b: F.cross_entropy(a, b), (x, torch.zeros(2, dtype=torch.int64))),
    "pad of a vector by four": (lambda a: F.pad(a, (1, 1, 1, 1), "reflect"), (NOT_ALIKE,)),
    "write of another size": (lambda a, b: a.copy_(b), (x, NOT_ALIKE)),
    "add_ of another size": (lambda a, b: b.add_(a), (x, torch.ones(4))),
    # dims
    "sum of a dim": (lambda a: a.sum(2), (x,)),
    "softmax of a dim": (lambda a: a.softmax(3), (x,)),
    "transpose of a dim": (lambda a: a.transpose(0, 5), (x,)),
    "permute of too few dims": (lambda a: a.permute(0), (x,)),
    "permute of one dim twice": (lambda a: a.permute(0, 0), (x,)),
    "squeeze of a dim": (lambda a: a.squeeze(4), (x,)),
    "t of three dims": (lambda a: a.t(), (torch.ones(2, 2, 2),)),
    "select beyond the size": (lambda a: a.select(0, 3), (x,)),
    "narrow beyond the size": (lambda a: a.narrow(0, 2, 5), (x,)),
    "max of no element": (lambda a: a.max(), (torch.ones(0),)),
    "argmax of no element": (lambda a: a.argmax(0), (torch.ones(0, 3),)),
    "mean of no element": (lambda a: a.mean(), (torch.ones(0),)),
    "index of a number": (lambda a: a[0], (torch.tensor(1.0),)),
    "length of a number": (lambda a: len(a), (torch.tensor(1.0),)),
    "iteration over a number": (lambda a: [each for each in a], (torch.tensor(1.0),)),
    # indices
    "index beyond the size": (lambda a: a[3], (x,)),
    "too many indices": (lambda a: a[0, 0, 0], (x,)),
    "index by a float": (lambda a: a[1.5], (x,)),
    "index by floats": (lambda a, b: a[b], (x, torch.ones(2))),
    "index by a mask of another size": (lambda a, b: a[b], (x, torch.ones(2, dtype=torch.bool))),
    "index beyond, in a tensor": (lambda a, b: a[b] * 2, (x, torch.tensor([0, 7]))),
    "gather beyond the size": (lambda a, b: a.gather(0, b) + 1, (x, torch.full((1, 4), 9))),
    "gather by floats": (lambda a, b: a.gather(0, b), (x, torch.ones(1, 4))),
    "scatter beyond the size": (lambda a, b: a.scatter(0, b, 1.0), (x, torch.full((1, 4), 9))),
    "index_select by two dims": (lambda a, b: a.index_select(0, b), (x, ints)),
    "embedding beyond the size": (lambda a, b: F.embedding(b, a), (x, torch.tensor([1, 5]))),
    "embedding by floats": (lambda a, b: F.embedding(b, a), (x, torch.ones(2))),
    "one_hot of a negative number": (lambda a: F.one_hot(a), (torch.tensor([-1]),)),
    "take_along_dim beyond": (lambda a, b: a.take_along_dim(b, 0), (x, torch.full((1, 4), 9))),
    # dtypes
    "matmul of two dtypes": (lambda a, b: a @ b, (x, torch.ones(4, 2, dtype=torch.float64))),
    "linear of two dtypes": (lambda a, b: F.linear(a, b), (x, torch.ones(2, 4, dtype=torch.float64))),
    "softmax of integers": (lambda a: a.softmax(0), (ints,)),
    "mean of integers": (lambda a: a.mean(), (ints,)),
    "add_ of floats to integers": (lambda a, b: a.add_(b), (ints, x)),
    "div_ of integers": (lambda a: a.div_(2), (ints,)),
    "minus of bools": (lambda a: -a, (torch.ones(2, dtype=torch.bool),)),
    "difference of bools": (lambda a: a - a, (torch.ones(2, dtype=torch.bool),)),
    "bitwise and of floats": (lambda a: a & a, (x,)),
    "shift of floats": (lambda a: a << 1, (x,)),
    "division by zero": (lambda a: a // 0, (ints,)),
    "remainder of zero": (lambda a: a % 0, (ints,)),
    "power of a negative exponent": (lambda a: a**-1, (ints,)),
    "relu of bools": (lambda a: torch.relu(a), (torch.ones(2, dtype=torch.bool),)),
    "where of a float condition": (lambda a: torch.where(a, a, a), (x,)),
    "masked_fill by floats": (lambda a: a.masked_fill(a, 0), (x,)),
    "conv2d of integers": (lambda a: F.conv2d(a, a), (torch.ones(1, 1, 2, 2, dtype=torch.int64),)),
    "cholesky of integers": (lambda a: torch.linalg.cholesky(a), (torch.eye(2, dtype=torch.int64),)),
    "number beyond the dtype": (lambda a: torch.full((2,), 300, dtype=torch.uint8) + a, (ints,)),
    # values that decide
    "cholesky of no positive matrix": (lambda a: torch.linalg.cholesky(a) + 1, (-torch.eye(3),)),
    "inverse of a singular matrix": (lambda a: torch.linalg.inv(a) + 1, (torch.zeros(3, 3),)),
    "solve of a singular matrix": (lambda a: torch.linalg.solve(a, a), (torch.zeros(3, 3),)),
    "item of two elements": (lambda a: a.item(), (NOT_ALIKE,)),
    "truth of two elements": (lambda a: bool(a), (NOT_ALIKE,)),
    "int of two elements": (lambda a: int(a), (NOT_ALIKE,)),
    # arguments
    "an unknown keyword": (lambda a: torch.add(a, a, beta=2), (x,)),
    "a missing argument": (lambda a: torch.matmul(a), (x,)),
    "a string": (lambda a: a + "1", (x,)),
    "a list": (lambda a: torch.relu([a]), (x,)),
    "None": (lambda a: torch.matmul(a, None), (x,)),
    "an unknown method": (lambda a: a.no_such_method(), (x,)),
    "an unknown mode": (lambda a: F.interpolate(a, 2, mode="no such"), (torch.ones(1, 1, 2),)),
    "an unknown reduction": (lambda a: F.mse_loss(a, a, reduction="no such"), (x,)),
    "a negative size": (lambda a: torch.zeros(-1) + a, (x,)),
    "k beyond the size": (lambda a: a.topk(9), (x,)),
    "no chunks": (lambda a: a.chunk(0), (x,)),
    "other split sizes": (lambda a: a.split([1, 1]), (x,)),
    "dropout beyond one": (lambda a: F.dropout(a, 2.0), (x,)),
    "einsum of other sizes": (lambda a: torch.einsum("ij,ij->jkk", a, a), (x,)),
    # devices
    "another device": (lambda a: a + torch.ones(4, device="meta"), (x,)),
    "a device that is not there": (lambda a: a.to("cuda"), (x,)),
    "an unknown device": (lambda a: a.to("no such"), (x,)),
    # memory
    # torch reads no element of it; an addition ends the process there too.
    "a freed storage": (lambda a: (a.view(2, 2).shape, a.numel() + 1), (freed,)),
    "a read-only array": (lambda a: a + 1, (read_only,)),
    "2^31 elements by strides of 0": (lambda a: a[:3] + a[-3:], (huge,)),
    "a sum of no element": (lambda a: a.sum() + 1, (torch.ones(0, 3),)),
    "a number": (lambda a: (a * 2, a.sum(0), a.reshape(1)), (torch.tensor(3.0),)),
}


def outcome(function, arguments):
    """(the result, the exception's type, text and line)."""
    try:
        return function(*arguments), None, None, None
    except Exception as error:
        here = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
        line = linecache.getline(__file__, here[-1].lineno).strip() if here else None
        return None, type(error), str(error), line


def given(makers):
    return [make() if callable(make) and not isinstance(make, torch.Tensor) else copy_if_small(make) for make in makers]


def copy_if_small(tensor):
    return tensor if tensor is huge else copy_of(tensor)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls(name):
    function, makers = CALLS[name]

    def caught(*arguments):
        try:
            return function(*arguments)
        except Exception as error:
            return type(error), str(error)

    with torch.no_grad():
        expected = outcome(function, given(makers))
        handled = caught(*given(makers))
        minidynamo._dynamo.reset()
        compiled, compiled_caught = minidynamo.compile(function), minidynamo.compile(caught)
        for _ in range(3):
            arguments = given(makers)
            found = outcome(compiled, arguments)
            assert found[1:] == expected[1:]
            assert difference_of_parts(found[0], expected[0], (0.0, 0.0)) == ""
            assert difference_of_parts(compiled_caught(*given(makers)), handled, (0.0, 0.0)) == ""
