"""torch.autograd.grad and torch.autograd.backward, and the options of Tensor.backward, inside a function over torch's
tensors: they join its graph, or break it, and gradients, results, flags, errors and what a later backward does are torch's."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

sys.path.append(str(Path(__file__).parents[2] / "training"))
from gradient_behaviour import behaviour as behaviour_of  # noqa: E402
from gradient_behaviour import close  # noqa: E402

autograd, F = torch.autograd, torch.nn.functional
pytestmark = [pytest.mark.usefixtures("in_float64"), pytest.mark.filterwarnings("ignore:Using backward")]


class State:
    """Tensors and modules that a program uses."""

    def __init__(self):
        torch.manual_seed(0)
        self.a, self.b = (torch.rand(3, 4).sub(0.5).requires_grad_() for _ in range(2))
        self.t = torch.rand(4, 3).t().requires_grad_()
        self.s = torch.rand(()).requires_grad_()
        self.x, self.frozen = torch.rand(3, 4), torch.rand(3, 4)
        self.model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.log = []

    def leaves(self):
        return [self.a, self.b, self.t, self.s, self.x, self.frozen, *self.model.parameters()]


CAPTURED, BROKEN, RAISING = [], [], []


def listed(programs):
    def enter(function):
        programs.append(function)
        return function

    return enter


captured, broken, raising = listed(CAPTURED), listed(BROKEN), listed(RAISING)


# ---- one graph


@captured
def of_one(s):
    loss = (s.a * s.b).tanh().sum()
    (found,) = autograd.grad(loss, s.a)
    return loss, found * 2, found.is_leaf, found.requires_grad


@captured
def of_several(s):
    y = s.a * s.x
    return autograd.grad([y.sin().sum(), (y * s.b).exp().sum()], [s.a, y, s.b])


@captured
def at_iterators(s):
    return autograd.grad(iter([(s.a * s.b).sum(), s.t.sin().sum()]), (each for each in (s.a, s.t)))


@captured
def at_a_dict(s):
    found = autograd.grad(s.model(s.x).square().sum(), dict(s.model.named_parameters()))
    return list(found), tuple(found.values())


@captured
def given_gradients(s):
    y = s.a * s.b
    return autograd.grad([y.sin(), y.sum()], [s.a, y], [s.x, None]), autograd.grad(s.a.exp(), s.a, grad_outputs=s.x)


@captured
def given_a_gradient_of_another_dtype(s):
    return autograd.grad(s.a * s.b, s.a, s.x.float())


@captured
def retained(s):
    loss = (s.a * s.b).tanh().sum()
    (first,) = autograd.grad(loss, s.a, retain_graph=True)
    (second,) = autograd.grad(loss, s.b, retain_graph=True)
    loss.backward()
    return loss, first, second


@captured
def retained_and_kept(s):
    loss = (s.a * s.b).tanh().sum()
    return loss, autograd.grad(loss, s.a, retain_graph=True)


@captured
def unused(s):
    found = autograd.grad((s.a * s.a).sum(), [s.a, s.b, s.s], allow_unused=True)
    return found[0], found[1] is None, found[2]


@captured
def materialized(s):
    return autograd.grad((s.a * s.a).sum(), [s.a, s.b, s.t], materialize_grads=True)


@captured
def materialized_with_a_history(s):
    return autograd.grad((s.a * s.b).exp().sum(), [s.a, s.b], materialize_grads=True, create_graph=True)


@captured
def forces(s):
    s.model.zero_grad()
    energy = s.model(s.a).square().sum()
    force = -autograd.grad(energy, s.a, create_graph=True)[0]
    loss = F.mse_loss(force, s.x) + energy
    loss.backward()
    return loss.detach(), force.detach()


@captured
def a_step_on_forces(s):
    s.optimizer.zero_grad()
    s.a.requires_grad_(True)
    energy = s.model(s.a).square().sum()
    (slope,) = autograd.grad([energy], [s.a], create_graph=True, retain_graph=True)
    loss = (slope + s.x).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(s.model.parameters(), 0.5)
    s.optimizer.step()
    return loss


@captured
def a_gradient_penalty(s):
    s.model.zero_grad()
    point = (s.a * 0.3 + s.x * 0.7).requires_grad_(True)
    values = s.model(point)
    slope = autograd.grad(
        outputs=values, inputs=point, grad_outputs=torch.ones_like(values), create_graph=True, retain_graph=True
    )[0]
    penalty = ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean() * 10
    (penalty - values.mean()).backward()
    return penalty.detach()


@captured
def returned_with_a_history(s):
    y = (s.a * s.b).sin()
    first, second = autograd.grad(y.square().sum(), (s.a, s.b), create_graph=True)
    return y, first, second.exp(), first.is_leaf


@captured
def without_a_history_in_spite_of_create_graph(s):
    (found,) = autograd.grad((s.a * s.x).sum(), s.a, create_graph=True)
    return found.requires_grad, found.is_leaf, found + 1


@captured
def third_gradients(s):
    g = s.s * 2
    for _ in range(3):
        (g,) = autograd.grad((g.sin() * s.s.exp()).sum(), s.s, create_graph=True)
    g.backward()
    return g


@captured
def a_product_with_the_hessian(s):
    (slope,) = autograd.grad((s.a.exp() * s.b.sin()).sum(), s.a, create_graph=True)
    return autograd.grad((slope * s.x).sum(), [s.a, s.b])


@captured
def a_step_within_a_step(s):
    inner = ((s.a * s.x).tanh() - s.frozen).square().mean()
    (slope,) = autograd.grad(inner, s.a, create_graph=True)
    outer = ((s.a - 0.1 * slope) * s.b).square().sum()
    outer.backward()
    return inner.detach(), outer.detach()


@captured
def some_with_a_history_and_some_without(s):
    y = (s.a * s.b).sin().sum()
    (plain,) = autograd.grad(y, s.a, retain_graph=True)
    (recorded,) = autograd.grad(y, s.a, create_graph=True)
    (plain * recorded).sum().backward()
    return plain.requires_grad, recorded.requires_grad


@captured
def under_a_mode(s):
    with torch.no_grad():
        with torch.enable_grad():
            loss = (s.a * s.b).exp().sum()
        return autograd.grad(loss, s.a)


@captured
def gradients_that_are_views(s):
    k = s.model[0].bias
    found = autograd.grad((s.x.sum(1) - k[:3, None]).square().sum() + s.s.exp(), [k, s.s])
    return found, autograd.grad((s.a.t().exp() * s.x.t()).sum(), s.a), autograd.grad((s.t * s.x).exp().sum(), s.t)


@captured
def descends_by_hand(s):
    (slope,) = autograd.grad((s.a * s.b - s.x).square().mean(), s.a)
    with torch.no_grad():
        s.a.sub_(slope, alpha=0.1)
    return autograd.grad((s.a * s.b).square().sum(), s.b)


@captured
def backward_of_several(s):
    autograd.backward([(s.a * s.x).square().sum(), s.b.exp() * s.x], [None, s.frozen])


@captured
def backward_of_one(s):
    autograd.backward((s.a * s.t).exp().sum(), retain_graph=None)
    return s.a.grad * 2


@captured
def backward_of_one_with_its_gradient(s):
    autograd.backward(s.a * s.t, s.x)


@captured
def at_given_inputs(s):
    loss = (s.a * s.b).tanh().sum()
    autograd.backward([loss], inputs=[s.a, s.t, s.a], retain_graph=True)
    loss.backward(inputs=s.b, retain_graph=True)
    return loss, s.t.grad


@captured
def at_given_parameters(s):
    s.optimizer.zero_grad()
    loss = F.mse_loss(s.model(s.a), s.x[:, :2])
    loss.backward(inputs=dict(s.model[2].named_parameters()))
    s.optimizer.step()
    return loss.detach()


@captured
def at_a_leaf_of_another_layout(s):
    s.t.grad = None
    (s.t * s.x * s.a).exp().sum().backward(inputs=(s.t,))
    return s.t.grad.stride()


@captured
def retains_in_backward(s):
    loss = (s.a * s.b).sum()
    loss.backward(retain_graph=True)
    loss.backward(s.s.detach(), True)
    return loss


@captured
def creates_in_backward(s):
    for leaf in (s.a, s.b, s.t):
        leaf.grad = None
    (s.a * s.b * s.t).exp().sum().backward(create_graph=True)
    flags = [leaf.grad.requires_grad for leaf in (s.a, s.b, s.t)], s.t.grad.stride()
    (product,) = autograd.grad((s.a.grad * s.x).sum() + s.t.grad.square().sum(), s.b)
    s.a.grad = s.b.grad = s.t.grad = None
    return product, flags


@captured
def creates_and_keeps(s):
    s.a.grad = None
    autograd.backward((s.a**3 * s.b).sum(), create_graph=True, inputs=[s.a])
    return s.a.grad, s.a.grad.is_leaf


@captured
def creates_and_adds(s):
    s.a.grad = s.x
    (s.a**3).sum().backward(create_graph=True)
    (s.a.exp() * s.b).sum().backward(create_graph=True, inputs=[s.a])
    found, s.a.grad = s.a.grad, None
    return found, found is s.x


# ---- breaks


@broken
def creates_without_grad_mode(s):
    y = (s.a**3).sum()
    with torch.no_grad():
        return autograd.grad(y, s.a, create_graph=True)


@broken
def in_batches(s):
    y = (s.a * s.b).exp()
    return autograd.grad(y[0], s.a, torch.eye(4), is_grads_batched=True)


@broken
def in_batches_at_a_computed_tensor(s):
    y = s.a * s.b
    return autograd.grad(y.exp().sum(), y, torch.ones(2), is_grads_batched=True)


@broken
def at_a_computed_tensor_with_one_memory(s):
    y, z = s.a * 2, s.b * 3
    g, h = autograd.grad(((y + z) * s.x).sum(), [y, z])
    g.mul_(2)
    return g, h


@broken
def expanded(s):
    return autograd.grad(s.a.sum(), s.a)


@broken
def with_itself(s):
    y = s.a * 2
    return autograd.grad(y, y, s.x)


@broken
def into_a_computed_tensor(s):
    y = s.a * 2
    (y * s.b).tanh().sum().backward(inputs=[y])
    return y.grad


@broken
def zeros_with_a_flag(s):
    y = s.a * 2
    return autograd.grad((s.a * s.a).sum(), [s.a, s.b, y], materialize_grads=True, create_graph=True)


@broken
def by_edges(s):
    y = s.a * s.b
    edge = autograd.graph.get_gradient_edge(y)
    return autograd.grad(y.exp().sum(), edge)


@broken
def by_an_old_name(s):
    with warnings.catch_warnings(record=True) as caught:
        autograd.backward([s.a * s.b], grad_variables=[s.x])
    return len(caught)


@broken
def with_a_hook_of_a_leaf(s):
    if not s.log:
        s.a.register_hook(lambda gradient: gradient * 2)
    s.log.append(0)
    return autograd.grad((s.a * s.b).tanh().sum(), [s.a, s.b])


@broken
def gradients_through_the_outside(s):
    loss = (s.a * s.b).tanh().sum()
    minidynamo._dynamo.graph_break()
    return autograd.grad(loss, (s.a, s.b))


@broken
def at_a_computed_input(s):
    y = s.a * 2
    minidynamo._dynamo.graph_break()
    return autograd.grad((y * s.b).tanh().sum(), y, create_graph=True)


@broken
def in_anomaly_mode(s):
    with autograd.set_detect_anomaly(True, check_nan=False):
        return autograd.grad((s.a * s.b).tanh().sum(), s.a)


@broken
def under_hooks_of_saved_tensors(s):
    with autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2):
        return autograd.grad((s.a * s.b).tanh().sum(), s.a)


@broken
def keeps_half_a_history(s):
    loss = s.model(s.a).tanh().sum()
    loss.backward(inputs=list(s.model[2].parameters()))
    return loss


# ---- errors


@raising
def of_no_scalar(s):
    return autograd.grad(s.a * s.b, s.a)


@raising
def of_no_scalar_among_others(s):
    autograd.backward([(s.a * s.b).sum(), s.a * s.b])


@raising
def of_what_needs_none(s):
    return autograd.grad((s.x * s.frozen).sum(), s.a)


@raising
def at_what_needs_none(s):
    return autograd.grad((s.a * s.x).sum(), [s.a, s.x])


@raising
def into_what_needs_none(s):
    (s.a * s.x).sum().backward(inputs=[s.x])


@raising
def at_nothing(s):
    return autograd.grad((s.a * s.x).sum(), [])


@raising
def into_nothing(s):
    (s.a * s.x).sum().backward(inputs=())


@raising
def unused_leaf(s):
    return autograd.grad((s.a * s.a).sum(), [s.a, s.b])


@raising
def unused_computed_tensor(s):
    y, z = s.a * 2, s.b * 2
    return autograd.grad((y * y).sum(), [y, z])


@raising
def unused_and_materialized(s):
    return autograd.grad((s.a * s.a).sum(), [s.a], allow_unused=False, materialize_grads=True)


@raising
def of_another_shape(s):
    return autograd.grad(s.a * s.b, s.a, s.x[:2])


@raising
def of_another_shape_among_others(s):
    autograd.backward([(s.a * s.b).sum(), s.b * 2], [None, s.x[0]])


@raising
def too_few_gradients(s):
    autograd.backward([s.a * 2, s.b * 2], [s.x])


@raising
def a_number_for_a_gradient(s):
    autograd.backward(s.a * 2, [1.0])


@raising
def a_number_for_a_tensor(s):
    return autograd.grad(1.0, s.a)


@raising
def numbers_for_tensors(s):
    autograd.backward([1.0])


@raising
def a_text_for_a_flag(s):
    return autograd.grad((s.a * s.b).sum(), s.a, create_graph="yes")


@raising
def nothing_for_a_flag(s):
    (s.a * s.b).sum().backward(create_graph=None)


@raising
def an_unknown_option(s):
    return autograd.grad((s.a * s.b).sum(), s.a, retain=True)


@raising
def too_many_arguments(s):
    (s.a * s.b).sum().backward(None, None, False, None, None)


@raising
def a_second_time(s):
    loss = (s.a * s.b).sum()
    autograd.grad(loss, s.a)
    s.log.append(1)
    return autograd.grad(loss, s.b)


@raising
def half_way(s):
    s.a.grad = None
    (slope,) = autograd.grad((s.a * s.b).tanh().sum(), s.a, create_graph=True)
    slope.sum().backward()
    s.log.append(slope.detach())
    raise KeyError("half way")


def facts(value):
    if isinstance(value, torch.Tensor):
        flags = (value.requires_grad, value.is_leaf, value.grad_fn is None, value.dtype, value.stride(), type(value))
        return value.detach().tolist(), flags
    if isinstance(value, list | tuple):
        return [facts(each) for each in value]
    return value


def behaviour(function, program):
    return behaviour_of(torch, function, program, State(), facts)


def assert_as_plain(program, **options):
    plain, seen = behaviour(program, program), behaviour(minidynamo.compile(program, **options), program)
    for number, (one, other) in enumerate(zip(plain, seen, strict=True)):
        assert close(one, other), (number, one, other)


def by_name(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)


@by_name(CAPTURED)
@pytest.mark.counts_regions
def test_one_graph(program):
    assert _C.record_breaks(lambda: assert_as_plain(program)) == []
    # Another one where gradients are there, or the state of an optimizer.
    assert 1 <= minidynamo._dynamo.utils.counters["stats"]["unique_graphs"] <= 3


@by_name(CAPTURED)
def test_the_whole_function(program):
    assert_as_plain(program, fullgraph=True)


@by_name(CAPTURED)
def test_with_the_graph_run_by_a_callable(program):
    # Gradients of gradients are computed inside of the graph; results with a history of their own have none.
    if program in (returned_with_a_history, creates_and_keeps, third_gradients):
        pytest.skip("what is kept has a history")
    assert_as_plain(program, backend=lambda module, inputs: module.forward)


@by_name(BROKEN)
def test_breaks(program):
    assert _C.record_breaks(lambda: assert_as_plain(program))


@by_name(RAISING)
def test_errors(program):
    assert_as_plain(program)


def test_a_product_of_a_transposed_leaf():
    def f(x, w):
        return autograd.grad((x @ w.t()).tanh().sum(), w)[0]

    state = State()
    given = state.x, state.model[0].weight
    found = minidynamo.compile(f, fullgraph=True)(*given)
    # It may lie in another order.
    torch.testing.assert_close(found, f(*given), rtol=1e-12, atol=1e-12)


def test_reasons():
    state = State()
    for program in (creates_without_grad_mode, in_batches, expanded, into_a_computed_tensor, by_an_old_name):
        minidynamo._dynamo.reset()
        found = _C.record_breaks(lambda program=program: minidynamo.compile(program)(state))
        assert "MD0070" in [each["id"] for each in found], program.__name__


@pytest.mark.parametrize("program", [of_one, forces, at_given_inputs], ids=lambda program: program.__name__)
def test_a_hook_is_noticed(program):
    def run(function):
        state, seen = State(), []
        for number in range(4):
            if number == 2:
                state.a.register_hook(lambda gradient: gradient * 3)
            seen += [facts(function(state)), facts(state.a.grad)]
        return seen

    assert close(run(program), run(minidynamo.compile(program)))


def test_one_tensor_at_two_places():
    def run(function):
        state, seen = State(), []
        for number in range(4):
            if number == 2:
                state.b = state.a
            seen += [facts(function(state)), facts(state.a.grad), facts(state.b.grad)]
        return seen

    for program in (of_one, at_given_inputs, a_product_with_the_hessian):
        minidynamo._dynamo.reset()
        assert close(run(program), run(minidynamo.compile(program)))


WARNED = """
import sys, warnings, torch, minidynamo

def f(w):
    try:
        w.exp().sum().backward(create_graph=True)
        w.grad, kept = None, w.grad.detach()
        return kept
    except UserWarning as warning:
        return str(warning)

function = minidynamo.compile(f) if sys.argv[1] == "compiled" else f
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter(sys.argv[2])
    results = [function(torch.ones(3, requires_grad=True)) for _ in range(4)]
print([(str(each.message), each.category, each.filename, each.lineno) for each in caught], results)
if sys.argv[1] == "compiled" and sys.argv[2] != "error":
    minidynamo.compile(f, fullgraph=True)(torch.ones(3, requires_grad=True))
"""


@pytest.mark.parametrize("action", ["always", "default", "ignore", "error"])
def test_the_warning_of_create_graph(action):
    def run(way):
        done = subprocess.run([sys.executable, "-c", WARNED, way, action], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("compiled") == run("plain")
