"""compile(options={"precision": "bfloat16"}) and {"weights": "int8"}: values against float64 within bounds that follow from the
rounding, that they have effect where they should and none elsewhere, and that nothing that was made of a weight is stale.
"""

import os
import subprocess
import sys

import pytest

import minidynamo
from minidynamo import nn
from minidynamo.nn import functional as F

F32, F64 = minidynamo.float32, minidynamo.float64
BFLOAT16 = {"precision": "bfloat16"}
INT8 = {"weights": "int8"}
BOTH = BFLOAT16 | INT8

with open("/proc/cpuinfo") as lines:
    FLAGS = lines.read()
MULTIPLIES = {"bfloat16": "avx512_bf16" in FLAGS, "int8": "avx512_vnni" in FLAGS}

pytestmark = [
    pytest.mark.usefixtures("without_gradients"),
    pytest.mark.skipif(not all(MULTIPLIES.values()), reason="the processor has no instructions for it"),
    pytest.mark.skipif(minidynamo._dynamo.config.check_captures > 0, reason="eager Python computes in float32"),
]


@pytest.fixture
def without_gradients():
    with minidynamo.no_grad():
        yield


@pytest.fixture(autouse=True)
def fresh():
    minidynamo.manual_seed(11)
    yield
    minidynamo._dynamo.reset()


def randn(*shape):
    return minidynamo.randn(*shape)


def plan_of(function, options, *arguments):
    explained = minidynamo.explain(minidynamo.compile(function, options=options))(*arguments)
    return "\n".join(f"{step.text} {step.why}" for region in explained.regions for step in region.plan.steps)


def bits(tensor):
    return tensor.contiguous().view(minidynamo.int32).tolist()


def wide(value):
    return value.to(F64) if isinstance(value, minidynamo.Tensor) and value.dtype == F32 else value


# name: the operation, its operands. All are linear in each of the first two operands, so that the result of their
# magnitudes bounds the error.
OPERATIONS = {
    "mm": (lambda a, b: a @ b, [(48, 200), (200, 72)]),
    "mm_transposed": (lambda a, b: a.t() @ b.t(), [(200, 48), (72, 200)]),
    "mm_of_part": (lambda a, b: a[:, 8:] @ b[8:, 3:], [(48, 200), (200, 75)]),
    "mm_many_rows": (lambda a, b: minidynamo.mm(a, b), [(300, 64), (64, 130)]),
    "mm_large": (lambda a, b: a @ b, [(64, 800), (800, 900)]),
    "matmul_3d_2d": (lambda a, b: a @ b, [(3, 40, 64), (64, 48)]),
    "matmul_4d": (lambda a, b: a @ b, [(2, 3, 40, 64), (2, 3, 64, 48)]),
    "matmul_broadcast": (lambda a, b: a @ b, [(4, 40, 64), (1, 64, 48)]),
    "bmm": (lambda a, b: minidynamo.bmm(a, b), [(4, 33, 65), (4, 65, 47)]),
    "bmm_transposed": (lambda a, b: minidynamo.bmm(a, b.transpose(1, 2)), [(4, 33, 65), (4, 47, 65)]),
    "addmm": (lambda a, b, c: minidynamo.addmm(c, a, b), [(40, 96), (96, 64), (64,)]),
    "baddbmm": (lambda a, b, c: minidynamo.baddbmm(c, a, b), [(3, 40, 96), (3, 96, 64), (3, 40, 64)]),
    "einsum": (lambda a, b: minidynamo.einsum("bik,bjk->bij", a, b), [(3, 40, 96), (3, 64, 96)]),
    "einsum_two": (lambda a, b: minidynamo.einsum("ik,kj->ij", a, b), [(40, 96), (96, 64)]),
    "linear": (lambda a, b: F.linear(a, b), [(40, 96), (64, 96)]),
    "linear_bias": (lambda a, b, c: F.linear(a, b, c), [(5, 40, 96), (64, 96), (64,)]),
    "conv1d": (lambda a, b, c: F.conv1d(a, b, c, padding=1), [(2, 32, 50), (48, 32, 3), (48,)]),
    "conv2d": (lambda a, b, c: F.conv2d(a, b, c, padding=1), [(2, 32, 20, 20), (48, 32, 3, 3), (48,)]),
    "conv2d_tiles": (lambda a, b: F.conv2d(a, b, padding=1), [(1, 64, 56, 56), (64, 64, 3, 3)]),
    "conv2d_1x1": (lambda a, b: F.conv2d(a, b), [(1, 64, 20, 20), (128, 64, 1, 1)]),
    "conv2d_1x1_batch": (lambda a, b, c: F.conv2d(a, b, c), [(3, 48, 13, 11), (40, 48, 1, 1), (40,)]),
    "conv2d_1x1_pieces": (lambda a, b, c: F.conv2d(a, b, c), [(1, 64, 56, 56), (256, 64, 1, 1), (256,)]),
    "conv1d_1": (lambda a, b, c: F.conv1d(a, b, c), [(2, 32, 150), (48, 32, 1), (48,)]),
    "conv2d_stride": (lambda a, b: F.conv2d(a, b, stride=2, dilation=2), [(3, 16, 30, 31), (24, 16, 3, 3)]),
    "conv2d_groups": (lambda a, b: F.conv2d(a, b, groups=2), [(2, 64, 20, 20), (64, 32, 3, 3)]),
    "conv2d_few_channels": (lambda a, b: F.conv2d(a, b, stride=2), [(1, 3, 64, 64), (32, 3, 7, 7)]),
    "conv3d": (lambda a, b: F.conv3d(a, b), [(1, 16, 8, 9, 10), (16, 16, 3, 3, 3)]),
    "conv_transpose2d": (lambda a, b: F.conv_transpose2d(a, b, stride=2), [(1, 32, 12, 12), (32, 24, 3, 3)]),
}
# Of the sum of the products' magnitudes. Each operand is off by at most half a unit of 8 bits, 2^-8; products of rounded ones
# are exact in float32, in which they are added up.
BFLOAT16_ERROR, SUM_ERROR = 1.01 * 2**-7, 2e-6


