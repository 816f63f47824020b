"""backward() and autograd.grad inside a compiled function join its graph, or break it: gradients, results, errors and what a
later backward does are those of eager Python."""

import pytest
from gradient_behaviour import behaviour as behaviour_of
from gradient_behaviour import close

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn

pytestmark = pytest.mark.counts_regions


class State:
    """Tensors and modules that a program uses; `kept` is what its last call returned."""

    def __init__(self):
        torch.manual_seed(0)
        self.a, self.b = (torch.rand(3, 4, dtype=torch.float64).sub(0.5).requires_grad_() for _ in range(2))
        self.t = torch.rand(4, 3, dtype=torch.float64).t().requires_grad_()
        self.s = torch.rand((), dtype=torch.float64).requires_grad_()
        self.x = torch.rand(3, 4, dtype=torch.float64)
        self.frozen = torch.rand(3, 4, dtype=torch.float64)
        self.model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).double()
        self.log = []
        self.kept = None

    def leaves(self):
        return [self.a, self.b, self.t, self.s, self.x, self.frozen, *self.model.parameters()]


CAPTURED, BROKEN, RAISING = [], [], []


def captured(function):
    CAPTURED.append(function)
    return function


def broken(function):
    BROKEN.append(function)
    return function


def raising(function):
    RAISING.append(function)
    return function


# ---- one graph


@captured
def sums_up(s):
    loss = (s.a * s.b).tanh().sum()
    loss.backward()
    return loss


@captured
def of_a_model(s):
    s.model.zero_grad()
    loss = F.mse_loss(s.model(s.x), s.x[:, :2])
    loss.backward()
    return loss.detach()


@captured
def clears_in_place(s):
    s.model.zero_grad(set_to_none=False)
    loss = s.model(s.x).square().mean()
    loss.backward()
    return loss


@captured
def reads_what_it_has_stored(s):
    s.a.grad = None
    (s.a * s.a).sum().backward()
    first = s.a.grad * 2
    s.a.grad.mul_(0.5)
    s.a.grad += 1
    return first, s.a.grad.sum()


@captured
def stores_a_tensor(s):
    s.a.grad = s.x
    (s.a.exp() * s.b).sum().backward()
    s.x = s.x + 1
    return s.a.grad


@captured
def without_a_mode(s):
    loss = (s.a * s.b).sum()
    with torch.no_grad():
        loss.backward()
    return loss * 1 if not loss.requires_grad else loss.detach()


@captured
def parts_without_grad(s):
    with torch.no_grad():
        scale = s.a.sum()
    ((s.a * scale).detach() * s.b + s.a).square().sum().backward()


@captured
def given_a_gradient(s):
    y = s.a * s.b
    y.backward(s.x)
    return y.detach()


@captured
def given_by_name(s):
    (s.a * s.b).backward(gradient=s.x.float(), retain_graph=False, create_graph=None)


@captured
def shared_gradients(s):
    s.a.grad = s.b.grad = None
    (s.a + s.b).sum().backward()
    s.a.grad.add_(1)


@captured
def another_layout(s):
    s.t.grad = None
    (s.t * s.x).exp().sum().backward()
    return s.t.grad.stride()


@captured
def of_a_leaf_itself(s):
    s.s.backward()
    return s.s.grad


@captured
def unused_and_frozen(s):
    (s.a * s.frozen).exp().sum().backward()
    return s.b.grad is None, s.frozen.grad, s.a.is_leaf, s.a.grad_fn


@captured
def two_of_them(s):
    (s.a * s.x).square().sum().backward()
    (s.b * s.a).square().sum().backward()


@captured
def results_beside_it(s):
    hidden = (s.a * s.x).tanh()
    loss = (hidden * hidden).sum()
    loss.backward()
    return loss, hidden, s.b * 2


@captured
def updates_by_hand(s):
    for leaf in (s.a, s.b):
        leaf.grad = None
    loss = (s.a * s.b - s.x).square().mean()
    loss.backward()
    with torch.no_grad():
        for leaf in (s.a, s.b):
            leaf -= 0.1 * leaf.grad
    return loss


