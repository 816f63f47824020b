"""Products, convolutions and attention in plans: split, fused with what follows, with packed weights; against eager."""

import ctypes
import itertools

import pytest

import minidynamo
import minidynamo.nn.functional as F
from minidynamo import nn

TOLERANCE = {minidynamo.float32: 2e-5, minidynamo.float64: 1e-12, minidynamo.bfloat16: 5e-2, minidynamo.float16: 1e-2}


def noise(*sizes, dtype=minidynamo.float32):
    return minidynamo.randn(*sizes).to(dtype)


def near(result, expected, dtype=None):
    """dtype: that of an intermediate rounding, if it differs from that of the result."""
    assert result.dtype == expected.dtype and result.shape == expected.shape
    tolerance = TOLERANCE[dtype or result.dtype]
    scale = 1 + expected.to(minidynamo.float64).abs().max().item()
    assert (result.to(minidynamo.float64) - expected.to(minidynamo.float64)).abs().max().item() <= tolerance * scale


def check(function, *args, calls=4, dtype=None):
    """Compiled like eager, in each of several calls: weights are packed after the first ones."""
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, fullgraph=True)
    for _ in range(calls):
        result, expected = compiled(*args), function(*args)
        if isinstance(expected, tuple):
            for one, other in zip(result, expected, strict=True):
                near(one, other, dtype)
        else:
            near(result, expected, dtype)


def steps(function, *args):
    (region,) = minidynamo.explain(function)(*args).regions
    return [step.nodes for step in region.plan.steps]


@pytest.fixture(autouse=True)
def seeded():
    minidynamo.manual_seed(7)


SHAPES = [(1, 5, 7), (70, 512, 1030), (160, 512, 1030), (1, 256, 512), (3, 16, 16), (33, 65, 17), (64, 128, 1030)]
SHAPES += [(200, 300, 96), (512, 64, 64)]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_linear_and_its_epilogue(sizes, dtype):
    m, k, n = sizes
    x, w, b = noise(m, k, dtype=dtype), noise(n, k, dtype=dtype) / k**0.5, noise(n, dtype=dtype)
    residual = noise(m, n, dtype=dtype)
    check(lambda: F.linear(x, w, b))
    check(lambda: F.gelu(F.linear(x, w, b)))
    check(lambda: residual + F.linear(x, w).relu() * 2)
    check(lambda: (lambda y: (y * y.sigmoid(), y))(F.linear(x, w, b)))
    check(lambda: (x @ w.t()).to(minidynamo.float32) + residual.to(minidynamo.float32), dtype=dtype)


def test_products_in_batches():
    for left, right in [((3, 8, 5), (3, 5, 9)), ((2, 4, 40, 16), (4, 16, 24)), ((7, 1, 64, 32), (1, 3, 32, 48))]:
        a, b = noise(*left), noise(*right)
        check(lambda: (a @ b).exp() + 1)  # noqa: B023
    heads = noise(4, 32, 3, 2, 8).permute(2, 0, 3, 1, 4)
    check(lambda: heads[0] @ heads[1].transpose(-2, -1) - 1)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("sizes", [(2, 3, 32, 40, 16, 8), (1, 1, 1, 1, 1, 1), (1, 2, 700, 130, 8, 8)], ids=str)
def test_attention(sizes, dtype):
    batch, heads, rows, keys, depth, width = sizes
    q, k = noise(batch, heads, rows, depth, dtype=dtype), noise(batch, heads, keys, depth, dtype=dtype)
    v, mask = noise(batch, heads, keys, width, dtype=dtype), noise(rows, keys, dtype=dtype)

    def masked():
        return (q @ k.transpose(-2, -1) * 0.25 + mask).softmax(-1) @ v

    check(masked)
    check(lambda: (q @ k.transpose(-2, -1)).softmax(-1) @ v * 2)
    check(lambda: F.scaled_dot_product_attention(q, k, v))
    check(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=rows <= keys))
    seen = (q @ k.transpose(-2, -1)).softmax(-1)
    near(minidynamo.compile(lambda: (q @ k.transpose(-2, -1)).softmax(-1))(), seen)

    def weights_too():
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return weights, weights @ v

    check(weights_too)
    if rows > 1:
        assert len(steps(masked)) == 1 and len(steps(weights_too)) == 3


def test_attention_over_heads_that_are_views():
    x, mask = noise(5, 24, 3 * 4 * 8), noise(5, 1, 1, 24)

    def heads(mask):
        q, k, v = x.reshape(5, 24, 3, 4, 8).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / 8**0.5 + mask).softmax(dim=-1)
        return (weights @ v).transpose(1, 2).reshape(5, 24, 32)

    check(heads, mask)
    check(heads, minidynamo.where(mask > 0, 0.0, -float("inf")))


