"""Regions over torch tensors that require grad: values, gradients and what the program sees of the history."""

import copy
import gc
import weakref

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


def leaf(*sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, dtype=torch.float64, generator=generator).requires_grad_()


def goes_back(result, arguments):
    """Not so a view of a leaf under no_grad, which says that it requires grad."""
    return result.grad_fn is not None or any(result is argument for argument in arguments if result.requires_grad)


def backward_of(results, arguments, weights_seed=11):
    """A gradient for each result that has a history, drawn; then the gradients of the arguments."""
    generator = torch.Generator().manual_seed(weights_seed)
    with_history = [r for r in results if isinstance(r, torch.Tensor) and goes_back(r, arguments)]
    given = [torch.randn(r.shape, dtype=r.dtype, generator=generator) for r in with_history]
    inputs = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    if not with_history:
        return []
    return torch.autograd.grad(with_history, inputs, given, allow_unused=True)


def flat(result):
    if isinstance(result, (tuple, list)):
        return [each for part in result for each in flat(part)]
    return [result]


def same(found, expected):
    assert type(found) is type(expected)
    if not isinstance(expected, torch.Tensor):
        assert found == expected
        return
    assert found.requires_grad == expected.requires_grad
    assert found.dtype == expected.dtype and found.shape == expected.shape
    torch.testing.assert_close(found.detach(), expected.detach(), rtol=1e-10, atol=1e-10, equal_nan=True)


def compare(function, *arguments, captures=None):
    """Runs plain and compiled, two times; returns the results of the last compiled run."""
    compiled = minidynamo.compile(function)
    for _ in range(2):
        expected = flat(function(*arguments))
        found = flat(compiled(*arguments))
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        for a, b in zip(backward_of(found, arguments), backward_of(expected, arguments), strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                same(a, b)
    return found


def part_of_output(x):
    y = x.exp()
    return y, y[1:], y.t()


def parts_alone(x):
    a, b, c = (x @ x).chunk(3, dim=-1)
    return a, b, c


def under_no_grad(x):
    with torch.no_grad():
        y = x * 2
        v = x.view(-1)
    return x * y, v, y


def in_place(x):
    y = x * 2
    y += x
    y[0] *= 3
    y.relu_()
    return y.sin()


def detached(x):
    y = x.sin()
    return y, y.detach(), (y.detach() * x)


def several(x, y):
    return x * y, (x + y).sum(), x.argmax(), (x > y), x.detach() * 2


CASES = {
    "products": (lambda x, y: torch.tanh(x @ y).sum(), leaf(3, 4), leaf(4, 5, seed=1)),
    "several": (several, leaf(3, 3), leaf(3, 3, seed=1)),
    "one without grad": (lambda x, y: (x * y).sin(), leaf(3, 3), torch.ones(3, 3, dtype=torch.float64)),
    "views of an input": (lambda x: (x.t(), x[1:], x.view(-1), x * 2), leaf(3, 3)),
    "views of an output": (part_of_output, leaf(3, 3)),
    "views of what is no output": (parts_alone, leaf(6, 6)),
    "an input": (lambda x: (x, x * 2), leaf(3)),
    "the same twice": (lambda x: ((y := x * 2), y, y + 1), leaf(3)),
    "broadcast": (lambda x, y: (x + y).exp(), leaf(3, 1), leaf(4, seed=1)),
    "under no_grad": (under_no_grad, leaf(3, 3)),
    "in place": (in_place, leaf(3, 3)),
    "detached": (detached, leaf(3, 3)),
    "contiguous": (lambda x: (x.contiguous(), x.t().contiguous(), x.reshape(-1)), leaf(3, 3)),
    "softmax": (lambda x: F.softmax(x, -1) @ x, leaf(4, 4)),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1, 1])), leaf(4, 4)),
    "convolution": (lambda x, w: F.conv2d(x, w, padding=1).relu(), leaf(1, 2, 5, 5), leaf(3, 2, 3, 3, seed=1)),
    "indices": (lambda x, i: x[i].sum(0) + x[i[:1]], leaf(5, 3), torch.tensor([0, 2, 2])),
    "index of rank 0": (lambda x, i: x[i].sin(), leaf(5, 3), torch.tensor(2)),
    "embedding": (lambda w, i: F.embedding(i, w).sin(), leaf(5, 3), torch.tensor([[0, 2], [4, 4]])),
    "embedding with padding": (
        lambda w, i: F.embedding(i, w, padding_idx=2).sin(),
        leaf(5, 3),
        torch.tensor([2, 0, 2]),
    ),
    "embedding by frequency": (
        lambda w, i: F.embedding(i, w, scale_grad_by_freq=True).sin(),
        *(leaf(5, 3), torch.tensor([2, 0, 2, 4])),
    ),
    "bags": (lambda w, i: F.embedding_bag(i, w, padding_idx=2), leaf(5, 3), torch.tensor([[2, 0, 2], [4, 0, 1]])),
    "number": (lambda x, n: x * n + x**n, leaf(3), 3),
    "expanded": (lambda x: x.expand(3, 3).sin(), leaf(1, 3)),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), leaf(3, 4), leaf(4, seed=1), leaf(4, seed=2)),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        *(leaf(1, 2, 4, 8, seed=seed) for seed in range(3)),
    ),
    "where": (lambda x, y: torch.where(x > 0, x, y * x), leaf(9), leaf(9, seed=1)),
    "extremes": (lambda x: (x.max(0).values, x.amax(1), x.sort(0)), leaf(5, 4)),
    "list": (lambda x, y: torch.cat([x, y.sin(), x], 0), leaf(2, 3), leaf(1, 3, seed=1)),
    "integer result": (lambda x: (x.long(), x.argsort(0), x * 2), leaf(4)),
}