@captured
def two_steps(s):
    for _ in range(2):
        s.a.grad = None
        (s.a * s.a * s.x).sum().backward()
        with torch.no_grad():
            s.a.sub_(s.a.grad, alpha=0.1)


@captured
def writes_of_computed(s):
    y = s.a * s.x
    y[0] = 1.0
    y.mul_(s.b.detach())
    y.square().sum().backward()


@captured
def by_function(s):
    torch.autograd.backward([(s.a * s.x).square().sum(), s.b.exp().sum()])


@captured
def gradients_alone(s):
    loss = (s.a * s.b).tanh().sum()
    first, second = torch.autograd.grad(loss, (s.a, s.b))
    return loss, first, second * 2


@captured
def gradients_of_computed(s):
    y = s.a * s.x
    loss = (y * y * s.x).sum()
    return torch.autograd.grad(loss, y, allow_unused=True)


# What a gradient is a view of, all of it or a part.
@captured
def gradients_that_are_views(s):
    w, k = s.model[0].weight, s.model[0].bias
    loss = (s.x @ w.t() + k).tanh().sum() + s.s.exp()
    found = torch.autograd.grad(loss, [w, k, s.s])
    turned = torch.autograd.grad((s.a.t().exp() * s.x.t()).sum(), s.a)
    folded = torch.autograd.grad((s.b.reshape(2, 6).exp() * s.x.reshape(2, 6)).sum(), s.b)
    lifted = torch.autograd.grad((s.x.sum(1) - k[:3, None]).square().sum(), k)
    return (*found, *turned, *folded, *lifted, [g.stride() for g in (*found, *turned, *folded, *lifted)])


@captured
def writes_gradients_that_are_views(s):
    y = s.a * 2
    g, h = torch.autograd.grad((y.t().exp()).sum() + s.b.t().sin().sum(), [y, s.b])
    g.mul_(2)
    h += g
    return g, h


@captured
def second_gradients_of_computed(s):
    y = (s.a * s.x).sin()
    (g,) = torch.autograd.grad((y.exp() * s.b).sum(), y, create_graph=True)
    penalty = (g.square().sum(1) - 1).square().mean()
    penalty.backward()
    return y.detach(), g.detach(), penalty


@broken
def gradients_with_one_memory(s):
    y, z = s.a * 2, s.b * 3
    g, h = torch.autograd.grad(((y + z) * s.x).sum(), [y, z])
    g.mul_(2)
    return g, h


@captured
def gradients_of_unused(s):
    found = torch.autograd.grad((s.a * s.a).sum(), [s.a, s.b], allow_unused=True)
    return found[0], found[1] is None


@captured
def materialized(s):
    return torch.autograd.grad((s.a * s.a).sum(), [s.a, s.b], materialize_grads=True)


@captured
def tied(s):
    twin = s.a
    loss = (s.a * twin.exp()).sum()
    loss.backward()
    s.log.append(1)
    return twin.grad is s.a.grad


# ---- breaks


@captured
def retains_the_graph(s):
    loss = (s.a * s.b).sum()
    loss.backward(retain_graph=True)
    loss.backward()


@captured
def creates_a_graph(s):
    (first,) = torch.autograd.grad((s.a**3).sum(), s.a, create_graph=True)
    first.square().sum().backward()


@captured
def keeps_a_retained_result(s):
    loss = (s.a * s.b).tanh().sum()
    loss.backward(retain_graph=True)
    return loss


@captured
def returns_gradients_with_a_history(s):
    y = (s.a * s.b).sin()
    first, second = torch.autograd.grad(y.square().sum(), (s.a, s.b), create_graph=True)
    return y, first, second.requires_grad, second.exp()


@captured
def third_gradients(s):
    g = s.s * 2
    for _ in range(3):
        (g,) = torch.autograd.grad((g.sin() * s.s.exp()).sum(), s.s, create_graph=True)
    g.backward()
    return g