@pytest.mark.parametrize("images", [1, 2, 9])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_convolutions_and_their_epilogue(images, dtype):
    cases = itertools.product((1, 4), (1, 2), (False, True))
    for groups, stride, has_bias in cases:
        x, w = noise(images, 8, 12, 10, dtype=dtype), noise(96, 8 // groups, 3, 3, dtype=dtype)
        b = noise(96, dtype=dtype) if has_bias else None
        shift = noise(96, 1, 1, dtype=dtype)
        check(lambda: F.conv2d(x, w, b, stride=stride, padding=1, groups=groups).relu() + shift)  # noqa: B023
    x, w = noise(images, 8, 20, dtype=dtype), noise(8, 6, 3, dtype=dtype)
    check(lambda: F.conv_transpose1d(x, w, stride=2).tanh())


@pytest.mark.parametrize("images", [1, 3])
def test_batch_norm_joins_the_convolution_before_it(images):
    """Its factors are computed between the two; a residual is added in the same step."""
    convolution, norm = nn.Conv2d(4, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
    norm.running_mean = minidynamo.randn(8)
    norm.running_var = minidynamo.rand(8) + 0.5
    norm.eval()

    def block(x, residual):
        with minidynamo.no_grad():
            return F.relu(norm(convolution(x)) + residual)

    def shared(x):
        with minidynamo.no_grad():
            y = convolution(x)
            return norm(y), y.sum(), convolution(y[:, :4])

    x, residual = noise(images, 4, 9, 10), noise(images, 8, 9, 10)
    check(block, x, residual)
    check(shared, x)
    last = steps(block, x, residual)[-1]
    assert last[0] == "convolution" and last[-1] == "relu" and len(last) == 5
    assert [nodes[0] for nodes in steps(lambda x, w: (x @ w, x + 1, w + 1), noise(4, 4), noise(4, 4))][-1] == "matmul"


def test_a_recurrent_loop_is_one_product_over_time():
    x, h, w, u = noise(6, 3, 8), noise(3, 8), noise(8, 8) / 3, noise(8, 8) / 3

    def loop(x, h, keep):
        seen = []
        for t in range(6):
            y = F.linear(x[t], w)
            h = minidynamo.tanh(y + F.linear(h, u))
            seen.append(h)
            if keep:
                seen.append(y)
        return minidynamo.stack(seen), y

    check(lambda: loop(x, h, False))
    check(lambda: loop(x, h, True))
    assert sum(nodes[0].startswith("linear") for nodes in steps(lambda: loop(x, h, False)[0])) == 7
    # For half of a long tensor or less the whole product does not pay off.
    long = noise(100, 3, 8)
    check(lambda: loop(long, h, False))
    # Returned results have separate memory.
    rows = minidynamo.compile(lambda: [F.linear(x[t], w) for t in range(6)])()
    assert (
        len({row.untyped_storage().data_ptr() if hasattr(row, "untyped_storage") else row.data_ptr() for row in rows})
        == 6
    )
    rows[0].zero_()
    near(rows[1], F.linear(x[1], w))


WRITES = {
    "in place": lambda weight: weight.mul_(2),
    "an element": lambda weight: weight.__setitem__((0, 0), 50.0),
    "through a view": lambda weight: weight[0].fill_(3.0),
    "through NumPy": lambda weight: weight.numpy().fill(4.0),
    "through DLPack": lambda weight: __import__("numpy").from_dlpack(weight).fill(4.0),
    "through its address": lambda weight: ctypes.memset(weight.data_ptr(), 0, weight.numel() * weight.element_size()),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("write", WRITES)
def test_packed_weights_follow_writes(write, compiled):
    pytest.importorskip("numpy")
    x, weight = noise(40, 256), noise(128, 256)
    images, kernel = noise(2, 16, 9, 9), noise(32, 16, 3, 3)
    runs = [(lambda: F.linear(x, weight), weight), (lambda: F.conv2d(images, kernel), kernel)]
    for function, parameter in runs:
        run = minidynamo.compile(function) if compiled else function
        for _ in range(2):
            for _ in range(5):
                run()
            WRITES[write](parameter)
            near(run(), minidynamo.compile(function, backend="eager")())
            fresh = parameter.clone()
            expected = F.linear(x, fresh) if parameter is weight else F.conv2d(images, fresh)
            near(run(), expected)
    array = weight.numpy()
    for value in (1.0, 2.0):
        array[:] = value
        near(minidynamo.compile(runs[0][0])(), F.linear(x, minidynamo.full((128, 256), value)))


def test_one_buffer_is_packed_for_each_layout():
    x, w = noise(32, 256), noise(256, 256)
    b, c = noise(4, 32, 9), noise(32, 32, 3)
    functions = [lambda: x @ w, lambda: F.linear(x, w), lambda: x @ w[:, :128], lambda: x[:, :128] @ w[:128]]
    functions += [lambda: F.conv1d(b, c), lambda: F.conv_transpose1d(b, c)]
    for runs in (functions, [minidynamo.compile(function) for function in functions]):
        for _ in range(6):
            results = [run() for run in runs]
        w2, c2 = w.tolist(), c.tolist()  # other memory
        fresh_w, fresh_t = minidynamo.tensor(w2), minidynamo.tensor(w2).t().contiguous()
        fresh_c = minidynamo.tensor(c2)
        near(results[0], x @ fresh_w)
        near(results[1], x @ fresh_t)
        near(results[2], x @ fresh_w[:, :128])
        near(results[3], x[:, :128] @ fresh_w[:128])
        near(results[4], F.conv1d(b, fresh_c))
        near(results[5], F.conv_transpose1d(b, fresh_c))


def test_modules_with_new_parameters():
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 8)).eval()
    x = noise(16, 64)
    compiled = minidynamo.compile(model)
    for _ in range(3):
        for _ in range(4):
            near(compiled(x), model(x))
        model.load_state_dict({name: value * 1.5 for name, value in model.state_dict().items()})
        for _ in range(4):
            near(compiled(x), minidynamo.compile(model, backend="eager")(x))