# Of attention and bags torch has no second derivatives; of embeddings by frequency its own leave the frequency out.
NO_SECOND = ("attention", "bags", "embedding by frequency")


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function, *arguments = CASES[name]
    with torch.enable_grad():
        compare(function, *arguments)


# torch takes the number of the index and makes a view.
BREAKS = {"index of rank 0": ["tensor_to_number"]}


@pytest.mark.parametrize("name", CASES)
def test_region_breaks(name):
    minidynamo._dynamo.reset()  # a site's breaks are recorded once
    function, *arguments = CASES[name]
    with torch.enable_grad():
        breaks = _C.record_breaks(lambda: minidynamo.compile(function)(*arguments))
    assert [each["name"] for each in breaks] == BREAKS.get(name, [])


@pytest.mark.parametrize("name", [name for name in CASES if name not in NO_SECOND])
def test_gradients_of_gradients(name):
    function, *arguments = CASES[name]

    def second(call):
        results = [r for r in flat(call(*arguments)) if isinstance(r, torch.Tensor) and goes_back(r, arguments)]
        inputs = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
        total = sum((r.sin() * (i + 1)).sum() for i, r in enumerate(results))
        first = torch.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
        slopes = sum((g.exp() * g).sum() for g in first if g is not None)
        if not slopes.requires_grad:
            return first
        return (*first, *torch.autograd.grad(slopes, inputs, allow_unused=True))

    with torch.enable_grad():
        expected, found = second(function), second(minidynamo.compile(function))
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_third_derivatives():
    def f(x):
        return (x.sin() * x.exp()).sum()

    def third(call):
        x = leaf(4)
        slope = call(x)
        for _ in range(3):
            (slope,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        return slope

    with torch.enable_grad():
        torch.testing.assert_close(third(minidynamo.compile(f)), third(f))


def test_the_node_and_its_leaves():
    with torch.enable_grad():
        x = leaf(3)
        y = minidynamo.compile(lambda x: x * 2)(x)
        assert y.grad_fn.name() == "CompiledFunctionBackward" and not y.is_leaf
        y.sum().backward()
        assert x.grad.tolist() == [2.0] * 3
        # Its memory is its own: it may grow, and be written.
        x.grad.add_(1).resize_(7)


def test_a_second_backward_is_torchs_error():
    with torch.enable_grad():
        x = leaf(3)
        y = minidynamo.compile(lambda x: x.sin() * x)(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            y.backward()


def test_a_written_saved_tensor_is_torchs_error():
    with torch.enable_grad():
        x, w = leaf(3), torch.ones(3, dtype=torch.float64)
        y = minidynamo.compile(lambda x, w: (x * w).sin())(x, w)
        w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        z = minidynamo.compile(lambda x: x.exp())(x)
        z.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_results_may_be_written():
    def f(x):
        y = x * 2
        return y, y[0]

    def program(call):
        x = leaf(3, 2)
        y, first = call(x)
        first.mul_(3)
        y.add_(1)
        (y.sin().sum() + first.sum()).backward()
        return x.grad

    with torch.enable_grad():
        torch.testing.assert_close(program(minidynamo.compile(f)), program(f))


def test_hooks_of_leaves_and_results():
    with torch.enable_grad():
        x, seen = leaf(3), []
        x.register_hook(lambda gradient: seen.append("leaf"))
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
        y = minidynamo.compile(lambda x: x * 2)(x)
        y.register_hook(lambda gradient: gradient * 5)
        y.retain_grad()
        y.sum().backward()
        assert seen == ["leaf", "accumulated"]
        assert x.grad.tolist() == [10.0] * 3 and y.grad.tolist() == [5.0] * 3


def test_modes_have_captures_of_their_own():
    compiled = minidynamo.compile(lambda x: x * 2)
    x = leaf(3)
    for _ in range(2):
        with torch.enable_grad():
            assert compiled(x).requires_grad
        with torch.no_grad():
            assert not compiled(x).requires_grad
        with torch.inference_mode():
            assert compiled(x).is_inference()
        with torch.enable_grad():
            assert not compiled(x.detach()).requires_grad


def test_nothing_is_kept_alive():
    compiled = minidynamo.compile(lambda x, w: (x @ w).sin())
    with torch.enable_grad():
        x, w = leaf(3, 3), leaf(3, 3, seed=1)
        for backward in (True, False):
            given = x * 2
            y = compiled(given, w)
            if backward:
                y.sum().backward()
            dead = weakref.ref(given), weakref.ref(y)
            del given, y
            gc.collect()
            assert [each() for each in dead] == [None, None]


def test_checkpoints_and_hooks_of_saved_tensors():
    from torch.utils.checkpoint import checkpoint

    compiled = minidynamo.compile(lambda x, w: torch.tanh(x @ w).sin() @ w)

    def plain(x, w):
        return torch.tanh(x @ w).sin() @ w

    def gradients(call):
        x, w = leaf(3, 3), leaf(3, 3, seed=1)
        call(x, w).sum().backward()
        return x.grad, w.grad

    def packed(x, w):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            return compiled(x, w)

    with torch.enable_grad():
        expected = gradients(plain)
        for call in (packed, lambda x, w: checkpoint(compiled, x, w, use_reentrant=False)):
            for a, b in zip(gradients(call), expected, strict=True):
                torch.testing.assert_close(a, b)


def test_a_hook_that_raises():
    def refuse(tensor):
        raise ValueError("not this one")

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(refuse, lambda t: t):
        compiled = minidynamo.compile(lambda x: x.sin().exp())
        for _ in range(2):
            with pytest.raises(ValueError, match="not this one"):
                compiled(leaf(3))
    with torch.enable_grad():
        assert compiled(leaf(3)).requires_grad


def test_sizes_that_vary():
    compiled = minidynamo.compile(lambda x, w: (x @ w).tanh().mean(0), dynamic=True)
    with torch.enable_grad():
        for rows in (2, 3, 5, 7):
            x, w = leaf(rows, 4), leaf(4, 4, seed=1)
            expected = backward_of([(x @ w).tanh().mean(0)], [x, w])
            for a, b in zip(backward_of([compiled(x, w)], [x, w]), expected, strict=True):
                torch.testing.assert_close(a, b)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.out = torch.nn.Linear(8 * 16, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.out(F.max_pool2d(x, 2).flatten(1))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 8, batch_first=True)
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def encoder():
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.nn.Flatten(1))


MODELS = {
    "mlp": (lambda: torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)), (5, 6)),
    "convolutions": (Net, (4, 3, 8, 8)),
    "lstm": (Recurrent, (4, 5, 6)),
    "encoder": (encoder, (3, 5, 16)),
}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_training_follows_plain_torch(name, optimizer):
    make, sizes = MODELS[name]

    def losses(compiled):
        torch.manual_seed(0)
        model = make().double().train()
        run = minidynamo.compile(model) if compiled else model
        stepper = OPTIMIZERS[optimizer](model.parameters())
        found = []
        with torch.enable_grad():
            for step in range(20):
                x = torch.randn(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(step % 4))
                stepper.zero_grad()
                y = run(x)
                loss = F.cross_entropy(y, torch.arange(len(y)) % 3)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                stepper.step()
                found.append(loss.item())
        return found, copy.deepcopy(model.state_dict())

    (plain, plain_state), (ours, our_state) = losses(False), losses(True)
    torch.testing.assert_close(ours, plain, rtol=1e-11, atol=1e-11)
    for key, value in plain_state.items():
        torch.testing.assert_close(our_state[key], value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_one_graph(name):
    make, sizes = MODELS[name]
    model = make().train()
    with torch.enable_grad():
        y = minidynamo.compile(model, fullgraph=True)(torch.randn(*sizes))
    assert y.grad_fn.name() == "CompiledFunctionBackward"
    assert {node.name() for node, _ in y.grad_fn.next_functions} == {"torch::autograd::AccumulateGrad"}


def test_a_backend_that_is_a_callable():
    graphs = []

    def backend(gm, example_inputs):
        graphs.append(gm.code)
        return gm.forward

    def f(x, w):
        y = torch.relu(x @ w)
        return (y + x).softmax(-1), y

    compiled = minidynamo.compile(f, backend=backend)
    with torch.enable_grad():
        x, w = leaf(3, 3), leaf(3, 3, seed=1)
        found, expected = compiled(x, w), f(x, w)
        for a, b in zip(backward_of(found, (x, w)), backward_of(expected, (x, w)), strict=True):
            same(a, b)
        (slope,) = torch.autograd.grad(f(x, w)[0].sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="gradients of gradients .* callable"):
            torch.autograd.grad(compiled(x, w)[0].sum(), x, create_graph=True)
    assert len(graphs) == 1 and "relu" in graphs[0]


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_draws_torchs_numbers(p):
    layer = torch.nn.Dropout(p).train()

    def f(x, w):
        return layer((x @ w).sin()) * 2 + F.dropout(x, p)

    compiled = minidynamo.compile(f, fullgraph=True)
    with torch.enable_grad():
        x, w = leaf(3, 3), leaf(3, 3, seed=1)
        for seed in range(4):
            torch.manual_seed(seed)
            expected = f(x, w)
            after = torch.rand(3)
            torch.manual_seed(seed)
            found = compiled(x, w)
            assert torch.equal(torch.rand(3), after)
            same(found, expected)
            for a, b in zip(backward_of([found], (x, w)), backward_of([expected], (x, w)), strict=True):
                same(a, b)


def test_running_statistics_are_torchs_and_not_counted():
    def steps(compiled):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4, momentum=None)).double()
        run = minidynamo.compile(model) if compiled else model
        x = leaf(5, 4)
        with torch.enable_grad():
            first, second = run(x), run(x * 2)
            (first.sin().sum() + second.cos().sum()).backward()
        versions = [buffer._version for buffer in model.buffers()]
        return [*model.buffers(), *(p.grad for p in model.parameters()), x.grad], versions

    (found, versions), (expected, torch_versions) = steps(True), steps(False)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    assert versions == torch_versions


