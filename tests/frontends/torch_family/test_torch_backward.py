"""backward() of torch's tensors inside a function joins its graph: gradients, versions and what the program sees of the
history are torch's."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("in_float64")


def drawn(number, *sizes):
    generator = torch.Generator().manual_seed(100 + number)
    return torch.rand(*sizes, generator=generator).sub(0.5)


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b) and a.requires_grad == b.requires_grad and a.stride() == b.stride()
        torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-12, atol=1e-12)


def quotient(x, w):
    return ((x * w).exp() / 3).sum()


@pytest.mark.counts_regions
def test_a_second_backward_raises_as_torch_does():
    def first(x, w):
        loss = quotient(x, w)
        loss.backward()
        return loss

    def errors(function):
        x, w = drawn(0, 4), drawn(1, 4).requires_grad_()
        loss = function(x, w)
        assert loss.requires_grad and not loss.is_leaf
        texts = []
        for call in (
            lambda: loss.backward(),
            lambda: torch.autograd.grad(loss, w),
            lambda: torch.autograd.grad(loss * 2, w, allow_unused=True),
        ):
            with pytest.raises(RuntimeError) as error:
                call()
            texts.append(str(error.value))
        return texts, w.grad.clone()

    compiled = minidynamo.compile(first, fullgraph=True)
    found, expected = errors(compiled), errors(first)
    assert found[0] == expected[0]
    assert_same([found[1]], [expected[1]])


def backward_of_a_part(x, w):
    y = x * w
    z = y.exp()
    z.sum().backward()
    return y


def backward_with_a_gradient(x, w):
    y = x * w
    y.backward(torch.ones(4), retain_graph=False)
    return w.grad * 2


def backward_two_times(x, w):
    (x * w).exp().sum().backward()
    (x + w).exp().sum().backward()
    return w.grad


def backward_of_a_view(x, w):
    (w[1:] * x[1:]).sum().backward()
    return w.grad


def backward_that_expands(x, w):
    w.sum().backward()
    return w.grad


def retained(x, w):
    y = (x * w).exp()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return y


def with_create_graph(x, w):
    (gradient,) = torch.autograd.grad((x * w).exp().sum(), w, create_graph=True)
    gradient.sum().backward()
    return w.grad


def by_grad(x, w):
    return torch.autograd.grad((x * w).exp().sum(), [w])[0]


def by_autograd_backward(x, w):
    torch.autograd.backward([(x * w).exp().sum(), (x - w).sin().sum()])
    return w.grad


def with_hooks_of_saved_tensors(x, w):
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor * 2, lambda tensor: tensor):
        loss = quotient(x, w)
        loss.backward()
    return w.grad


def in_anomaly_mode(x, w):
    with torch.autograd.detect_anomaly(check_nan=False):
        quotient(x, w).backward()
    return w.grad


def with_a_hook_inside(x, w):
    y = x * w
    y.register_hook(lambda gradient: gradient * 5)
    y.exp().sum().backward()
    return w.grad


def with_retained_gradient(x, w):
    y = x * w
    y.retain_grad()
    y.exp().sum().backward()
    return y.grad


def with_a_break_between(x, w):
    loss = quotient(x, w)
    minidynamo._dynamo.graph_break()
    loss.backward()
    return w.grad


def seen_at_a_break(x, w):
    quotient(x, w).backward()
    minidynamo._dynamo.graph_break()
    w.grad.mul_(2)
    return w.grad


def of_a_frozen_leaf(x, w):
    try:
        (x * w.detach()).sum().backward()
    except RuntimeError as error:
        return torch.tensor(len(str(error)))
    return x


def of_several_elements(x, w):
    try:
        (x * w).backward()
    except RuntimeError as error:
        return torch.tensor(len(str(error)))
    return x


def stored(x, w):
    w.grad = x * 2
    w.grad.add_(1)
    quotient(x, w).backward()
    return w.grad


def read_later(x, w):
    before = w.grad
    quotient(x, w).backward()
    w.grad, kept = None, w.grad
    return (kept, before) if before is not None else kept


def with_dropout(x, w):
    torch.manual_seed(3)
    F.dropout(x * w, 0.5).exp().sum().backward()
    return w.grad


PROGRAMS = [
    *(backward_of_a_part, backward_with_a_gradient, backward_two_times, backward_of_a_view, backward_that_expands),
    *(retained, with_create_graph, by_grad, by_autograd_backward, with_hooks_of_saved_tensors, in_anomaly_mode),
    *(with_a_hook_inside, with_retained_gradient, with_a_break_between),
    *(seen_at_a_break, of_a_frozen_leaf, of_several_elements, stored, read_later, with_dropout),
]


def outcome(function, w, calls=3):
    results = []
    for number in range(calls):
        result = function(drawn(number, 4), w)
        results += result if isinstance(result, tuple) else (result,)
        if w.grad is not None:
            results.append(w.grad.clone())
    return [each.detach().clone() for each in results], w._version


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_that_go_back(function):
    found = outcome(minidynamo.compile(function), drawn(9, 4).requires_grad_())
    expected = outcome(function, drawn(9, 4).requires_grad_())
    assert_same(found[0], expected[0])
    assert found[1] == expected[1]


def test_of_a_tensor_that_is_no_leaf():
    def step(x, w):
        quotient(x, w).backward()

    compiled = minidynamo.compile(step)
    leaf, other = drawn(9, 4).requires_grad_(), drawn(9, 4).requires_grad_()
    for number in range(3):
        compiled(drawn(number, 4), leaf if number == 1 else leaf * 2)
        step(drawn(number, 4), other if number == 1 else other * 2)
    assert_same([leaf.grad], [other.grad])


def test_one_leaf_by_two_names():
    def step(v, w):
        (v.exp() * w).sum().backward()

    compiled = minidynamo.compile(step)
    a, b = drawn(1, 4).requires_grad_(), drawn(2, 4).requires_grad_()
    c, d = drawn(1, 4).requires_grad_(), drawn(2, 4).requires_grad_()
    for function, v, w in ((compiled, a, b), (step, c, d)):
        function(v, w)
        function(v, v)
        function(v, w)
    assert_same([a.grad, b.grad], [c.grad, d.grad])


def test_transposed_leaf():
    def step(x, w):
        (x @ w).tanh().sum().backward()

    compiled = minidynamo.compile(step, fullgraph=True)
    for strides in ((1, 3), (1, 8), (4, 1)):
        w = torch.empty_strided((3, 4), strides).copy_(drawn(1, 3, 4)).requires_grad_()
        other = w.detach().requires_grad_()
        compiled(drawn(2, 5, w.shape[0]), w)
        step(drawn(2, 5, w.shape[0]), other)
        assert_same([w.grad], [other.grad])


def by_base(x, base, w):
    (x * w).exp().sum().backward()
    return w.grad.clone()


def writes_the_base(x, base, w):
    with torch.no_grad():
        base.mul_(0.5)
    (x * w).exp().sum().backward()
    return w.grad.clone()


def writes_the_leaf(x, base, w):
    (x * w).exp().sum().backward()
    with torch.no_grad():
        w.sub_(w.grad)
    return base.clone()


def reads_the_base(x, base, w):
    ((x * w).exp() * base[1:].detach()).sum().backward()
    return w.grad.clone()


def by_its_gradient(x, base, w):
    (found,) = torch.autograd.grad((x * w).exp().sum(), w, create_graph=True)
    found.square().sum().backward()
    return found.detach(), w.grad.clone()


def nothing(base, other):
    pass


def base_requires_grad(base, other):
    base.requires_grad_()


def base_gets_a_history(base, other):
    base.mul_(other)


@pytest.mark.parametrize("change", [nothing, base_requires_grad, base_gets_a_history])
@pytest.mark.parametrize("function", [by_base, writes_the_base, writes_the_leaf, reads_the_base, by_its_gradient])
def test_a_leaf_that_is_a_view(function, change):
    def run(function):
        base, other = drawn(7, 5), drawn(8, 5).requires_grad_()
        w = base[1:].requires_grad_()
        seen, errors = [], []
        for number in range(4):
            if number == 2:
                change(base, other)
            try:
                seen += [function(drawn(number, 4), base, w)]
            except RuntimeError as error:
                errors.append(str(error))
            seen += [w.is_leaf, w._version, w.detach().clone(), None if other.grad is None else other.grad.clone()]
            seen.append(w.grad.clone() if w.is_leaf and w.grad is not None else None)
        return seen, errors

    (found, errors), (expected, errors_expected) = run(minidynamo.compile(function)), run(function)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert errors == errors_expected
    if change is nothing and function is not writes_the_base:
        minidynamo._dynamo.reset()
        run(minidynamo.compile(function, fullgraph=True))


def test_a_view_of_what_requires_grad_is_no_leaf():
    def step(x, w):
        (x * w).exp().sum().backward()

    base = drawn(7, 5).requires_grad_()
    with torch.no_grad():
        w = base[1:]
    w.requires_grad_()
    found = _C.record_breaks(lambda: minidynamo.compile(step)(drawn(1, 4), w))
    assert "MD0024" in [each["id"] for each in found] and w.grad is not None
