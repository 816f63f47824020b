"""Numbers that an element's dtype cannot hold, and torch's classes of errors for them."""

import math

import pytest

import minidynamo as md

INT8, UINT8 = md.int8, md.uint8
MASK = md.tensor([True, False])
FIRST = md.tensor([0])

# (dtype, number): torch 2.13 refuses to fill with it.
REFUSED = [
    (UINT8, 256), (UINT8, -256), (UINT8, -1.0), (INT8, 128), (INT8, -129), (INT8, 127.5), (INT8, -128.5),
    (md.int16, 40000), (md.int32, 2**31), (md.int32, 1e10), (md.int64, 1e20), (md.int64, math.inf),
    (md.int32, math.nan), (md.float32, 1e40), (md.float32, -1e40), (md.float16, 70000), (md.bfloat16, -3.4e38),
]  # fmt: skip
# (dtype, number, the resulting element)
TAKEN = [
    (UINT8, -1, 255), (UINT8, -255, 1), (UINT8, 255, 255), (INT8, -128, -128), (INT8, 1.7, 1), (INT8, True, 1),
    (md.bool, 200, True), (md.bool, math.nan, True), (md.float32, math.inf, math.inf), (md.float16, math.inf, math.inf),
    (md.float16, -math.inf, -math.inf), (md.int64, -1e10, -10000000000), (md.int32, -1.9, -1),
]  # fmt: skip


def fill(x, number):
    return x.clone().fill_(number)


def full(x, number):
    return md.full((2,), number, dtype=x.dtype)


def full_like(x, number):
    return md.full_like(x, number)


def new_full(x, number):
    return x.new_full((2,), number)


def masked_fill(x, number):
    return x.masked_fill(MASK, number)


def set_item(x, number):
    y = x.clone()
    y[0] = number
    return y


def index_fill(x, number):
    return x.index_fill(0, FIRST, number)


def scatter(x, number):
    return x.scatter(0, FIRST, number)


WAYS = [fill, full, full_like, new_full, masked_fill, set_item, index_fill, scatter]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_filling(way, compiled):
    call = md.compile(way) if compiled else way
    for dtype, number in REFUSED:
        x = md.zeros(2, dtype=dtype)
        if way is set_item and dtype in (md.float16, md.bfloat16):
            # As torch, which fills a single element of these without checking the range.
            assert call(x, number)[0].item() == math.copysign(math.inf, number)
            continue
        with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
            call(x, number)
        assert x.tolist() == [0, 0]
    for dtype, number, element in TAKEN:
        assert call(md.zeros(2, dtype=dtype), number).tolist()[0] == element


# Calls with a tensor x of two elements and a number, by the dtype of x: (way, accepted by torch 2.13, rejected by it).
CHECKED = {
    "clamp(min)": lambda x, n: x.clamp(min=n),
    "clamp(max)": lambda x, n: x.clamp(max=n),
    "clamp(both)": lambda x, n: md.clamp(x, -n, n),
    "clamp_min": lambda x, n: x.clamp_min(n),
    "clamp_max_": lambda x, n: x.clone().clamp_max_(n),
    "where(x, n)": lambda x, n: md.where(MASK, x, n),
    "where(n, x)": lambda x, n: md.where(MASK, n, x),
    "add(alpha)": lambda x, n: md.add(x, x, alpha=n),
    "sub(alpha)": lambda x, n: x.sub(x, alpha=n),
    "addmm(beta)": lambda x, n: md.addmm(x.view(2, 1), x.view(2, 1), x[:1].view(1, 1), beta=n),
    "index_add": lambda x, n: x.index_add(0, FIRST, x[:1], alpha=n),
    "addcmul": lambda x, n: md.addcmul(x, x, x, value=n),
    "hardtanh": lambda x, n: md.nn.functional.hardtanh(x, -n, n),
    "pad": lambda x, n: md.nn.functional.pad(x, (1, 1), value=n),
    "after other steps": lambda x, n: (x + 1).clamp(max=n) * 2,
}
TOO_LARGE = {
    INT8: 1000,
    UINT8: 1000,
    md.int16: 2**20,
    md.int32: 2**40,
    md.float32: 1e39,
    md.float16: 1e6,
    md.bfloat16: 1e39,
}
# Halves are computed in float32, or become infinite.
HALVES_TAKE = {"where(x, n)", "where(n, x)", "addmm(beta)", "addcmul"}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", CHECKED)
def test_numbers_that_must_fit(name, compiled):
    call = md.compile(CHECKED[name]) if compiled else CHECKED[name]
    for dtype, number in TOO_LARGE.items():
        if name == "hardtanh" and dtype is UINT8:
            continue  # rejects negative bounds
        x = md.ones(2, dtype=dtype)
        for fitting in (3, 3, 5):  # as constants of a graph, and as its inputs
            call(x, fitting)
        half = dtype in (md.float16, md.bfloat16)
        if half and (name in HALVES_TAKE and not (name in ("addmm(beta)", "addcmul") and number > 1e38)):
            call(x, number)
            continue
        with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
            call(x, number)
        assert x.tolist() == [1, 1]