def test_an_operation_without_a_derivative_is_torchs():
    @torch.library.custom_op("md_gradients::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(lambda x: torch.empty_like(x))
    twice.register_autograd(lambda ctx, gradient: gradient * 2)

    def f(x):
        return twice(x.sin()) * x

    with torch.enable_grad():
        assert [each["id"] for each in _C.record_breaks(lambda: minidynamo.compile(f)(leaf(3)))] == ["MD0068"]
        compare(f, leaf(3))


def switched_on(x):
    with torch.enable_grad():
        y = x * 2
        v = x.view(-1)
    return y, v, x * 3


def switched_off_behind(x):
    y = x * 2
    torch.set_grad_enabled(False)
    return y, x.view(-1), x * 3


@pytest.mark.parametrize("function, is_on", [(switched_on, False), (switched_off_behind, True)])
def test_modes_that_change_inside(function, is_on):
    def described(call):
        with torch.set_grad_enabled(is_on):
            results = call(leaf(3))
            return [(r.requires_grad, r.grad_fn is not None) for r in results], torch.is_grad_enabled()

    compiled = minidynamo.compile(function)
    for _ in range(2):
        assert described(compiled) == described(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda w, i: F.embedding(i, w, sparse=True),
        lambda w, i: F.embedding_bag(i, w, sparse=True, mode="sum"),
        lambda w, i: F.embedding_bag(i, w, scale_grad_by_freq=True, mode="sum"),
    ],
)
def test_gradients_that_are_torchs_alone(function):
    indices = torch.tensor([[2, 0, 2], [4, 0, 1]])
    with torch.enable_grad():
        found = []
        for call in (function, minidynamo.compile(function)):
            weight = leaf(5, 3)
            call(weight, indices).sin().sum().backward()
            found.append(weight.grad)
        assert found[0].layout == found[1].layout
        torch.testing.assert_close(found[1].to_dense(), found[0].to_dense())
    with torch.no_grad():
        assert _C.record_breaks(lambda: minidynamo.compile(function)(leaf(5, 3), indices)) == []