@captured
def a_gradient_penalty(s):
    point = s.a * 0.3 + s.x * 0.7
    (slope,) = torch.autograd.grad(s.model(point).sum(), point, create_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean() + s.model(s.x).mean()
    penalty.backward()
    return penalty.detach(), slope.detach()


@captured
def a_step_within_a_step(s):
    inner = ((s.a * s.x).tanh() - s.frozen).square().mean()
    (slope,) = torch.autograd.grad(inner, s.a, create_graph=True)
    outer = ((s.a - 0.1 * slope) * s.b).square().sum()
    outer.backward()
    return inner.detach(), outer.detach()


@captured
def a_product_with_the_hessian(s):
    (slope,) = torch.autograd.grad((s.a.exp() * s.b.sin()).sum(), s.a, create_graph=True)
    return torch.autograd.grad((slope * s.x).sum(), [s.a, s.b])


@captured
def some_with_a_history_and_some_without(s):
    y = (s.a * s.b).sin().sum()
    (plain,) = torch.autograd.grad(y, s.a, retain_graph=True)
    (recorded,) = torch.autograd.grad(y, s.a, create_graph=True)
    (plain * recorded).sum().backward()
    return plain.requires_grad, recorded.requires_grad


@captured
def at_given_inputs(s):
    (s.a * s.b).tanh().sum().backward(inputs=[s.a])
    (s.t * s.b).tanh().sum().backward(inputs=s.t)
    torch.autograd.backward([(s.a * s.b).exp().sum(), s.s.exp()], inputs=(s.b, s.s, s.b))


@captured
def at_a_new_leaf(s):
    point = (s.x * 0.3 + s.frozen * 0.7).requires_grad_()
    (slope,) = torch.autograd.grad(s.model(point).sum(), point, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).square().mean()
    penalty.backward()
    return penalty.detach(), slope.detach(), point.is_leaf, point.grad_fn


@captured
def the_gradient_of_a_new_leaf(s):
    p = s.x.detach().requires_grad_()
    (p * s.a).exp().sum().backward()
    (p * s.a).sin().sum().backward(inputs=[p])
    return p.grad * 2


@broken
def keeps_a_new_leaf(s):
    p = s.x.clone().requires_grad_()
    (p * s.a).exp().sum().backward()
    return p


@broken
def goes_back_to_a_new_leaf_alone(s):
    p = s.x.clone().requires_grad_()
    return (p * p).sum()


@broken
def at_a_computed_input(s):
    y = s.a * 2
    (y * s.b).tanh().sum().backward(inputs=[y])
    return y.grad


@broken
def creates_a_graph_without_grad_mode(s):
    y = (s.a**3).sum()
    with torch.no_grad():
        (first,) = torch.autograd.grad(y, s.a, create_graph=True)
    first.square().sum().backward()


@broken
def adds_gradients_with_a_history(s):
    (s.a**3).sum().backward(create_graph=True)


@broken
def with_a_hook_of_a_leaf(s):
    if len(s.log) == 0:
        s.a.register_hook(lambda gradient: gradient * 2)
    s.log.append(0)
    (s.a * s.b).tanh().sum().backward()


@broken
def with_a_hook_behind_the_accumulation(s):
    if len(s.log) == 0:
        s.a.register_post_accumulate_grad_hook(lambda leaf: s.log.append(leaf.grad.sum().item()))
    (s.a * s.b).tanh().sum().backward()
    return list(s.log)


@broken
def with_a_hook_of_a_result(s):
    y = s.a * s.b
    y.register_hook(lambda gradient: gradient * 3)
    y.tanh().sum().backward()


@broken
def retains_a_gradient(s):
    y = s.a * s.b
    y.retain_grad()
    y.tanh().sum().backward()
    return y.grad


@broken
def from_outside(s):
    y = s.a * 2
    torch._dynamo.graph_break()
    (y * s.b).tanh().sum().backward()


@broken
def gradients_through_the_outside(s):
    loss = (s.a * s.b).tanh().sum()
    torch._dynamo.graph_break()
    return torch.autograd.grad(loss, (s.a, s.b))


@broken
def gradients_by_two_ways(s):
    y = s.a * 2
    torch._dynamo.graph_break()
    return torch.autograd.grad((y.exp() * s.a).sum(), s.a)


@broken
def writes_without_a_history(s):
    y = s.a * s.x
    with torch.no_grad():
        y.mul_(2)
    y.sum().backward()


@broken
def writes_through_a_detached_view(s):
    y = s.a * s.x
    y.detach().mul_(2)
    y.sum().backward()


@broken
def keeps_what_was_written_without_a_history(s):
    y = s.a * s.x
    y.detach().mul_(2)
    return y * y


@captured
def writes_to_a_detached_result(s):
    y = (s.a * s.x).detach()
    y.relu_()
    (y * s.b).square().sum().backward()
    return y


@broken
def keeps_half_a_history(s):
    hidden = (s.a * s.x).tanh()
    hidden.sum().backward()
    return (hidden * 2).detach() + 1, hidden + s.b


@broken
def nothing_was_saved(s):
    loss = (s.a + s.x).sum()
    loss.backward()
    return loss


@broken
def in_anomaly_mode(s):
    with torch.autograd.set_detect_anomaly(True):
        (s.a * s.b).tanh().sum().backward()


@broken
def under_hooks_of_saved_tensors(s):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2):
        (s.a * s.b).tanh().sum().backward()