@pytest.mark.parametrize("name", OPERATIONS)
def test_bfloat16(name):
    operation, shapes = OPERATIONS[name]
    given = [randn(*shape) for shape in shapes]
    plain = minidynamo.compile(operation)
    rounded = minidynamo.compile(operation, options=BFLOAT16)
    found = rounded(*given)
    exact = operation(*map(wide, given))
    sizes = operation(*(wide(value).abs() for value in given))
    rounded_given = [wide(value.bfloat16().float()) for value in given[:2]] + [wide(value) for value in given[2:]]
    assert found.dtype == F32 and found.shape == exact.shape
    assert ((found - exact).abs() <= sizes * BFLOAT16_ERROR).all()
    assert ((found - operation(*rounded_given)).abs() <= sizes * SUM_ERROR).all()
    assert bits(found) != bits(plain(*given))
    assert "in bfloat16" in plan_of(operation, BFLOAT16, *given)
    # However often it runs: weights are packed on the way.
    for _ in range(6):
        assert bits(rounded(*given)) == bits(found)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


ATTENTIONS = {
    "plain": (attention, (2, 4, 40, 64)),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (1, 3, 130, 32)),
    "written_out": (lambda q, k, v: ((q @ k.transpose(-1, -2)) * 0.125).softmax(-1) @ v, (2, 3, 64, 64)),
    "one_head": (lambda q, k, v: ((q @ k.t()) * 0.125).softmax(-1) @ v, (64, 64)),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_in_bfloat16(name):
    operation, shape = ATTENTIONS[name]
    q, k, v = (randn(*shape) for _ in range(3))
    found = minidynamo.compile(operation, options=BFLOAT16)(q, k, v)
    exact = operation(*map(wide, (q, k, v)))
    # Scores of a magnitude of some units are off by 2^-8 of the sum of magnitudes; so are, relatively, the weights.
    assert (found - exact).abs().max() <= 0.06
    assert bits(found) != bits(minidynamo.compile(operation)(q, k, v))
    assert "in bfloat16" in plan_of(operation, BFLOAT16, q, k, v)


def quantisation_bound(a, b):
    """For a[m, k] and b[k, n]: a byte is off by half a step, and by another one at the ends of the range."""
    a, b = wide(a), wide(b)
    step_a = (a.amax(1).clamp(min=0) - a.amin(1).clamp(max=0)) / 255
    step_b = b.abs().amax(0) / 127
    of_a = step_a[:, None] * b.abs().sum(0)[None, :]
    of_b = 0.5 * step_b[None, :] * (a.abs() + step_a[:, None]).sum(1)[:, None]
    return 1.01 * (of_a + of_b) + 1e-6