MASK = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
DRAWS = {
    "attention": lambda q: F.scaled_dot_product_attention(q, q * 2, q, dropout_p=0.2),
    "attention with a mask": lambda q: F.scaled_dot_product_attention(q, q * 2, q, MASK, dropout_p=0.2),
    "causal attention": lambda q: F.scaled_dot_product_attention(q, q * 2, q, dropout_p=0.2, is_causal=True),
    "attention with numbers": lambda q: F.scaled_dot_product_attention(
        q, q, q, q[..., :3] * 2, dropout_p=0.2, scale=0.3
    ),
    "rand": lambda q: q * torch.rand(4, dtype=torch.float64),
    "randn": lambda q: q * torch.randn(3, 4, dtype=torch.float64) + torch.randint(0, 9, (4,)),
    "bernoulli": lambda q: q * torch.bernoulli(torch.full((4,), 0.4, dtype=torch.float64)),
    "randperm": lambda q: q[..., torch.randperm(4)],
    "dropout of a transposed tensor": lambda q: F.dropout(q.transpose(1, 3) * 2, 0.3),
    "dropout of parts": lambda q: F.dropout(q[..., ::2], 0.3).sum() + F.dropout(q[:1].expand(4, 3, 3, 4), 0.3),
    "dropout of a permuted result": lambda q: F.dropout(q.permute(3, 0, 2, 1).sin(), 0.6).cos(),
    "rand_like": lambda q: q * torch.rand_like(q),
    "randn_like": lambda q: q + q.exp() * torch.randn_like(q.exp()) + torch.randn_like(q[0], dtype=torch.float32),
    "randint_like": lambda q: q * torch.randint_like(q, 5) + torch.randint_like(q, 3, high=9, dtype=torch.int64),
}


