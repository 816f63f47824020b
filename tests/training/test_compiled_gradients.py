"""Captured regions carry gradients: what compiled code computes goes back to its inputs as what plain code computes does."""

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn


def numbers(*shape, seed=0, requires_grad=True):
    torch.manual_seed(seed)
    return torch.rand(*shape, dtype=torch.float64).mul(2).sub(1).requires_grad_(requires_grad)


def outcome(function, inputs, create_graph=False):
    """Results, first and, if asked for, second gradients."""
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    roots = [each for each in results if isinstance(each, torch.Tensor) and each.requires_grad]
    ends = [each for each in inputs if isinstance(each, torch.Tensor) and each.requires_grad]
    total = sum((each * each.detach().cos()).sum() for each in roots)
    gradients = torch.autograd.grad(total, ends, allow_unused=True, create_graph=create_graph)
    found = [each.detach() for each in results if isinstance(each, torch.Tensor)]
    found += [None if each is None else each.detach() for each in gradients]
    if create_graph:
        second = sum((each * each).sum() for each in gradients if each is not None and each.requires_grad)
        if isinstance(second, torch.Tensor):
            found += torch.autograd.grad(second, ends, allow_unused=True)
    return found


def assert_same(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape and a.dtype == b.dtype
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-11), (a, b)


def product(x, w):
    return torch.tanh(x @ w).sum(1)


def chain(x):
    y = x.exp() * x.sin() + x.sigmoid()
    return (y.abs() / (1 + y * y)).sqrt()


def views(x):
    y = x.t()[1:, :2].reshape(-1)
    return y * y, x[0], x.unbind(0)[1] * 3


def without_grad(x, w):
    with torch.no_grad():
        scale = (x * w).sum()
    return x * scale, (x * w).detach(), w.exp()


def written(x):
    y = x * 2
    z = x.exp()
    y[0] = z[1] * x[0]
    y[:, 1].mul_(3)
    y += z
    return y


def several(x, w):
    values, places = x.max(1)
    return values * w[:, 0], x.softmax(1), torch.cat([x, w], 1).cumsum(1), places


def branches(x):
    if x.shape[0] > 2:
        return (x * 3).relu()
    return x


def with_numbers(x, scale=0.25, power=3):
    return (x * scale + power).pow(power) / scale


def returns_input(x):
    return x, x * 2


def integers(x):
    return x.argmax(), x > 0, x.floor()


def breaking(x, w):
    y = (x * w).exp()
    print(end="")
    z = y.sum(0)
    return z * x, y


def resized(x, w):
    return x.reshape(-1) * 2, x.expand(3, *x.shape).sum(0), (x.t() @ w).unsqueeze(0).repeat(2, 1, 1), x[1:] * w[:-1]


PROGRAMS = {
    "product": (product, [(4, 3), (3, 5)]),
    "chain": (chain, [(3, 4)]),
    "views": (views, [(3, 4)]),
    "without_grad": (without_grad, [(3, 4), (3, 4)]),
    "written": (written, [(3, 4)]),
    "several": (several, [(3, 4), (3, 4)]),
    "branches": (branches, [(3, 4)]),
    "with_numbers": (with_numbers, [(3, 4)]),
    "returns_input": (returns_input, [(3, 4)]),
    "resized": (resized, [(3, 4), (3, 4)]),
    "breaking": (breaking, [(3, 4), (3, 4)]),
}
BACKENDS = ["onednn", "eager", lambda gm, inputs: gm.forward]