@broken
def by_its_own_function(s):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 5

    Twice.apply(s.a).tanh().sum().backward()


@broken
def gradient_of_another_sort(s):
    return torch.autograd.grad(s.a.sum(), s.a)


@broken
def goes_on_behind_it(s):
    loss = (s.a * s.b).tanh().sum()
    loss.backward()
    torch._dynamo.graph_break()
    s.a.grad.add_(1)
    return loss


@broken
def behind_a_break(s):
    s.a.grad = None
    torch._dynamo.graph_break()
    (s.a * s.b).tanh().sum().backward()
    return s.a.grad


# ---- errors


@raising
def of_no_scalar(s):
    y = s.a * s.b
    y.backward()


@raising
def of_what_needs_none(s):
    loss = (s.x * s.x).sum()
    loss.backward()


@raising
def a_second_time(s):
    loss = (s.a * s.b).sum()
    loss.backward()
    s.log.append(1)
    loss.backward()


@raising
def at_no_inputs(s):
    (s.a * s.b).sum().backward(inputs=[])


@raising
def at_an_input_that_needs_none(s):
    (s.a * s.x).sum().backward(inputs=[s.x])


@raising
def of_another_shape(s):
    (s.a * s.b).backward(s.x[:2])


@raising
def unused_input(s):
    torch.autograd.grad((s.a * s.a).sum(), [s.a, s.b])


@raising
def a_gradient_of_another_size(s):
    s.a.grad = s.x[:2]


@raising
def half_way(s):
    s.a.grad = None
    (s.a * s.b).tanh().sum().backward()
    s.log.append(1)
    raise KeyError("half way")


def numbers(value):
    if isinstance(value, torch.Tensor):
        return (value.detach().tolist(), value.requires_grad, value.dtype, value.stride())
    if isinstance(value, list | tuple):
        return [numbers(each) for each in value]
    return value


def behaviour(function, program):
    return behaviour_of(torch, function, program, State(), numbers)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def assert_as_plain(program):
    plain, seen = behaviour(program, program), behaviour(torch.compile(program), program)
    for number, (one, other) in enumerate(zip(plain, seen, strict=True)):
        assert close(one, other), (number, one, other)


def by_name(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)


@by_name(CAPTURED)
def test_one_graph(program):
    assert_as_plain(program)
    assert not torch._dynamo.utils.counters["graph_break"]
    # Another one where gradients are there, or what was computed from them.
    assert 1 <= torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 3


@by_name(CAPTURED)
def test_the_whole_function(program):
    plain = behaviour(program, program)
    assert close(plain, behaviour(torch.compile(program, fullgraph=True), program))


@by_name(CAPTURED)
def test_with_the_graph_run_by_a_callable(program):
    def backend(module, inputs):
        return module.forward

    plain = behaviour(program, program)
    assert close(plain, behaviour(torch.compile(program, backend=backend), program))


@by_name(BROKEN)
def test_breaks(program):
    assert_as_plain(program)
    assert torch._dynamo.utils.counters["graph_break"]


