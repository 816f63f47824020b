"""Every pointwise row of the op table alone: dtypes and layouts, eager and compiled, on one thread and on two.

The contiguous eager result is compared with torch's; all others must have its bits, but for those of NaNs, and for rounding
where the row's function is the C library's, whose vectors and single numbers differ, or where a product of two numbers is
rounded before it is added.
"""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from op_samples import ROWS

import minidynamo as md
from minidynamo import _C

torch = pytest.importorskip("torch")

FLOATS = ("float32", "float64", "bfloat16", "float16")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
DIGITS = {"float32": 23, "float64": 52, "bfloat16": 7, "float16": 10}
NUMBERS = {
    "min": -1,
    "max": 2,
    "alpha": 3,
    "value": 3,
    "negative_slope": 0.5,
    "nan": 1.5,
    "limit": 0.5,
    "threshold": 0.5,
    "posinf": 2.5,
    "neginf": -2.5,
}
# Rows of operations that have another name.
FUNCTIONAL = set("silu gelu leaky_relu elu selu celu hardsigmoid hardswish hardshrink softshrink threshold".split())
# Operands for which torch's result is not the one of its documentation, or whose sign is not said: of NaNs that it
# rounded to 16 bits, and of zeros.
SUBNORMAL = 2.0**-140
UNLIKE = {
    "gelu": (math.inf, -math.inf),
    "signbit": (math.nan,),
    "copysign": (math.nan,),
    "fmod": (SUBNORMAL,),
    "remainder": (SUBNORMAL,),
}
NO_SIGN_OF_ZERO = ("softshrink", "gelu")  # of gelu torch's differs between processors
SUMS = ("addcmul", "addcdiv", "lerp", "add", "sub")  # torch may contract their products and sums, or not
TABLE = Path(__file__).parents[2] / "csrc/tensor/simd/pointwise.def"
COSTLY = set(re.findall(r"^MD_POINTWISE\((\w+), \d, \d, \w+, Costly", TABLE.read_text(), re.MULTILINE))
SIZES = (5, 67)  # tails of every vector length
LARGE = (173, 1031)  # more than one thread's share
# Only programs of NumPy reach them, and they are compared with it.
STRANGERS = {"modulo"}
POINTWISE = [row for row in ROWS if row["kind"].startswith("Pointwise") or row["kind"] == "Compare"]
POINTWISE = [row for row in POINTWISE if row["name"] not in STRANGERS]


def parameters(row):
    schema = row["schema"]
    for text in schema[schema.index("(") + 1 : schema.index(") ->")].split(", "):
        kind, _, name = text.partition(" ")
        if kind != "*":
            name, _, default = name.partition("=")
            yield kind, name, default


def forms(row):
    """(numbers, keywords): which operands are numbers, and the arguments that are none; the first form has no number."""
    kinds = list(parameters(row))
    takes_number = [name for kind, name, _ in kinds if kind.startswith("Number") and name != "self"]
    modes = {"str": ("floor", "trunc"), "str?": (None,)}
    asked = [modes[kind] for kind, name, _ in kinds if name == "rounding_mode"]
    plain = {"rounding_mode": asked[0][0]} if asked else {}
    for mode in asked[0][1:] if asked else ():
        yield (), {"rounding_mode": mode}
    yield (), plain
    if takes_number:
        yield tuple(takes_number), plain
    factors = [name for kind, name, default in kinds if kind == "Scalar" and default and name in NUMBERS]
    if factors:
        yield (), plain | {name: NUMBERS[name] for name in factors}


def id_of(form):
    row, (numbers, keywords) = form
    return "-".join([row["name"], *numbers, *(f"{name}_{value}" for name, value in keywords.items())])


FORMS = [(row, form) for row in POINTWISE for form in forms(row)]


def function_of(library, row):
    name = row["name"].partition(".")[0]
    return getattr(library.nn.functional if name in FUNCTIONAL else library, name)


def is_among(number, others):
    return any(number == other or (number != number and other != other) for other in others)


def values(dtype, shape, place, name):
    """Half of them special, in another order for each operand."""
    rng = np.random.default_rng(place)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        tiny = SUBNORMAL if dtype == "float32" else 2.0**-20
        special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 0.5, -2.5, 3.0, 6.0, -3.0, tiny, 6e4]
        special = [number for number in special if not is_among(number, UNLIKE.get(name, ()))]
        drawn = rng.normal(0, 4, shape)
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.max, info.min, 2, 3, 7, max(-1, info.min), max(-7, info.min), info.max - 1]
        drawn = rng.integers(max(-40, info.min), 40, shape)
        if place > 0 and "shift" in name:
            special, drawn = [0, 1, 2, 3], np.abs(drawn) % 7
        if place > 0 and name.partition(".")[0] in ("pow",):
            special, drawn = [0, 1, 2, 3, 5], np.abs(drawn) % 6
        if place > 0 and name.partition(".")[0] in ("div", "floor_divide", "remainder", "fmod"):
            # torch ends the process where the smallest number is divided by -1.
            special = [3 if value in (0, -1) else value for value in special]
            drawn = np.where((drawn == 0) | (drawn == -1), 3, drawn)
    chosen = np.array(special)[rng.integers(0, len(special), shape)]
    return np.where(rng.random(shape) < 0.5, chosen, drawn)


