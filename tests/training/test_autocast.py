"""autocast("cpu"): the dtypes, values and gradients of torch's, its state, and the same in captured code."""

import threading
import warnings

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()
    yield
    assert state(md) == (False, "bfloat16", True)


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def state(t):
    return t.is_autocast_enabled("cpu"), name_of(t.get_autocast_dtype("cpu")), t.is_autocast_cache_enabled()


def outcome(function, *args):
    """The result, or class and text of the exception; and the texts of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            found = function(*args)
        except Exception as error:
            found = type(error), str(error).replace("torch", "minidynamo")
    return found, [(each.category, str(each.message).replace("torch", "minidynamo")) for each in caught]


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def here(value):
    if isinstance(value, torch.Tensor):
        return md.from_dlpack(value.detach().clone()).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(here(part) for part in value)
    return getattr(md, name_of(value)) if isinstance(value, torch.dtype) else value


def flat(value):
    return [part for each in value for part in flat(each)] if isinstance(value, (list, tuple)) else [value]


def assert_close(ours, theirs, tolerance=0.02):
    for our, their in zip(flat(ours), flat(theirs), strict=True):
        if their is None:
            assert our is None
            continue
        assert name_of(our.dtype) == name_of(their.dtype)
        assert tuple(our.shape) == tuple(their.shape)
        found = torch.from_dlpack(our.detach().contiguous())
        torch.testing.assert_close(found, their.detach(), rtol=tolerance, atol=tolerance)


def copied_module(make):
    """A module of torch, and one of minidynamo with the same parameters."""
    torch.manual_seed(3)
    theirs = make(torch.nn)
    ours = make(md.nn)
    ours.load_state_dict({name: here(value) for name, value in theirs.state_dict().items()})
    return ours, theirs


# ---- the state


def nested(t):
    seen = [state(t)]
    with t.autocast("cpu"):
        seen.append(state(t))
        with t.autocast("cpu", dtype=t.float16, cache_enabled=False):
            seen.append(state(t))
            with t.autocast("cpu", enabled=False):
                seen.append(state(t))
            seen.append(state(t))
        seen.append(state(t))
    return [*seen, state(t)]


def left_by_an_exception(t):
    try:
        with t.autocast("cpu", dtype=t.float16):
            raise KeyError(1)
    except KeyError:
        return state(t)


def decorated(t):
    @t.autocast("cpu", dtype=t.float16)
    def f(x):
        """A doc."""
        return state(t), name_of((x @ x).dtype)

    return f(t.ones(2, 2)), f(t.ones(2, 2)), state(t), f.__name__, f.__doc__


def as_two_objects(t):
    context = t.autocast("cpu")
    with context:
        inside = state(t)
    with context:
        again = state(t)
    return inside, again, state(t)


def set_by_functions(t):
    before = t.is_autocast_enabled("cpu"), t.get_autocast_dtype("cpu"), t.is_autocast_cache_enabled()
    t.set_autocast_enabled("cpu", True)
    t.set_autocast_dtype("cpu", t.float16)
    t.set_autocast_cache_enabled(False)
    seen = [state(t), t.is_autocast_cpu_enabled(), name_of(t.get_autocast_cpu_dtype()), (t.ones(2) @ t.ones(2)).dtype]
    t.set_autocast_cpu_dtype(t.bfloat16)
    t.set_autocast_cpu_enabled(False)
    seen.append(state(t))
    t.set_autocast_enabled("cpu", before[0])
    t.set_autocast_dtype("cpu", before[1])
    t.set_autocast_cache_enabled(before[2])
    return [*map(str, seen[:3]), name_of(seen[3]), seen[4]]


def in_a_thread(t):
    seen = []
    with t.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((state(t), name_of((t.ones(2) @ t.ones(2)).dtype))))
        thread.start()
        thread.join()
    return seen


def of_an_unsupported_dtype(t):
    with t.autocast("cpu", dtype=t.float64):
        return state(t), name_of((t.ones(2) @ t.ones(2)).dtype)


@pytest.mark.parametrize(
    "run",
    [
        nested,
        left_by_an_exception,
        decorated,
        as_two_objects,
        set_by_functions,
        in_a_thread,
        of_an_unsupported_dtype,
    ],
)
def test_state(run):
    assert outcome(run, md) == outcome(run, torch)


WRONG = [
    lambda t: t.autocast(),
    lambda t: t.autocast(3),
    lambda t: t.autocast("fpga", dtype=t.float16),
    lambda t: t.autocast("meta"),
    lambda t: t.autocast("cpu", dtype=t.float32)._enabled,
    lambda t: t.autocast("cpu", dtype=t.float32, enabled=False)._enabled,
    lambda t: t.autocast("cpu", dtype=3, enabled=False).__enter__(),
    lambda t: t.autocast("cpu", enabled="x").__enter__(),
    lambda t: t.autocast("cpu")(3),
    lambda t: t.autocast("cuda")._enabled,
    lambda t: t.is_autocast_enabled("fpga"),
    lambda t: t.is_autocast_enabled(3),
    lambda t: t.set_autocast_enabled("fpga", True),
    lambda t: t.set_autocast_enabled("cpu", 3),
    lambda t: t.set_autocast_enabled(3),
    lambda t: t.set_autocast_enabled(),
    lambda t: t.set_autocast_enabled("cpu"),
    lambda t: t.set_autocast_cpu_enabled(3),
    lambda t: t.set_autocast_dtype("cpu", 3),
    lambda t: t.set_autocast_cpu_dtype(3),
    lambda t: t.set_autocast_cache_enabled(3),
    lambda t: t.get_autocast_dtype("meta"),
    lambda t: t.get_autocast_dtype(3),
    lambda t: t.amp.custom_fwd(len, device_type=3),
    lambda t: t.amp.custom_bwd(len, device_type=3),
    lambda t: t.amp.custom_fwd(len),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_calls(number):
    assert outcome(WRONG[number], md) == outcome(WRONG[number], torch)


@pytest.mark.parametrize("first, second", [("float16", "float32"), ("float16", "float16")])
@pytest.mark.parametrize("name", ["cat", "stack"])
def test_dtypes_that_nothing_widens(name, first, second):
    def run(t):
        with t.autocast("cpu"):
            return getattr(t, name)([t.ones(2, dtype=getattr(t, first)), t.ones(2, dtype=getattr(t, second))])

    assert outcome(run, md) == outcome(run, torch)
    with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
        md.compile(run)(md)


def test_an_object_may_be_entered_again_inside_of_itself():
    @md.autocast("cpu")
    def down(depth):
        inside = md.is_autocast_enabled("cpu")
        return [inside] if depth == 0 else [*down(depth - 1), md.is_autocast_enabled("cpu")]

    assert down(3) == [True] * 4


# ---- writes: what the caller passes keeps its dtype


WRITES = [
    lambda t, x: t.mm(x, x, out=t.empty(3, 3)),
    lambda t, x: x.clone().addmm_(x, x),
    lambda t, x: t.addmm(x, x, x, out=t.empty(3, 3)),
    lambda t, x: x.expand(2, 3, 3).clone().baddbmm_(x.expand(2, 3, 3), x.expand(2, 3, 3)),
    lambda t, x: x.clone().addbmm_(x.expand(2, 3, 3), x.expand(2, 3, 3)),
    lambda t, x: x.clone().index_copy_(0, t.tensor([1]), t.ones(1, 3)),
    lambda t, x: t.cat([x, x], out=t.empty(6, 3)),
    lambda t, x: t.fft.irfft(t.ones(3, dtype=t.complex64), out=t.empty(4)),
]


@pytest.mark.parametrize("number", range(len(WRITES)))
@pytest.mark.parametrize("form", [lambda f: f, md.compile])
def test_writes(number, form):
    def run(t, x):
        with t.autocast("cpu"):
            return WRITES[number](t, x)

    x = numbers(3, 3)
    assert_close(form(run)(md, here(x)), run(torch, x), 1e-5)


# ---- modules

MODULES = {
    "linear": (lambda nn: nn.Linear(4, 3), [(5, 4)]),
    "conv1d": (lambda nn: nn.Conv1d(2, 3, 3), [(1, 2, 8)]),
    "conv2d_reflect": (lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), [(1, 2, 6, 6)]),
    "conv3d": (lambda nn: nn.Conv3d(1, 2, 2), [(1, 1, 4, 4, 4)]),
    "conv_transpose2d": (lambda nn: nn.ConvTranspose2d(2, 3, 2, stride=2), [(1, 2, 3, 3)]),
    "bilinear": (lambda nn: nn.Bilinear(3, 4, 2), [(5, 3), (5, 4)]),
    "prelu": (lambda nn: nn.PReLU(), [(5, 4)]),
    "layer_norm": (lambda nn: nn.LayerNorm(4), [(5, 4)]),
    "batch_norm": (lambda nn: nn.BatchNorm1d(4), [(5, 4)]),
    "perceptron": (
        lambda nn: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2), nn.Softmax(-1)),
        [(5, 4)],
    ),
    "rnn": (lambda nn: nn.RNN(4, 3), [(5, 2, 4)]),
    "gru": (lambda nn: nn.GRU(4, 3, num_layers=2), [(5, 2, 4)]),
    "lstm": (lambda nn: nn.LSTM(4, 3, bidirectional=True), [(5, 2, 4)]),
    "lstm_projected": (lambda nn: nn.LSTM(4, 3, proj_size=2), [(5, 2, 4)]),
    "rnn_cell": (lambda nn: nn.RNNCell(4, 3), [(2, 4)]),
    "gru_cell": (lambda nn: nn.GRUCell(4, 3), [(2, 4)]),
    "lstm_cell": (lambda nn: nn.LSTMCell(4, 3), [(2, 4)]),
    "attention": (lambda nn: nn.MultiheadAttention(8, 2, batch_first=True), [(2, 3, 8)] * 3),
    "encoder": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), [(2, 3, 8)]),
    "decoder": (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True), [(2, 3, 8)] * 2),
}


def trained(t, module, inputs, form=lambda f: f):
    """Results, and the gradients of the inputs and parameters."""

    def run(*args):
        with t.autocast("cpu"):
            return module(*args)

    results = [part for part in flat(form(run)(*inputs)) if part is not None]
    sum(part.float().sum() for part in results).backward()
    return results, [each.grad for each in [*inputs, *module.parameters()]]


@pytest.mark.parametrize("form", [lambda f: f, lambda f: md.compile(f, fullgraph=True)])
@pytest.mark.parametrize("name", MODULES)
def test_modules(name, form):
    make, shapes = MODULES[name]
    ours, theirs = copied_module(make)
    inputs = [numbers(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]
    results, gradients = trained(md, ours, here(inputs), form)
    their_results, their_gradients = trained(torch, theirs, inputs)
    assert_close(results, their_results, 0.05)
    for ours, theirs in zip(gradients, their_gradients, strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            assert name_of(ours.dtype) == "float32"
            assert_close(ours, theirs, 0.1 * max(1.0, float(theirs.abs().max())))


@pytest.mark.parametrize("name", MODULES)
def test_modules_captured_as_eager(name):
    make, shapes = MODULES[name]
    module, _ = copied_module(make)
    inputs = [here(numbers(*shape, seed=seed)) for seed, shape in enumerate(shapes)]

    def run(*args):
        with md.no_grad(), md.autocast("cpu"):
            return module.eval()(*args)

    counter = md._dynamo.testing.CompileCounter()
    for captured, eager in zip(flat(md.compile(run, fullgraph=True)(*inputs)), flat(run(*inputs)), strict=True):
        assert captured.dtype == eager.dtype
        assert_close(captured, torch.from_dlpack(eager.contiguous()), 0.01)
    md._dynamo.reset()
    md.compile(run, backend=counter, fullgraph=True)(*inputs)
    assert counter.frame_count == 1


# ---- capture


def product(x, y):
    return x @ y + 1


def test_the_state_at_entry_is_guarded():
    counter = md._dynamo.testing.CompileCounter()
    compiled = md.compile(product, backend=counter)
    x = here(numbers(3, 3))
    seen = []
    for _ in range(2):
        seen.append(name_of(compiled(x, x).dtype))
        with md.autocast("cpu"):
            seen.append(name_of(compiled(x, x).dtype))
            with md.autocast("cpu", enabled=False):
                seen.append(name_of(compiled(x, x).dtype))
        with md.autocast("cpu", dtype=md.float16):
            seen.append(name_of(compiled(x, x).dtype))
    assert seen == ["float32", "bfloat16", "float32", "float16"] * 2
    assert counter.frame_count == 3


def inside(x, y):
    with md.autocast("cpu"):
        low = x @ y
        with md.autocast("cpu", enabled=False):
            full = x @ y
        wide = md.nn.functional.mse_loss(low, low.detach() * 2)
    return low, full, wide, x @ y, md.is_autocast_enabled("cpu")


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_block_inside(fullgraph):
    x = here(numbers(4, 4))
    captured, eager = md.compile(inside, fullgraph=fullgraph)(x, x), inside(x, x)
    assert captured[-1] is eager[-1] is False
    for one, other in zip(captured[:-1], eager[:-1], strict=True):
        assert one.dtype == other.dtype and one.tolist() == other.tolist()


def with_a_break(x):
    with md.autocast("cpu"):
        low = x @ x
        md._dynamo.graph_break()
        seen = md.is_autocast_enabled("cpu")
        again = x @ low
    return low, again, seen, md.is_autocast_enabled("cpu"), x @ x


def with_an_exception(x):
    try:
        with md.autocast("cpu", dtype=md.float16):
            low = x @ x
            raise ValueError(low.dtype)
    except ValueError as error:
        return error.args[0], md.is_autocast_enabled("cpu"), x @ x


def as_a_decorator(x):
    @md.autocast("cpu")
    def f(x):
        return x @ x

    return f(x), x @ x


def by_functions(x):
    md.set_autocast_enabled("cpu", True)
    md.set_autocast_dtype("cpu", md.float16)
    found = x @ x, md.get_autocast_dtype("cpu"), md.is_autocast_cache_enabled()
    md.set_autocast_dtype("cpu", md.bfloat16)
    md.set_autocast_enabled("cpu", False)
    md.clear_autocast_cache()
    return found


def left_on(x):
    md.set_autocast_enabled("cpu", True)
    return x @ x


def in_a_generator(x):
    def parts():
        with md.autocast("cpu"):
            yield x @ x
            yield x @ x + 1

    return [part.dtype for part in parts()], x @ x


def comparable(value):
    if isinstance(value, (list, tuple)):
        return [comparable(part) for part in value]
    return (value.dtype, value.tolist()) if isinstance(value, md.Tensor) else value


@pytest.mark.parametrize(
    "run", [with_a_break, with_an_exception, as_a_decorator, by_functions, left_on, in_a_generator]
)
def test_captured_as_eager(run):
    x = here(numbers(3, 3))
    eager = comparable(run(x)), state(md)
    md.set_autocast_enabled("cpu", False)
    compiled = md.compile(run)
    for _ in range(2):
        assert (comparable(compiled(x)), state(md)) == eager
        md.set_autocast_enabled("cpu", False)


def test_an_exception_leaves_the_state_as_eager():
    def run(x):
        with md.autocast("cpu"):
            return x @ x.reshape(7)

    for form in (run, md.compile(run)):
        with pytest.raises(RuntimeError):
            form(md.ones(3, 3))
        assert state(md) == (False, "bfloat16", True)


def test_gradients_of_a_captured_region():
    weight = here(numbers(4, 4).requires_grad_())
    x = here(numbers(2, 4, seed=2))

    def run(x):
        with md.autocast("cpu"):
            return md.nn.functional.mse_loss(md.nn.functional.linear(x, weight).relu() @ weight, x)

    grads = []
    for form in (run, md.compile(run, fullgraph=True)):
        weight.grad = None
        loss = form(x)
        assert loss.dtype == md.float32
        loss.backward()
        assert weight.grad.dtype == md.float32
        grads.append(weight.grad)
    assert md.allclose(*grads, rtol=0.02, atol=0.005)


# ---- the casts of parameters that are kept


def test_a_parameter_is_cast_once():
    weight = here(numbers(3, 3).requires_grad_())
    x = md.ones(3, 3)
    with md.autocast("cpu"):
        (x @ weight + x @ weight).float().sum().backward()
        assert weight.grad.tolist() == [[6.0] * 3] * 3
        first = x @ weight
        with md.no_grad():
            assert not (x @ weight).requires_grad
            weight.mul_(2)
        assert (x @ weight).tolist() == (first * 2).tolist()
        weight.data = md.zeros(3, 3)
        assert (x @ weight).tolist() == md.zeros(3, 3).tolist()
        (x @ weight).float().sum().backward()
    assert weight.grad.tolist() == [[9.0] * 3] * 3


@pytest.mark.parametrize("cache_enabled", [True, False])
def test_a_shared_weight_in_a_loop(cache_enabled):
    def run(t, weight, x):
        with t.autocast("cpu", cache_enabled=cache_enabled):
            for _ in range(5):
                x = t.tanh(x @ weight)
        x.float().sum().backward()
        return x, weight.grad

    weight, x = numbers(4, 4).requires_grad_(), numbers(2, 4, seed=2)
    assert_close(run(md, here(weight), here(x)), run(torch, weight, x), 0.05)


# ---- functions with their own gradients


def custom_function(t, cast_inputs):
    class Square(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs and getattr(t, cast_inputs))
        def forward(ctx, x):
            ctx.save_for_backward(x)
            seen.append((name_of(x.dtype), t.is_autocast_enabled("cpu")))
            return x @ x

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append((name_of(grad.dtype), t.is_autocast_enabled("cpu")))
            return grad @ x.mT + x.mT @ grad

    seen = []
    return Square, seen


@pytest.mark.parametrize("cast_inputs", [None, "float32", "float16"])
@pytest.mark.parametrize("enabled", [True, False])
def test_custom_functions(cast_inputs, enabled):
    def run(t, x):
        function, seen = custom_function(t, cast_inputs)
        with t.autocast("cpu", enabled=enabled):
            y = function.apply(x)
        y.float().sum().backward()
        return [y, x.grad], seen

    x = numbers(3, 3).requires_grad_()
    (ours, our_seen), (theirs, their_seen) = run(md, here(x)), run(torch, x)
    assert our_seen == their_seen
    assert_close(ours, theirs)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_is_computed_again_under_the_same_autocast(use_reentrant):
    def run(t, x, weight):
        dtypes = []

        def part(x):
            y = x @ weight
            dtypes.append(name_of(y.dtype))
            return y.tanh()

        with t.autocast("cpu", dtype=t.float16):
            y = t.utils.checkpoint.checkpoint(part, x, use_reentrant=use_reentrant)
        y.float().sum().backward()
        return dtypes, [y, x.grad, weight.grad]

    import torch.utils.checkpoint  # noqa: F401

    x, weight = numbers(3, 3).requires_grad_(), numbers(3, 3, seed=2).requires_grad_()
    (dtypes, ours), (_, theirs) = run(md, here(x), here(weight)), run(torch, x, weight)
    assert dtypes == ["float16", "float16"]
    assert_close(ours, theirs)


# ---- training


def network(nn):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 16), nn.Linear(16, 3)
    )


def losses(t, module, x, target, form=lambda f: f, scaler=None):
    optimizer = t.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)

    def forward(x, target):
        with t.autocast("cpu", dtype=t.bfloat16):
            return t.nn.functional.cross_entropy(module(x), target)

    forward = form(forward)
    found = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = forward(x, target)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        found.append(loss.item())
    assert {name_of(each.grad.dtype) for each in module.parameters()} == {"float32"}
    return found


@pytest.mark.parametrize("form", [lambda f: f, lambda f: md.compile(f, fullgraph=True)])
@pytest.mark.parametrize("is_scaled", [False, True])
def test_twenty_steps(form, is_scaled):
    ours, theirs = copied_module(network)
    x, target = numbers(8, 1, 4, 4), torch.arange(8) % 3
    scalers = [t.amp.GradScaler("cpu", init_scale=1024.0) if is_scaled else None for t in (md, torch)]
    found = losses(md, ours, here(x), here(target), form, scalers[0])
    expected = losses(torch, theirs, x, target, scaler=scalers[1])
    assert found == pytest.approx(expected, rel=0.05, abs=0.03)
    assert found[-1] < 0.5 * found[0]
    if is_scaled:
        assert scalers[0].get_scale() == scalers[1].get_scale() == 1024.0


# ---- tensors of torch


def test_ours_is_not_torchs():
    x = numbers(3, 3)
    with md.autocast("cpu"):
        assert product(x, x).dtype == torch.float32
        assert md.compile(product)(x, x).dtype == torch.float32
        loss = md.compile(torch.nn.functional.mse_loss)(x.bfloat16(), x.bfloat16() * 2)
        assert loss.dtype == torch.bfloat16
    ours = here(x)
    with torch.autocast("cpu"):
        assert md.compile(product)(ours, ours).dtype == md.float32
        assert md.compile(product)(x, x).dtype == torch.bfloat16


def test_blocks_of_torch_in_compiled_functions():
    def run(x):
        with torch.autocast("cpu"):
            low = x @ x
        return low, x @ x

    x = numbers(3, 3).requires_grad_()
    low, full = md.compile(run)(x)
    assert (low.dtype, full.dtype) == (torch.bfloat16, torch.float32)
    (low.float().sum() + full.sum()).backward()
    assert x.grad.dtype == torch.float32
