"""torch's type promotion, against tables generated with torch."""

import itertools

import pytest

import minidynamo as md

SHORT = {
    "b8": md.bool,
    "u8": md.uint8,
    "i8": md.int8,
    "i16": md.int16,
    "i32": md.int32,
    "i64": md.int64,
    "f16": md.float16,
    "bf16": md.bfloat16,
    "f32": md.float32,
    "f64": md.float64,
}
NAMES = list(SHORT)
DTYPES = list(SHORT.values())

# Row and column in the order of SHORT.
PROMOTE_TYPES = """
    b8    b8   u8   i8   i16  i32  i64  f16  bf16 f32  f64
    u8    u8   u8   i16  i16  i32  i64  f16  bf16 f32  f64
    i8    i8   i16  i8   i16  i32  i64  f16  bf16 f32  f64
    i16   i16  i16  i16  i16  i32  i64  f16  bf16 f32  f64
    i32   i32  i32  i32  i32  i32  i64  f16  bf16 f32  f64
    i64   i64  i64  i64  i64  i64  i64  f16  bf16 f32  f64
    f16   f16  f16  f16  f16  f16  f16  f16  f32  f32  f64
    bf16  bf16 bf16 bf16 bf16 bf16 bf16 f32  bf16 f32  f64
    f32   f32  f32  f32  f32  f32  f32  f32  f32  f32  f64
    f64   f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
"""
TABLE = {
    (row.split()[0], column): result
    for row in PROMOTE_TYPES.strip().splitlines()
    for column, result in zip(NAMES, row.split()[1:], strict=True)
}

# With a Python bool, int, float; the tensor has dims.
WITH_NUMBERS = {
    "b8": ("b8", "i64", "f32"),
    "u8": ("u8", "u8", "f32"),
    "i8": ("i8", "i8", "f32"),
    "i16": ("i16", "i16", "f32"),
    "i32": ("i32", "i32", "f32"),
    "i64": ("i64", "i64", "f32"),
    "f16": ("f16", "f16", "f16"),
    "bf16": ("bf16", "bf16", "bf16"),
    "f32": ("f32", "f32", "f32"),
    "f64": ("f64", "f64", "f64"),
}
CATEGORY = {name: 0 if name == "b8" else 2 if "f" in name else 1 for name in NAMES}


def short(dtype):
    return next(name for name, value in SHORT.items() if value is dtype)


def ones(name, *sizes):
    return md.ones(*sizes, dtype=SHORT[name]) if sizes else md.tensor(1, dtype=SHORT[name])


@pytest.fixture
def float64_default():
    md.set_default_dtype(md.float64)
    yield
    md.set_default_dtype(md.float32)


def test_promote_types():
    for (a, b), result in TABLE.items():
        assert md.promote_types(SHORT[a], SHORT[b]) is SHORT[result], (a, b)


@pytest.mark.parametrize("a", NAMES)
def test_tensors_with_dims(a):
    for b in NAMES:
        result = TABLE[a, b]
        assert short(md.result_type(ones(a, 2), ones(b, 2))) == result
        assert short((ones(a, 2) + ones(b, 2)).dtype) == result
        assert short(md.add(ones(a, 1, 3), ones(b, 2, 1)).dtype) == result


@pytest.mark.parametrize("a", NAMES)
def test_zero_dim_tensors_promote_by_category(a):
    for b in NAMES:
        weak = TABLE[a, b] if CATEGORY[b] > CATEGORY[a] else a
        assert short((ones(a, 2) * ones(b)).dtype) == weak, b
        assert short((ones(b) * ones(a, 2)).dtype) == weak, b
        assert short((ones(a) * ones(b)).dtype) == TABLE[a, b], b


@pytest.mark.parametrize("a", NAMES)
def test_numbers(a):
    for number, result in zip((True, 1, 1.0), WITH_NUMBERS[a], strict=True):
        assert short((ones(a, 2) + number).dtype) == result
        assert short((number + ones(a, 2)).dtype) == result
        assert short((ones(a) + number).dtype) == result


def test_numbers_with_another_default(float64_default):
    assert (md.ones(2, dtype=md.int32) + 1.5).dtype is md.float64
    assert (md.ones(2, dtype=md.float32) + 1.5).dtype is md.float32
    assert (md.ones(2, dtype=md.int32) / 2).dtype is md.float64
    assert md.tensor(1.5).dtype is md.float64