def made(library, array, dtype):
    wide = array if dtype == "bool" else array.astype("float64" if dtype in FLOATS else "int64")
    return library.tensor(wide.tolist() if array.size < 1000 else wide).to(getattr(library, dtype)).reshape(array.shape)


def as_is(tensor):
    return tensor


def transposed(tensor):
    return tensor.t().contiguous().t() if tensor.dim() == 2 else tensor


def stepped(tensor):
    return md.stack([tensor, tensor], tensor.dim())[..., 1]


def from_the_end(tensor):
    """The last part of a larger storage, not aligned to a vector."""
    return md.cat([tensor.reshape(-1)[:3], tensor.reshape(-1)])[-tensor.numel() :].reshape(tensor.shape)


def one_of_two_rows(tensor):
    return md.stack([tensor, tensor], 1)[:, 0] if tensor.dim() == 2 else tensor


LAYOUTS = {
    "contiguous": (as_is, as_is, as_is),
    "transposed": (transposed, transposed, transposed),
    "stepped": (stepped, stepped, stepped),
    "from the end": (from_the_end, from_the_end, from_the_end),
    "rows apart": (one_of_two_rows, one_of_two_rows, one_of_two_rows),
    "first transposed": (transposed, as_is, as_is),
    "second transposed": (as_is, transposed, stepped),
}
CAPTURED_LAYOUTS = ("contiguous", "stepped", "from the end", "second transposed")
SHAPES = {
    "one row": lambda shape, place: shape if place == 0 else shape[1:],
    "one column": lambda shape, place: shape if place == 0 else (shape[0], 1),
    "first a column": lambda shape, place: (shape[0], 1) if place == 0 else shape,
    "without dims": lambda shape, place: (),
    "no elements": lambda shape, place: (0, shape[1]),
    "one element beside many": lambda shape, place: shape if place == 0 else (1, 1),
}


AS_IS = (as_is, as_is, as_is)


def whole(shape, place):
    return shape


def call_of(library, row, form, dtype, shape=SIZES, shape_of=whole, arrange=AS_IS):
    """The call, or None if the dtype has none: (function of tensors, tensors)."""
    numbers, keywords = form
    positional, tensors, place = [], [], 0
    for kind, name, default in parameters(row):
        if name in numbers or (kind == "Scalar" and not default) or name == "limit":
            positional.append(NUMBERS.get(name, 3))
        elif kind in ("Tensor", "Number", "Number?"):
            own = "bool" if name == "condition" else dtype
            tensor = made(library, np.asarray(values(own, shape_of(shape, place), place, row["name"])), own)
            tensors.append(arrange[place](tensor))
            positional.append(None)
            place += 1
    function = function_of(library, row)

    def run(*given):
        rest = iter(given)
        return function(*[next(rest) if value is None else value for value in positional], **keywords)

    return run, tensors


CAPTURED_SHAPES = ("one column", "without dims", "no elements")
ERRORS = (RuntimeError, TypeError, NotImplementedError, ValueError)


def outcome(call):
    run, tensors = call
    try:
        return run(*tensors)
    except ERRORS:
        return None


def bits(tensor):
    """Elements as bytes, those of NaNs made alike."""
    tensor = tensor.contiguous()
    if tensor.is_floating_point():
        wide = tensor.to(md.float64).numpy().copy()
        wide[np.isnan(wide)] = math.nan
        return wide.tobytes()
    return tensor.numpy().tobytes()


def assert_same(result, plain, row, rounds=False):
    assert result.dtype is plain.dtype
    assert tuple(result.shape) == tuple(plain.shape)
    own = str(plain.dtype).rpartition(".")[2]
    if own in FLOATS and (rounds or row["name"].partition(".")[0] in COSTLY):
        a, b = (tensor.to(md.float64).numpy() for tensor in (result, plain))
        np.testing.assert_allclose(a, b, rtol=8 * 2.0 ** -DIGITS[own], atol=8 * 2.0 ** -DIGITS[own], equal_nan=True)
    else:
        assert bits(result) == bits(plain)


def assert_as_torch(ours, theirs, row, dtype):
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    if not ours.is_floating_point():
        assert ours.reshape(-1).tolist() == theirs.reshape(-1).tolist()
        return
    a, b = ours.to(md.float64).numpy(), theirs.double().numpy()
    own = str(ours.dtype).rpartition(".")[2]
    # Where torch computes 16-bit floats step by step, or loses digits, it is a few units off.
    tolerance = 2.0 ** -(DIGITS[own] - 5)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    exact = (a == 0) & (b == 0)
    if row["name"] not in SUMS + NO_SIGN_OF_ZERO:
        assert (np.signbit(a) == np.signbit(b))[exact].all()


@pytest.fixture(autouse=True)
def one_thread():
    threads = md.get_num_threads()
    md.set_num_threads(1)
    yield
    md.set_num_threads(threads)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS, ids=id_of)