@pytest.mark.parametrize("backend", BACKENDS, ids=["onednn", "eager", "callable"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name, dynamic, backend):
    function, shapes = PROGRAMS[name]
    compiled = torch.compile(function, backend=backend, dynamic=dynamic)
    for seed in range(3):
        inputs = [numbers(*shape, seed=seed) for shape in shapes]
        assert_same(outcome(compiled, inputs), outcome(function, inputs))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_second_gradients(name, dynamic):
    function, shapes = PROGRAMS[name]
    compiled = torch.compile(function, dynamic=dynamic)
    for seed in range(2):
        inputs = [numbers(*shape, seed=seed) for shape in shapes]
        assert_same(outcome(compiled, inputs, create_graph=True), outcome(function, inputs, create_graph=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_some_inputs_require_none(name):
    function, shapes = PROGRAMS[name]
    if len(shapes) < 2:
        pytest.skip("one input")
    compiled = torch.compile(function)
    for which in range(2):
        inputs = [numbers(*shape, requires_grad=i == which) for i, shape in enumerate(shapes)]
        assert_same(outcome(compiled, inputs), outcome(function, inputs))


def test_no_history_under_no_grad():
    compiled = torch.compile(product)
    x, w = numbers(4, 3), numbers(3, 5)
    with torch.no_grad():
        assert not compiled(x, w).requires_grad
    result = compiled(x, w)
    assert result.requires_grad and result.grad_fn is not None and not result.is_leaf


def test_integers_have_no_history():
    compiled = torch.compile(integers)
    x = numbers(3, 4)
    places, signs, floors = compiled(x)
    assert not places.requires_grad and not signs.requires_grad
    assert floors.requires_grad == x.floor().requires_grad


def test_a_second_backward_is_an_error():
    compiled = torch.compile(chain)
    x = numbers(3)
    loss = compiled(x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
    loss = compiled(x).sum()
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    loss.backward()
    assert torch.allclose(x.grad - first, first / 2)


def test_what_is_written_later_is_an_error():
    compiled = torch.compile(lambda x, y: (x * y).exp())
    x, y = numbers(3), numbers(3, requires_grad=False)
    loss = compiled(x, y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_results_are_written_in_place():
    compiled = torch.compile(lambda x: (x * 2, x.t() * 3))
    x = numbers(2, 3)
    a, b = compiled(x)
    a.mul_(3).add_(x)
    b[0] = 5
    gradient = torch.autograd.grad(a.sum() + b.sum(), x)[0]
    c, d = x * 2, x.t() * 3
    c.mul_(3).add_(x)
    d[0] = 5
    assert torch.allclose(gradient, torch.autograd.grad(c.sum() + d.sum(), x)[0])


def test_a_parameter_is_updated_inside():
    parameter = numbers(3)
    reference = parameter.detach().clone().requires_grad_()

    def step(p, x):
        loss = (p * x).exp().sum()
        with torch.no_grad():
            p.mul_(0.5)
        return loss

    def after(p, x):
        with torch.no_grad():
            p.mul_(0.5)
        return (p * x).exp().sum()

    x = numbers(3, seed=3, requires_grad=False)
    compiled = torch.compile(after)
    for _ in range(2):
        compiled(parameter, x).backward()
        after(reference, x).backward()
        assert torch.allclose(parameter, reference) and torch.allclose(parameter.grad, reference.grad)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.layers = nn.Sequential(nn.Linear(4 * 4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        x = F.max_pool2d(self.norm(self.convolution(x)).relu(), 2)
        return self.layers(x.flatten(1))


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_module_trains(dynamic):
    torch.manual_seed(1)
    plain, compiled = Net().double(), Net().double()
    compiled.load_state_dict(plain.state_dict())
    forward = torch.compile(compiled, dynamic=dynamic)
    for step in range(6):
        x = numbers(5 + step % 2, 2, 4, 4, seed=step, requires_grad=False)
        target = torch.arange(5 + step % 2) % 3
        for model, call in ((plain, plain), (compiled, forward)):
            loss = F.cross_entropy(call(x), target)
            for parameter in model.parameters():
                parameter.grad = None
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad, alpha=0.1)
        for (name, a), b in zip(plain.named_parameters(), compiled.parameters()):
            assert torch.allclose(a, b, rtol=1e-8, atol=1e-10), name
    assert torch.allclose(plain.norm.running_mean, compiled.norm.running_mean)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("layer", ["BatchNorm2d", "InstanceNorm2d"])
def test_running_statistics_have_no_history(layer, compiled):
    torch.manual_seed(2)
    convolution, norm = nn.Conv2d(2, 3, 2), getattr(nn, layer)(3, affine=True, track_running_stats=True)
    parameters = [*convolution.parameters(), *norm.parameters()]
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def forward(x):
        return norm(convolution(x))

    call = torch.compile(forward, backend=backend) if compiled else forward
    for step in range(4):
        x = numbers(5, 2, 4, 4, seed=step, requires_grad=False).float()
        before = norm.running_mean.clone()
        loss = call(x).square().sum() + norm.weight.sum()
        assert not norm.running_mean.requires_grad and not norm.running_var.requires_grad
        assert not torch.equal(before, norm.running_mean)
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=0.01)
    assert len(graphs) == compiled


def test_dropout_has_one_mask():
    def drop(x):
        return F.dropout(x, 0.5) * x

    compiled = torch.compile(drop)
    x = numbers(100)
    torch.manual_seed(5)
    result = compiled(x)
    gradient = torch.autograd.grad(result.sum(), x)[0]
    mask = (result != 0).double() * 2
    assert torch.allclose(gradient, 2 * mask * x)


def test_random_numbers_in_a_callable():
    """What is drawn cannot be drawn again: the callable's graph returns what the backward reads."""
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = torch.compile(lambda x: F.dropout(x, 0.5) * x, backend=backend)
    x = numbers(50)
    result = compiled(x)
    mask = (result != 0).double() * 2
    assert torch.allclose(torch.autograd.grad(result.sum(), x)[0], 2 * mask * x)
    assert len(graphs) == 1
    explained = torch._dynamo.explain(lambda x: F.dropout(x.exp().sin(), 0.5) * x)(x)
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)


def test_graphs_are_kept():
    calls = []

    def backend(gm, inputs):
        calls.append(len(inputs))
        return gm.forward

    compiled = torch.compile(chain, backend=backend)
    for _ in range(3):
        compiled(numbers(3)).sum().backward()
    assert calls == [1]
