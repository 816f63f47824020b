"""Tensors that a function over torch's tensors makes leaves itself, by requires_grad_(): forces at copies of positions,
penalties at mixed points. They are leaves of the region's graph while they stay in it; where they are kept, it breaks."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

autograd = torch.autograd
pytestmark = pytest.mark.usefixtures("in_float64")


class State:
    def __init__(self):
        torch.manual_seed(0)
        self.w = torch.rand(3, 4).sub(0.5).requires_grad_()
        self.x, self.y = torch.rand(3, 4), torch.rand(3, 4)
        self.model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.kept = None

    def tensors(self):
        return [self.w, self.x, self.y, *self.model.parameters()]


CAPTURED, BROKEN, OTHERS = [], [], []


def listed(programs):
    def enter(function):
        programs.append(function)
        return function

    return enter


captured, broken, other = listed(CAPTURED), listed(BROKEN), listed(OTHERS)


@captured
def forces_of_a_copy(s):
    p = s.x.clone().requires_grad_(True)
    energy = s.model(p).square().sum()
    (slope,) = autograd.grad(energy, p, create_graph=True)
    s.optimizer.zero_grad()
    loss = (-slope - s.y).square().mean() + energy
    loss.backward()
    s.optimizer.step()
    return loss, slope.detach()


@captured
def forces_of_what_is_detached(s):
    p = s.x.detach().requires_grad_()
    return autograd.grad(s.model(p).sum(), p)[0], p.requires_grad, p.is_leaf, p.grad_fn, p.grad


@captured
def a_penalty_at_mixed_points(s):
    point = (s.x * 0.3 + s.y * 0.7).requires_grad_(True)
    values = s.model(point)
    (slope,) = autograd.grad(values, point, torch.ones_like(values), create_graph=True, retain_graph=True)
    s.optimizer.zero_grad()
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    penalty.backward()
    s.optimizer.step()
    return penalty.detach()


@captured
def a_penalty_for_later(s):
    point = (s.x * 0.3 + s.y * 0.7).requires_grad_(True)
    (slope,) = autograd.grad(s.model(point).sum(), point, create_graph=True)
    return (slope.norm(2, dim=1) - 1).square().mean()


@captured
def its_gradient(s):
    p = s.x.detach().clone().requires_grad_()
    (p * s.w).exp().sum().backward()
    (p * s.w).sin().sum().backward()
    return p.grad * 2


@captured
def its_gradient_alone(s):
    p = (s.x + 1).requires_grad_()
    p.square().sum().backward(inputs=[p])
    return p.grad


@captured
def its_gradient_with_a_history(s):
    p = s.x.t().clone().requires_grad_()
    (p**3 * s.w.t()).sum().backward(create_graph=True, inputs=[p])
    p.grad.square().sum().backward(inputs=[s.w])
    return p.grad.detach()


@captured
def several_steps(s):
    p = s.x.clone()
    for _ in range(3):
        p.requires_grad_()
        (slope,) = autograd.grad(s.model(p).sum(), p)
        p = (p - 0.1 * slope.sign()).detach()
    return p


@captured
def of_a_part_of_a_history(s):
    y = (s.w * 2).detach().requires_grad_()
    (slope,) = autograd.grad((y * s.w).exp().sum(), y, create_graph=True)
    slope.sum().backward()
    return slope.detach()


@captured
def where_grad_mode_is_off(s):
    with torch.no_grad():
        p = (s.x * 2).requires_grad_()
        q = p * 3
    return autograd.grad((p * p + q).sum(), p)[0], q.requires_grad


@captured
def set_again(s):
    p = s.x.clone().requires_grad_().requires_grad_(True)
    s.w.requires_grad_()
    s.y.requires_grad_(requires_grad=False)
    return autograd.grad((p * s.w).sin().sum(), [p, s.w])


@broken
def returned(s):
    p = s.x.clone().requires_grad_()
    (p * p).sum().backward()
    return p


@broken
def stored(s):
    s.kept = s.x.detach().requires_grad_()
    (s.kept * s.kept).sum().backward()
    return s.kept.grad


@broken
def a_view_of_it_is_returned(s):
    p = s.x.detach().requires_grad_()
    (slope,) = autograd.grad((p * p).sum(), p)
    return slope, p.detach()


@broken
def a_result_of_it_alone(s):
    p = s.x.clone().requires_grad_()
    return (p * p).sum()


@broken
def its_memory_is_written(s):
    z = s.x * 2
    p = z.detach().requires_grad_()
    q = p * p
    z.add_(1)
    return autograd.grad((p * 2 + q.detach()).sum() + (p * s.w).sum(), p)


@broken
def live_at_a_break(s):
    p = s.x.clone().requires_grad_()
    loss = (p * s.w).sin().sum()
    minidynamo._dynamo.graph_break()
    return autograd.grad(loss, p)


@broken
def an_argument(s):
    s.x.requires_grad_()
    (slope,) = autograd.grad((s.x * s.w).sin().sum(), s.x)
    s.x.requires_grad_(False)
    return slope


@broken
def cleared(s):
    p = s.x.clone().requires_grad_()
    (slope,) = autograd.grad((p * s.w).sin().sum(), p)
    p.requires_grad_(False)
    return slope, p * 2


# Made by torch; then the rest is captured.
@other
def written(s):
    p = s.x.clone().requires_grad_()
    with torch.no_grad():
        p.mul_(2)
    return autograd.grad((p * p).sum(), p)


@other
def of_integers(s):
    return s.x.long().requires_grad_()


@other
def written_while_grad_mode_is_on(s):
    p = s.x.clone().requires_grad_()
    p.mul_(2)


@other
def cleared_where_it_was_computed(s):
    p = s.w * 2
    p.requires_grad_(False)


@other
def not_a_flag(s):
    s.x.clone().requires_grad_("yes")


def facts(value):
    if isinstance(value, torch.Tensor):
        flags = (value.requires_grad, value.is_leaf, value.grad_fn is None, value.stride())
        return value.detach().clone(), torch.tensor([hash(flag) for flag in flags])
    if isinstance(value, list | tuple):
        return [facts(each) for each in value]
    return value


def behaviour(function, calls=3):
    """Results, what a later backward does with them, gradients and versions of some calls."""
    state, seen, errors = State(), [], []
    for _ in range(calls):
        result = None
        try:
            result = function(state)
        except Exception as error:
            errors.append((type(error), str(error)))
        seen.append(facts(result))
        for each in result if isinstance(result, tuple) else (result,):
            if not isinstance(each, torch.Tensor) or not each.requires_grad:
                continue
            try:
                each.sum().backward()
            except RuntimeError as error:
                errors.append(str(error))
        tensors = [each for each in (*state.tensors(), state.kept) if each is not None]
        seen += [facts(tensors), facts([each.grad for each in tensors]), [each._version for each in tensors]]
    return seen, errors


def assert_as_plain(program, **options):
    (expected, errors), (found, found_errors) = behaviour(program), behaviour(minidynamo.compile(program, **options))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert errors == found_errors


def by_name(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)


@by_name(CAPTURED)
def test_one_graph(program):
    assert _C.record_breaks(lambda: assert_as_plain(program)) == []
    assert_as_plain(program, fullgraph=True)


@by_name(BROKEN)
def test_breaks(program):
    assert _C.record_breaks(lambda: assert_as_plain(program))


@by_name(OTHERS)
def test_others(program):
    assert_as_plain(program)