@by_name(RAISING)
def test_errors(program):
    assert_as_plain(program)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_with_a_history_are_added():
    def program(s):
        s.a.grad = s.b.grad = None
        torch.autograd.backward((s.a**3 * s.b).sum(), create_graph=True)
        torch.autograd.backward((s.a.exp() * s.x).sum(), create_graph=True, inputs=[s.a])
        (product,) = torch.autograd.grad((s.a.grad * s.x).sum(), s.a, retain_graph=True)
        flags = s.a.grad.requires_grad, s.b.grad.requires_grad
        s.b.grad = s.b.grad.detach()
        s.a.grad, kept = None, s.a.grad
        return product, kept, flags

    # Eager code warns of the first one.
    program(State())
    assert_as_plain(program)
    assert not torch._dynamo.utils.counters["graph_break"]


def changed_after(program, change):
    """What two calls see before a change and two behind it."""

    def run(function):
        state, seen = State(), []
        for number in range(4):
            if number == 2:
                change(state)
            try:
                seen.append(numbers(function(state)))
            except Exception as error:
                seen.append((type(error), str(error)))
            seen.append([(numbers(leaf), numbers(leaf.grad)) for leaf in state.leaves()] + list(state.log))
        return seen

    return run(program), run(torch.compile(program))


def scales_gradients(state):
    for leaf in state.leaves():
        if leaf.grad is not None:
            leaf.grad = leaf.grad * 2


def hook_of_the_node(state):
    node = (state.a * 1).grad_fn.next_functions[0][0]
    state.log.append(node)
    node.register_hook(lambda of_operands, of_results: state.log.append(2))


CHANGES = {
    "a hook of a leaf": lambda s: s.a.register_hook(lambda gradient: gradient * 3),
    "a hook behind the accumulation": lambda s: s.a.register_post_accumulate_grad_hook(lambda leaf: s.log.append(1)),
    "a frozen leaf": lambda s: s.a.requires_grad_(False),
    "all frozen": lambda s: [leaf.requires_grad_(False) for leaf in s.leaves()],
    "another leaf": lambda s: setattr(s, "a", s.b.detach().clone().requires_grad_()),
    "a leaf that was computed": lambda s: setattr(s, "a", s.b * 2),
    "both the same": lambda s: setattr(s, "a", s.b),
    "other gradients": scales_gradients,
    "no gradients": lambda s: [setattr(leaf, "grad", None) for leaf in s.leaves()],
    "an expanded gradient": lambda s: setattr(s.a, "grad", torch.ones((), dtype=torch.float64).expand(3, 4)),
    "a gradient with a history": lambda s: setattr(s.a, "grad", s.b * 2),
    "the gradient is another leaf": lambda s: setattr(s.a, "grad", s.x),
    "both have one gradient": lambda s: (setattr(s.a, "grad", s.x), setattr(s.b, "grad", s.x)),
    "another size": lambda s: [
        setattr(s, name, torch.ones(2, 4, dtype=torch.float64).requires_grad_()) for name in ("a", "b")
    ],
}


@pytest.mark.parametrize("program", [sums_up, updates_by_hand, gradients_alone, two_of_them], ids=lambda p: p.__name__)
@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_noticed(program, change):
    plain, seen = changed_after(program, CHANGES[change])
    for one, other in zip(plain, seen, strict=True):
        assert close(one, other)


def test_a_hook_of_the_accumulation_is_noticed():
    def run(function):
        state = State()
        for number in range(3):
            if number == 2:
                hook_of_the_node(state)
            function(state)
        return state.log[1:], numbers(state.a.grad)

    assert close(run(sums_up), run(torch.compile(sums_up)))


def test_anomaly_mode_is_noticed():
    compiled = torch.compile(sums_up)
    state = State()
    compiled(state)
    state.a.data.fill_(float("nan"))
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan values"):
        compiled(state)


def test_a_gradient_keeps_its_object():
    state = State()
    compiled = torch.compile(sums_up)
    compiled(state)
    gradient = state.a.grad
    compiled(state)
    assert state.a.grad is gradient