def test_as_torch(form, dtype):
    row, call = form
    ours = outcome(call_of(md, row, call, dtype))
    theirs = outcome(call_of(torch, row, call, dtype))
    if theirs is not None:
        assert ours is not None
        assert_as_torch(ours, theirs, row, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS, ids=id_of)
def test_layouts_eager_and_compiled(form, dtype):
    row, call = form
    plain = outcome(call_of(md, row, call, dtype))
    if plain is None:
        return
    for name, arrange in LAYOUTS.items():
        run, tensors = call_of(md, row, call, dtype, arrange=arrange)
        assert_same(run(*tensors), plain, row)
        if name in CAPTURED_LAYOUTS:
            md._dynamo.reset()
            assert_same(md.compile(fullgraph=True)(run)(*tensors), plain, row)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS, ids=id_of)
def test_shapes_eager_and_compiled(form, dtype):
    """Broadcast operands have the result of operands of the whole shape."""
    row, call = form
    if outcome(call_of(md, row, call, dtype)) is None:
        return
    rounds = row["name"] in SUMS
    for name, shape_of in SHAPES.items():
        run, tensors = call_of(md, row, call, dtype, shape_of=shape_of)
        shape = np.broadcast_shapes(*(tuple(tensor.shape) for tensor in tensors))
        plain = run(*(tensor.expand(shape).contiguous() for tensor in tensors))
        assert_same(run(*tensors), plain, row, rounds)
        if name in CAPTURED_SHAPES:
            md._dynamo.reset()
            assert_same(md.compile(fullgraph=True)(run)(*tensors), plain, row, rounds)


def assert_same_on_threads(case, plain, row, rounds=False):
    for captured in (False, True):
        md._dynamo.reset()
        run = md.compile(fullgraph=True)(case[0]) if captured else case[0]
        for threads in (1, 2):
            md.set_num_threads(threads)
            assert_same(run(*case[1]), plain, row, rounds)


@pytest.mark.parametrize("form", FORMS, ids=id_of)
def test_large_operands_on_one_thread_and_two(form):
    row, call = form
    for dtype in ("float32", "bfloat16", "int32", "bool"):
        plain = outcome(call_of(md, row, call, dtype, shape=LARGE))
        if plain is None:
            continue
        for arrange in (AS_IS, LAYOUTS["first transposed"], LAYOUTS["stepped"]):
            assert_same_on_threads(call_of(md, row, call, dtype, shape=LARGE, arrange=arrange), plain, row)
        for name in ("one column", "first a column"):
            case = call_of(md, row, call, dtype, shape=LARGE, shape_of=SHAPES[name])
            shape = np.broadcast_shapes(*(tuple(tensor.shape) for tensor in case[1]))
            plain = case[0](*(tensor.expand(shape).contiguous() for tensor in case[1]))
            assert_same_on_threads(case, plain, row, rounds=row["name"] in SUMS)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8"])
def test_permuted_operands_of_three_dims(dtype):
    rng = np.random.default_rng(0)
    for sizes in ((3, 37, 200), (2, 200, 40), (130, 4, 150)):
        for order in itertools.permutations(range(3)):
            a, b = (rng.integers(0, 9, sizes).astype(dtype) for _ in range(2))
            permuted = md.tensor(np.ascontiguousarray(b.transpose(order))).permute(tuple(np.argsort(order).tolist()))
            assert (md.tensor(a) + permuted).numpy().tobytes() == (a + b).tobytes()
            assert permuted.contiguous().numpy().tobytes() == b.tobytes()
            assert (permuted + md.tensor(a)).contiguous().numpy().tobytes() == (a + b).tobytes()


@pytest.mark.parametrize("form", FORMS, ids=id_of)
def test_machine_code_has_the_results_of_the_loops(form):
    row, call = form
    for dtype in DTYPES:
        case = call_of(md, row, call, dtype)
        plain = outcome(case)
        if plain is None:
            continue
        for machine_code in (True, False):
            md._dynamo.reset()
            with md._dynamo.config.patch(machine_code=machine_code):
                assert_same(md.compile(fullgraph=True)(case[0])(*case[1]), plain, row)


def test_every_row_is_there():
    names = {row["name"] for row, _ in FORMS}
    pointwise = [row for row in _C._op_rows() if row["kind"].startswith("Pointwise") or row["kind"] == "Compare"]
    assert {row["name"] for row in pointwise} - names == STRANGERS
    assert len(names) > 80


@pytest.mark.parametrize("dtype", ("uint8", "int8"))
def test_shifts_of_bytes(dtype):
    """All bytes by all counts: by a negative count, or by eight and more, all bits are shifted out."""
    info = np.iinfo(dtype)
    numbers = np.arange(info.min, info.max + 1)
    a, b = np.repeat(numbers, 256), np.tile(numbers, 256)
    count = np.where((b < 0) | (b > 7), 8, b)
    ours = [md.tensor(array.astype(dtype)) for array in (a, b)]
    left, right = md.bitwise_left_shift(*ours).numpy(), md.bitwise_right_shift(*ours).numpy()
    assert np.array_equal(left, (a << count).astype(dtype))
    assert np.array_equal(right, (a >> count).astype(dtype))
