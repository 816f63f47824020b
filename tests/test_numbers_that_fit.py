"""Numbers that an element's dtype cannot hold, and what torch's classes of errors are for them."""

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
# (dtype, number, the element that it makes)
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
            # As torch, which fills a single element without looking at what these hold.
            assert call(x, number)[0].item() == math.copysign(math.inf, number)
            continue
        with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
            call(x, number)
        assert x.tolist() == [0, 0]
    for dtype, number, element in TAKEN:
        assert call(md.zeros(2, dtype=dtype), number).tolist()[0] == element


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