WRAPPING = {
    "+": (lambda x, n: x + n, -23), "-": (lambda x, n: x - n, 25), "*": (lambda x, n: x * n, -24),
    "reversed -": (lambda x, n: n - x, -25), "//": (lambda x, n: x // n, -1), "&": (lambda x, n: x & n, 0),
    "|": (lambda x, n: x | n, -23), "==": (lambda x, n: x == n, False), "<": (lambda x, n: x < n, False),
    "add_": (lambda x, n: x.clone().add_(n), -23), "fmod": (lambda x, n: x.fmod(n), 1),
}  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", WRAPPING)
def test_operands_wrap(name, compiled):
    function, wanted = WRAPPING[name]
    call = md.compile(function) if compiled else function
    for _ in range(2):
        assert call(md.ones(2, dtype=INT8), 1000).tolist() == [wanted, wanted]


def test_linspace():
    for dtype, end in TOO_LARGE.items():
        for compiled in (False, True):
            call = lambda n, dtype=dtype: md.linspace(0, n, 3, dtype=dtype)
            with pytest.raises(RuntimeError, match="without overflow"):
                (md.compile(call) if compiled else call)(end)
    assert md.linspace(300, 1, 0, dtype=INT8).shape == (0,)
    assert md.linspace(4.3, 0, 3, dtype=md.int64).tolist() == [4, 2, 0]
    assert md.linspace(0, 1e6, 1, dtype=md.float16).tolist() == [0.0]


# Ints from 2 ** 63 to 2 ** 64 - 1: floats next to floats, else modulo 2 ** 64.
WIDE = [
    (lambda x, n: x + n, md.int64, [-(2**63) + 1] * 2),
    (lambda x, n: n - x, md.int64, [2**63 - 1] * 2),
    (lambda x, n: x * n, md.int64, [-(2**63)] * 2),
    (lambda x, n: x == n, md.int64, [False] * 2),
    (lambda x, n: x > n, md.int64, [True] * 2),
    (lambda x, n: md.add(x, n), md.int32, [1] * 2),
    (lambda x, n: x.add_(n), md.int64, [-(2**63) + 1] * 2),
    (lambda x, n: x + n, md.float32, [2.0**63] * 2),
    (lambda x, n: x > n, md.float32, [False] * 2),
    (lambda x, n: x.clamp(min=n), md.float32, [2.0**63] * 2),
    (lambda x, n: x.clone().fill_(n), md.float64, [2.0**63] * 2),
    (lambda x, n: md.full((2,), n, dtype=md.float32), md.float32, [2.0**63] * 2),
]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("number", range(len(WIDE)))
def test_unsigned_64_bit_ints(number, compiled):
    function, dtype, wanted = WIDE[number]
    call = md.compile(function) if compiled else function
    for _ in range(3):
        assert call(md.ones(2, dtype=dtype), 2**63).tolist() == wanted
    assert call(md.ones(2, dtype=dtype), 2) is not None
    assert call(md.ones(2, dtype=dtype), 2**63).tolist() == wanted
    with pytest.raises(OverflowError):
        call(md.ones(2, dtype=dtype), 2**64)


@pytest.mark.parametrize("call", [lambda x, n: x.clamp(max=n), lambda x, n: x.fill_(n), lambda x, n: md.full((2,), n)])
def test_ints_that_int64_cannot_hold(call):
    for function in (call, md.compile(call)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type int64_t without overflow"):
            function(md.ones(2, dtype=md.int64), 2**63)


def test_data_of_tensors():
    for dtype, number in REFUSED:
        if dtype.is_floating_point:
            assert md.tensor([number], dtype=dtype).item() == math.copysign(math.inf, number)
            continue
        with pytest.raises(RuntimeError, match="without overflow"):
            md.tensor([number], dtype=dtype)
    for dtype, number, element in TAKEN:
        assert md.tensor([number], dtype=dtype).tolist() == [element]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_copy_of_a_number(compiled):
    def copy(x, number):
        return x.copy_(number)

    call = md.compile(copy) if compiled else copy
    x = md.zeros(2, 2)
    assert call(x, 3) is x
    assert x.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert call(md.zeros(2, dtype=md.int32), 1.7).tolist() == [1, 1]
    assert call(md.zeros(2, dtype=md.bool), 2).tolist() == [True, True]
    assert call(md.zeros(2, dtype=UINT8), 300).tolist() == [44, 44]  # copies wrap
    with pytest.raises(TypeError, match="copy"):
        call(x, "a")


@pytest.mark.parametrize("op", [md.add, md.sub], ids=["add", "sub"])
def test_alpha(op):
    x = md.tensor([1, 2])
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        op(x, 1, alpha=1.5)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        op(x, 1, alpha=True)
    sign = 1 if op is md.add else -1
    assert op(x, 1.5, alpha=1.5).tolist() == [1 + sign * 2.25, 2 + sign * 2.25]
    assert op(x, md.tensor([2.0, 4.0]), alpha=0.5).tolist() == [1 + sign, 2 + 2 * sign]


def test_classes_of_errors():
    x = md.zeros(2, 3)
    far = md.tensor([[5, 0, 0]])
    for call in (lambda: x.gather(0, far), lambda: x.scatter(0, far, x), lambda: x.scatter_add(0, far, x)):
        with pytest.raises(RuntimeError, match=r"index 5 is out of"):
            call()
    for call in (lambda: x.index_select(0, far[0]), lambda: x[far[0]], lambda: x.index_fill(0, far[0], 1.0)):
        with pytest.raises(IndexError, match=r"index 5 is out of"):
            call()
    for shifts in ((), []):
        with pytest.raises(RuntimeError, match="`shifts` required"):
            md.roll(x, shifts)
    for data in ("a", [1, "a"], [b"ab"]):
        with pytest.raises(TypeError, match="invalid data type"):
            md.tensor(data)
    for data in ({}, [object()], [1, None]):
        with pytest.raises(RuntimeError, match="Could not infer dtype of"):
            md.tensor(data)
    with pytest.raises(TypeError):
        x["a"]
    with pytest.raises(IndexError):
        x[1.5]


def test_seeds():
    md.manual_seed("12")
    first = md.rand(3).tolist()
    md.manual_seed(12.9)
    assert md.rand(3).tolist() == first
    with pytest.raises(TypeError):
        md.manual_seed(None)