def drawn_where_it_is_caught(q):
    try:
        return F.dropout(q, 0.3) * torch.rand(4, dtype=torch.float64)
    except ValueError:
        return q


@pytest.mark.parametrize("function", [*DRAWS.values(), drawn_where_it_is_caught], ids=[*DRAWS, "caught"])
def test_numbers_are_torchs(function):
    compiled = minidynamo.compile(function, fullgraph=True)
    with torch.enable_grad():
        q = leaf(2, 3, 3, 4)
        for seed in range(3):
            found = []
            for call in (function, compiled):
                torch.manual_seed(seed)
                result = call(q)
                found.append((result, *backward_of([result], (q,)), torch.rand(2)))
            for a, b in zip(*found, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def layer(kind, *arguments, **options):
    torch.manual_seed(1)
    return kind(*arguments, dropout=0.3, dtype=torch.float64, **options)


MODULES = {
    "LSTM": lambda: layer(nn.LSTM, 4, 5, 3),
    "LSTM, batch first": lambda: layer(nn.LSTM, 4, 5, 2, batch_first=True, bidirectional=True),
    "LSTM, projected": lambda: layer(nn.LSTM, 4, 5, 2, proj_size=3, bias=False),
    "GRU": lambda: layer(nn.GRU, 4, 5, 3, bidirectional=True),
    "GRU, batch first": lambda: layer(nn.GRU, 4, 5, 2, batch_first=True),
    "RNN": lambda: layer(nn.RNN, 4, 5, 2),
    "RNN, relu": lambda: layer(nn.RNN, 4, 5, 2, nonlinearity="relu", batch_first=True),
    "encoder layer": lambda: layer(nn.TransformerEncoderLayer, 4, 2, 8, batch_first=True),
    "encoder layer, norm first": lambda: layer(nn.TransformerEncoderLayer, 4, 2, 8, norm_first=True),
    "decoder layer": lambda: Twice(layer(nn.TransformerDecoderLayer, 4, 2, 8)),
    "attention": lambda: Thrice(layer(nn.MultiheadAttention, 4, 2, batch_first=True)),
    "attention without weights": lambda: Thrice(layer(nn.MultiheadAttention, 4, 2), need_weights=False),
}


class Twice(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x, x.flip(0))


class Thrice(nn.Module):
    def __init__(self, inner, **options):
        super().__init__()
        self.inner, self.options = inner, options

    def forward(self, x):
        return self.inner(x, x * 2, x, **self.options)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
def test_dropout_inside_of_modules(name, training):
    minidynamo._dynamo.reset()
    module = MODULES[name]().train(training)
    compiled = minidynamo.compile(lambda x: module(x), fullgraph=True)
    with torch.enable_grad():
        x = leaf(3, 2, 4)
        for seed in range(2):
            found = []
            for call in (module, compiled):
                torch.manual_seed(seed)
                outputs = call(x)
                first = outputs[0] if isinstance(outputs, tuple) else outputs
                given = (x, *module.parameters())
                found.append((outputs, first.stride(), *backward_of([first], given), torch.rand(2)))
            for a, b in zip(*found, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def unused_and_equal_draws(q, i):
    torch.rand(4)
    a, b = torch.rand(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    return q[i] * (a - b)


def drawn_before_what_fails(q, i):
    return (F.dropout(q, 0.4) * torch.rand(4, dtype=torch.float64))[i]


def fails_between_draws(q, i):
    picked = (q * torch.rand(4, dtype=torch.float64))[i]
    return picked * torch.randn(4, dtype=torch.float64)


def checked_between_draws(q, i):
    scale = torch.rand((), dtype=torch.float64)
    if not (i >= 0).all():
        raise ValueError("a negative index")
    return q[i] * scale * torch.rand((), dtype=torch.float64)


@pytest.mark.parametrize("checked", [0, 10], ids=["", "checked"])
@pytest.mark.parametrize(
    "function",
    [unused_and_equal_draws, drawn_before_what_fails, fails_between_draws, checked_between_draws],
    ids=lambda function: function.__name__,
)
def test_a_run_that_is_given_up_draws_again(function, checked):
    """What may fail may follow draws: where it fails, the generator is as before, and torch's own code draws and raises."""
    q = leaf(5, 4)
    minidynamo._dynamo.reset()
    with torch.enable_grad(), minidynamo._dynamo.config.patch(check_captures=checked):
        compiled = minidynamo.compile(function)
        for indices in ([0, 4], [1, 1], [2, 9], [3, 0], [-1, 2], [-7, 0], [4, 4]):
            found = []
            for call in (function, compiled):
                torch.manual_seed(3)
                try:
                    result = call(q, torch.tensor(indices)).detach()
                except (IndexError, ValueError) as error:
                    result = f"{type(error).__name__}: {error}"
                found.append((result, torch.rand(3)))
            (one, after), (other, after_other) = found
            if isinstance(one, torch.Tensor):
                torch.testing.assert_close(other, one)
            else:
                assert other == one
            assert torch.equal(after, after_other), indices


def test_draws_before_what_may_fail_are_one_graph():
    minidynamo._dynamo.reset()
    for function in (drawn_before_what_fails, fails_between_draws, checked_between_draws):
        compiled = minidynamo.compile(function, fullgraph=True)
        with torch.enable_grad():
            breaks = _C.record_breaks(lambda call=compiled: call(leaf(5, 4), torch.tensor([1, 2])))
        assert breaks == []


def test_padding_is_no_break():
    compare(lambda x: (F.pad(x, (1, 2, 0, -1), value=3.0).sin(), F.pad(x, (-1, 0)), F.pad(x, (0, 1, 1, 0))), leaf(3, 3))
    with torch.enable_grad():
        assert _C.record_breaks(lambda: minidynamo.compile(lambda x: F.pad(x, (1, 2)).sin())(leaf(3, 3))) == []
