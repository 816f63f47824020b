"""addr, addmv, addmm, addbmm and baddbmm against torch: dtypes, beta and alpha of all kinds; elements, or the class
of the error."""

import itertools
import math

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64")
NUMBERS = (1, 0, 2, -3, 0.5, True, False, math.nan, math.inf, 1e10)
SHAPES = {
    "addr": ((3, 2), (3,), (2,)),
    "addmv": ((3,), (3, 4), (4,)),
    "addmm": ((3, 2), (3, 4), (4, 2)),
    "addbmm": ((3, 2), (5, 3, 4), (5, 4, 2)),
    "baddbmm": ((5, 3, 2), (5, 3, 4), (5, 4, 2)),
}
# addr promotes its tensors; the others require one dtype.
PAIRS = {
    name: itertools.product(DTYPES, DTYPES)
    if name == "addr"
    else [(dtype, dtype) for dtype in DTYPES if dtype != "bool"]
    for name in SHAPES
}
CASES = [(name, own, other) for name, pairs in PAIRS.items() for own, other in pairs]


def tensor(lib, shape, dtype):
    values = torch.arange(math.prod(shape)).remainder(3).reshape(shape).tolist()
    return lib.tensor(values, dtype=getattr(lib, dtype))


def outcome(lib, name, own, other, beta, alpha):
    first, *factors = SHAPES[name]
    try:
        operands = [tensor(lib, first, own), *(tensor(lib, shape, other) for shape in factors)]
        result = getattr(lib, name)(*operands, beta=beta, alpha=alpha)
    except Exception as error:
        return type(error).__name__
    return str(result.dtype).rpartition(".")[2], result.tolist()


def same(ours, theirs):
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    tolerance = 1e-2 if theirs[0] == "float16" else 1e-5
    return ours[0] == theirs[0] and torch.allclose(
        torch.tensor(ours[1], dtype=torch.float64),
        torch.tensor(theirs[1], dtype=torch.float64),
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
    )


@pytest.mark.parametrize(("own", "other"), itertools.product(DTYPES, DTYPES))
def test_addr_of_a_tensor_without_dims(own, other):
    calls = [lib.addr(tensor(lib, (1,), own)[0], *(tensor(lib, (2,), other) for _ in range(2))) for lib in (md, torch)]
    ours, theirs = ((str(result.dtype).rpartition(".")[2], result.tolist()) for result in calls)
    assert ours == theirs


@pytest.mark.parametrize(("name", "own", "other"), CASES)
def test_as_torch(name, own, other):
    wrong = []
    for beta, alpha in [*((number, 1) for number in NUMBERS), *((1, number) for number in NUMBERS)]:
        if other.startswith("float") and math.isinf(alpha) and name != "addr":
            continue  # the BLAS library chooses whether it scales the product or a factor
        ours, theirs = (outcome(lib, name, own, other, beta, alpha) for lib in (md, torch))
        if not same(ours, theirs):
            wrong.append((beta, alpha, ours, theirs))
    assert not wrong