@pytest.mark.parametrize("a", NAMES)
def test_true_division_and_float_functions(a):
    floating = a if CATEGORY[a] == 2 else "f32"
    assert short((ones(a, 2) / ones(a, 2)).dtype) == floating
    assert short((ones(a, 2) / 2).dtype) == floating
    assert short(md.exp(ones(a, 2)).dtype) == floating
    assert short(ones(a, 2).sqrt().dtype) == floating


def test_comparisons_are_bool():
    for a, b in itertools.product(NAMES, NAMES):
        assert (ones(a, 2) == ones(b, 2)).dtype is md.bool
        assert (ones(a, 2) < ones(b)).dtype is md.bool
    # The operands are promoted before they are compared: 300 does not become 44.
    assert (md.tensor([44], dtype=md.uint8) == md.tensor([300])).tolist() == [False]


def test_sums_of_integers_are_int64():
    for name in NAMES:
        assert short(ones(name, 2).sum().dtype) == (name if CATEGORY[name] == 2 else "i64")


def test_matmul_requires_one_dtype():
    with pytest.raises(RuntimeError, match=r"matmul.*float32.*float64"):
        md.matmul(md.ones(2, 2), md.ones(2, 2, dtype=md.float64))


def test_cat_promotes_its_tensors():
    assert md.cat([md.ones(1, dtype=md.int32), md.ones(1)]).dtype is md.float32
    assert md.cat([md.ones(1, dtype=md.uint8), md.ones(1, dtype=md.int8)]).tolist() == [1, 1]


def test_against_torch():
    torch = pytest.importorskip("torch")
    theirs = {name: getattr(torch, repr(dtype).split(".")[1]) for name, dtype in SHORT.items()}
    shapes = ((), (2,))
    for a, b, shape_a, shape_b in itertools.product(NAMES, NAMES, shapes, shapes):
        expected = (torch.ones(shape_a, dtype=theirs[a]) + torch.ones(shape_b, dtype=theirs[b])).dtype
        ours = (md.ones(shape_a, dtype=SHORT[a]) + md.ones(shape_b, dtype=SHORT[b])).dtype
        assert theirs[short(ours)] is expected, (a, b, shape_a, shape_b)
    for a, shape in itertools.product(NAMES, shapes):
        for number in (True, 2, 2.5):
            expected = (torch.ones(shape, dtype=theirs[a]) * number).dtype
            assert theirs[short((md.ones(shape, dtype=SHORT[a]) * number).dtype)] is expected, (a, shape, number)


UNSIGNED = {"UInt16": md.uint16, "UInt32": md.uint32, "UInt64": md.uint64}


@pytest.mark.parametrize("name", UNSIGNED)
def test_wide_unsigned_dtypes_promote_to_floats_alone(name):
    dtype = UNSIGNED[name]
    x = md.ones(2, dtype=dtype)
    assert md.promote_types(dtype, dtype) is dtype
    for other in DTYPES:
        if other.is_floating_point:
            assert md.promote_types(dtype, other) is other and (x + md.ones(2, dtype=other)).dtype is other
            continue
        message = "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote"
        with pytest.raises(RuntimeError, match=f"{message} {name} and "):
            md.promote_types(dtype, other)
        with pytest.raises(RuntimeError, match=message):
            x * md.ones(2, dtype=other)
    assert [(x * number).dtype for number in (True, 3, 2.5)] == [dtype, dtype, md.float32]
    assert (x / x).dtype is md.float32 and x.sum().dtype is md.int64 and x.sum(dtype=dtype).dtype is dtype


def test_elements_up_to_the_end_of_uint64():
    x = md.tensor([2**63, 2**64 - 1, 3], dtype=md.uint64)
    assert x.tolist() == [2**63, 2**64 - 1, 3] and x[1].item() == 2**64 - 1
    assert (x + (2**63 + 1)).tolist() == [1, 2**63, 2**63 + 4]
    assert (x > 2**63).tolist() == [False, True, False]
    assert md.full((2,), 2**64 - 1, dtype=md.uint64).tolist() == [2**64 - 1] * 2
    assert x.clamp(max=2**63).tolist() == [2**63, 2**63, 3]
    for wrong, error in ((-1, OverflowError), (2**64, OverflowError)):
        with pytest.raises(error):
            md.tensor([wrong], dtype=md.uint64)
    with pytest.raises(RuntimeError, match="without overflow"):
        md.tensor([70000], dtype=md.uint16)
    with pytest.raises(IndexError, match="must be long, int, byte or bool"):
        md.arange(3)[md.tensor([0], dtype=md.uint16)]