# name: the product with a weight and a bias, the shapes of the input and the weight, and whether its rows are the columns of b.
WEIGHTED = {
    "linear": (lambda x, w, c: F.linear(x, w), (40, 96), (64, 96), True),
    "linear_bias": (lambda x, w, c: F.linear(x, w, c), (40, 96), (64, 96), True),
    "linear_one_row": (lambda x, w, c: F.linear(x, w, c), (1, 200), (300, 200), True),
    "linear_3d": (lambda x, w, c: F.linear(x, w, c), (3, 7, 96), (64, 96), True),
    "linear_large": (lambda x, w, c: F.linear(x, w, c), (150, 900), (1000, 900), True),
    "linear_few_rows": (lambda x, w, c: F.linear(x, w, c), (5, 1024), (1024, 1024), True),
    "mm": (lambda x, w, c: x @ w, (48, 200), (200, 72), False),
    "mm_transposed": (lambda x, w, c: x.t() @ w, (200, 48), (200, 72), False),
    "mm_of_part": (lambda x, w, c: x @ w[:, 8:40], (48, 200), (200, 72), False),
    "addmm": (lambda x, w, c: minidynamo.addmm(c, x, w), (48, 200), (200, 72), False),
    "relu": (lambda x, w, c: F.linear(x, w, c).relu(), (40, 96), (64, 96), True),
    "positive": (lambda x, w, c: F.linear(x.abs() + 3, w, c), (40, 96), (64, 96), True),
}


class Weighted(nn.Module):
    def __init__(self, operation, shape, by_rows):
        super().__init__()
        self.operation = operation
        self.w = nn.Parameter(randn(*shape))
        self.c = nn.Parameter(randn(shape[0 if by_rows else 1]))

    def forward(self, x):
        return self.operation(x, self.w, self.c)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("options", [INT8, BOTH], ids=["int8", "both"])
def test_int8(name, options):
    operation, x_shape, w_shape, by_rows = WEIGHTED[name]
    model = Weighted(operation, w_shape, by_rows)
    x = randn(*x_shape)
    rounded = minidynamo.compile(model, options=options)
    found = rounded(x)
    exact = operation(wide(x), wide(model.w), wide(model.c))
    a = x.abs() + 3 if name == "positive" else x.t() if name == "mm_transposed" else x
    b = model.w.t() if by_rows else model.w[:, 8:40] if name == "mm_of_part" else model.w
    bound = quantisation_bound(a.reshape(-1, a.shape[-1]), b).reshape(found.shape)
    assert found.dtype == F32 and ((found - exact).abs() <= bound).all()
    # The bound is no wish: a typical error is far below it.
    assert (found - exact).abs().mean() <= 0.02 * exact.abs().mean() + 0.1 * bound.mean()
    assert bits(found) != bits(minidynamo.compile(model)(x))
    assert "in int8" in plan_of(model, options, x)
    for _ in range(6):
        assert bits(rounded(x)) == bits(found)


def test_int8_of_what_is_read_from_elsewhere():
    x, weight = randn(40, 96), randn(96, 64)
    kept = minidynamo.compile(lambda x: x @ weight, options=INT8)
    plain = minidynamo.compile(lambda x: x @ weight)
    assert bits(kept(x)) != bits(plain(x))
    # An argument is no weight.
    given = minidynamo.compile(lambda x, w: x @ w, options=INT8)
    assert bits(given(x, weight)) == bits(plain(x))
    assert "no weight that may be packed" in plan_of(lambda x, w: x @ w, INT8, x, weight)
    # A parameter is one wherever it comes from.
    assert bits(given(x, nn.Parameter(weight))) == bits(kept(x))


def layer(options, rows=64, columns=96):
    model = nn.Linear(columns, rows)
    return model, minidynamo.compile(model, options=options)


ALL = {"bfloat16": BFLOAT16, "int8": INT8, "both": BOTH}

CHANGES = {
    "in_place": lambda model: model.weight.mul_(2),
    "one_element": lambda model: model.weight[3].zero_(),
    "copy": lambda model: model.weight.copy_(randn(*model.weight.shape)),
    "load_state_dict": lambda model: model.load_state_dict({"weight": randn(64, 96), "bias": randn(64)}),
    "another_parameter": lambda model: setattr(model, "weight", nn.Parameter(randn(64, 96))),
    "data": lambda model: setattr(model.weight, "data", randn(64, 96)),
    "bias": lambda model: model.bias.add_(1),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_changed_weights_are_seen(change, options):
    model, rounded = layer(options)
    x = randn(40, 96)
    for calls in (1, 2, 8):
        for _ in range(calls):
            rounded(x)
        CHANGES[change](model)
        fresh_model = nn.Linear(96, 64)
        fresh_model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})
        # What is computed from new weights that were never seen before.
        assert bits(rounded(x)) == bits(minidynamo.compile(fresh_model, options=options)(x))


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_with_and_without_in_one_process(options):
    model = nn.Sequential(nn.Linear(96, 64), nn.GELU(), nn.Linear(64, 80))
    plain, rounded = minidynamo.compile(model), minidynamo.compile(model, options=options)
    x = randn(40, 96)
    expected = [bits(plain(x)), bits(rounded(x))]
    assert expected[0] != expected[1]
    for _ in range(5):
        assert [bits(plain(x)), bits(rounded(x))] == expected


def test_options_of_one_function_are_kept_apart():
    model, x = nn.Linear(96, 64), randn(40, 96)
    found = {
        name: bits(minidynamo.compile(model, options=options)(x)) for name, options in (ALL | {"none": {}}).items()
    }
    assert len({str(value) for value in found.values()}) == 3
    assert found["both"] == found["int8"]


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_that_change(options, dynamic):
    model = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 80))
    rounded = minidynamo.compile(model, options=options, dynamic=dynamic)
    for rows in (1, 2, 3, 40, 7, 64, 33, 40, 1, 129, 1):
        x = randn(rows, 96)
        expected = model(x)
        assert (rounded(x) - expected).abs().max() <= 0.05 * expected.abs().max()
        again = minidynamo.compile(model, options=options, dynamic=False, isolate_recompiles=True)
        assert bits(rounded(x)) == bits(again(x))


@pytest.mark.parametrize("options", [BFLOAT16, BOTH], ids=["bfloat16", "both"])
def test_attention_of_changing_sizes(options):
    rounded = minidynamo.compile(attention, options=options, dynamic=True)
    for length in (40, 41, 42, 1, 64, 40):
        q, k, v = (randn(1, 4, length, 64) for _ in range(3))
        expected = attention(q, k, v)
        assert (rounded(q, k, v) - expected).abs().max() <= 0.06


class Attending(nn.Module):
    def forward(self, x):
        return attention(x, x * 2, x + 1)


THREADED = {
    "linear": (
        lambda: nn.Sequential(nn.Linear(700, 900), nn.ReLU(), nn.Linear(900, 800)),
        [(1, 700), (20, 700), (200, 700)],
    ),
    "attention": (Attending, [(2, 6, 130, 64), (1, 1, 700, 64)]),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(32, 128, 3), nn.ReLU(), nn.Conv2d(128, 96, 1)),
        [(1, 32, 40, 40), (5, 32, 20, 20)],
    ),
}


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
@pytest.mark.parametrize("name", THREADED)
def test_threads_do_not_matter(name, options):
    make, shapes = THREADED[name]
    model = make()
    before = minidynamo.get_num_threads()
    try:
        for shape in shapes:
            x, found = randn(*shape), []
            for threads in (1, 2, 4):
                minidynamo.set_num_threads(threads)
                found.append(bits(minidynamo.compile(model, options=options, isolate_recompiles=True)(x)))
            assert found[0] == found[1] == found[2]
    finally:
        minidynamo.set_num_threads(before)


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_results_do_not_depend_on_other_rows(options):
    """A row of a batch is quantised by itself."""
    model, rounded = layer(options)
    x = randn(48, 96)
    other = x.clone()
    other[7] *= 1000
    first, second = rounded(x), rounded(other)
    keep = [row for row in range(48) if row != 7]
    assert bits(first[keep]) == bits(second[keep])


SPECIAL = float("inf"), float("-inf"), float("nan")


@pytest.mark.parametrize("value", SPECIAL)
def test_special_values_in_int8(value):
    """A row of the input, or of the weight, that is not finite gives NaN there and nowhere else."""
    model, rounded = layer(INT8)
    x = randn(40, 96)
    x[3, 5] = value
    model.weight[6, 9] = value
    found = rounded(x)
    is_nan = found.isnan()
    assert is_nan[3].all() and is_nan[:, 6].all() and is_nan.sum() == 64 + 40 - 1


@pytest.mark.parametrize("value", SPECIAL)
def test_special_values_in_bfloat16(value):
    model, rounded = layer(BFLOAT16)
    x = randn(40, 96)
    x[3, 5] = value
    found, expected = rounded(x), model(x)
    assert (found.isnan() == expected.isnan()).all() and (found.isinf() == expected.isinf()).all()


EDGES = {
    "zeros": lambda: minidynamo.zeros(40, 96),
    "huge": lambda: minidynamo.full((40, 96), 3e38),
    "mixed_huge": lambda: minidynamo.where(randn(40, 96) > 0, minidynamo.tensor(3e38), minidynamo.tensor(-3e38)),
    "tiny": lambda: minidynamo.full((40, 96), 1e-44),
    "constant": lambda: minidynamo.full((40, 96), 7.0),
    "negative": lambda: -randn(40, 96).abs() - 1,
}


@pytest.mark.parametrize("name", EDGES)
def test_ranges_of_int8(name):
    model, rounded = layer(INT8)
    model.weight.mul_(1e-3)
    model.bias.zero_()
    x = EDGES[name]()
    bound = quantisation_bound(x, model.weight.t())
    assert ((rounded(x) - F.linear(wide(x), wide(model.weight))).abs() <= bound).all()


def test_weights_of_zeros_and_of_one_value():
    model, rounded = layer(INT8)
    model.weight.zero_()
    x = randn(40, 96)
    assert bits(rounded(x)) == bits(model.bias.expand(40, 64))
    model.weight.fill_(0.5)
    assert (rounded(x) - model(x)).abs().max() <= 0.5


# What the options leave in float32.
UNTOUCHED = {
    "float64": (lambda a, b: a @ b, lambda: (randn(40, 96).double(), randn(96, 64).double())),
    "pointwise": (lambda a, b: (a * b).exp().sum(1), lambda: (randn(40, 96), randn(40, 96))),
    "vectors": (lambda a, b: a @ b, lambda: (randn(96), randn(96))),
    "few_rows": (lambda a, b: a @ b, lambda: (randn(2, 96), randn(96, 64))),
    "integers": (lambda a, b: a @ b, lambda: (minidynamo.arange(12).reshape(3, 4), minidynamo.arange(8).reshape(4, 2))),
    "depthwise": (lambda a, b: F.conv2d(a, b, groups=32), lambda: (randn(1, 32, 20, 20), randn(32, 1, 3, 3))),
    "one_channel": (lambda a, b: F.conv2d(a, b), lambda: (randn(1, 1, 28, 28), randn(24, 1, 3, 3))),
}


@pytest.mark.parametrize("name", UNTOUCHED)
@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_left_as_they_are(name, options):
    operation, make = UNTOUCHED[name]
    given = make()
    found, plain = minidynamo.compile(operation, options=options)(*given), minidynamo.compile(operation)(*given)
    assert found.dtype == plain.dtype and found.tolist() == plain.tolist()
    assert " in bfloat16" not in plan_of(operation, options, *given)


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_gradients_are_those_of_float32(options):
    with minidynamo.enable_grad():
        model, rounded = layer(options)
        plain = minidynamo.compile(model)
        x = randn(40, 96)
        results = []
        for compiled in (plain, rounded):
            model.zero_grad()
            result = compiled(x)
            result.square().sum().backward()
            results.append((bits(result), bits(model.weight.grad), bits(model.bias.grad)))
        assert results[0] == results[1]
    assert bits(rounded(x)) != bits(plain(x))


NUMPY = pytest.importorskip("numpy")


def test_arrays_of_numpy():
    a = NUMPY.random.default_rng(0).standard_normal((48, 200), dtype="float32")
    b = NUMPY.random.default_rng(1).standard_normal((200, 72), dtype="float32")

    def product(a, b):
        return a @ b

    found = minidynamo.compile(product, options=BOTH)(a, b)
    plain = minidynamo.compile(product)(a, b)
    bound = BFLOAT16_ERROR * (abs(a.astype("float64")) @ abs(b.astype("float64"))) + 1e-6
    assert type(found) is NUMPY.ndarray and found.dtype == "float32"
    assert (abs(found - a.astype("float64") @ b.astype("float64")) <= bound).all() and (found != plain).any()
    # Memory of NumPy may be written by others: it is no weight in 8 bits.
    assert (minidynamo.compile(product, options=INT8)(a, b) == plain).all()
    b *= 2
    assert (minidynamo.compile(product, options=BOTH)(a, b) == 2 * found).all()


def test_tensors_over_memory_of_others():
    array = NUMPY.random.default_rng(1).standard_normal((96, 64), dtype="float32")
    weight = minidynamo.from_numpy(array)
    x = randn(40, 96)

    def product(x):
        return x @ weight

    int8, rounded, plain = (minidynamo.compile(product, options=options) for options in (INT8, BFLOAT16, {}))
    for factor in (1, 2, 4, 8, 16):
        assert bits(int8(x)) == bits(plain(x))
        assert (rounded(x) - plain(x)).abs().max() <= 0.1 * factor and bits(rounded(x)) != bits(plain(x))
        array *= 2


WRONG = {
    "unknown_precision": (
        {"precision": "float16"},
        ValueError,
        "precision must be 'float32' or 'bfloat16', not 'float16'",
    ),
    "unknown_weights": ({"weights": "int4"}, ValueError, "weights must be 'float32' or 'int8', not 'int4'"),
    "no_text": ({"precision": 16}, TypeError, "precision must be a str, not int"),
    "dtype": ({"weights": minidynamo.int8}, TypeError, "weights must be a str, not dtype"),
    "unknown_option": ({"precision": "bfloat16", "activations": "int8"}, RuntimeError, "has no option 'activations'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options(name):
    options, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        minidynamo.compile(lambda x: x, options=options)
    with pytest.raises(error, match=text):
        minidynamo.compile(options=options)


def test_other_backends_have_no_such_option():
    with pytest.raises(RuntimeError, match="has no option 'precision'"):
        minidynamo.compile(lambda x: x, backend="eager", options=BFLOAT16)
    seen = []

    def backend(gm, example_inputs, options=None):
        seen.append(options)
        return gm

    minidynamo.compile(lambda x: x + 1, backend=backend, options=BFLOAT16)(randn(3))
    assert seen == [BFLOAT16]


def test_float32_is_the_default():
    model, x = nn.Linear(96, 64), randn(40, 96)
    named = minidynamo.compile(model, options={"precision": "float32", "weights": "float32"})
    assert bits(named(x)) == bits(minidynamo.compile(model)(x))


def test_long_sums_stay_out_of_int8():
    model = nn.Linear(70_000, 40)
    model.weight.mul_(10)
    x = randn(33, 70_000)
    found = minidynamo.compile(model, options=INT8)(x)
    assert bits(found) == bits(minidynamo.compile(model)(x))
    assert "in bfloat16" in plan_of(model, BOTH, x)


def test_weights_written_by_the_function_itself():
    weight = nn.Parameter(randn(64, 96))

    def step(x):
        result = F.linear(x, weight)
        weight.mul_(2)
        return result + F.linear(x, weight)

    x = randn(40, 96)
    for options in ALL.values():
        compiled = minidynamo.compile(step, options=options)
        for _ in range(5):
            expected = 3 * F.linear(x, weight)
            assert (compiled(x) - expected).abs().max() <= 0.05 * expected.abs().max()
        weight.copy_(randn(64, 96))


GRADIENTS = """
import minidynamo
model, x = minidynamo.nn.Linear(96, 64), minidynamo.randn(40, 96)
for options in ({"precision": "bfloat16"}, {"weights": "int8"}):
    minidynamo.compile(model, options=options)(x).sum().backward()
"""


def test_that_gradients_are_those_of_float32_is_said_once():
    done = subprocess.run([sys.executable, "-c", GRADIENTS], capture_output=True, text=True, check=True)
    assert done.stderr.count("what records gradients is computed in float32") == 1


PROGRAM = """
import minidynamo
minidynamo.manual_seed(0)
model, x = minidynamo.nn.Linear(96, 64), minidynamo.randn(40, 96)
with minidynamo.no_grad():
    plain = minidynamo.compile(model)(x)
    for options in ({"precision": "bfloat16"}, {"weights": "int8"}):
        for _ in range(4):
            print((minidynamo.compile(model, options=options)(x) == plain).all().item())
"""


def test_processors_without_the_instructions():
    env = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 8
    for name in ("bfloat16", "int8"):
        assert done.stderr.count(f"this processor has no instructions for products of {name}") == 1
