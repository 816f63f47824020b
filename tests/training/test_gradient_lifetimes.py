"""What backward() leaves behind: memory, cycles, interrupted runs."""

import gc
import signal
import sys
import weakref
from pathlib import Path

import pytest

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)

from alarm import alarm  # noqa: E402
from resident_memory import MEGABYTE, needs_proc, settled_growth  # noqa: E402

import minidynamo as md  # noqa: E402
import minidynamo.autograd  # noqa: E402


def chain(x):
    (x.sin() * x.exp()).sum().backward()


def written_view(x):
    y = x * 2
    y[:1].mul_(3)
    v = y[1:]
    y.add_(1)
    (v * v).sum().backward()


def written_by_its_own_result(x):
    y = x * 2
    y.mul_((y * 2).exp())
    y.add_(y.exp())
    y.sum().backward()


def plain_tensor_written(x):
    t = md.zeros(3)
    t[1:] = x
    rows = t.unsqueeze(0).expand(2, 3)
    (rows * t).sum().backward()


def without_backward(x):
    y = x * 2
    y[:1] = y[1:] * y[1:]
    del y


def twice(x):
    (g,) = md.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    g.square().sum().backward()


def retained(x):
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    z = y.exp().sum()
    z.backward(retain_graph=True)
    z.backward()


def refused(x):
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def hook_raises(x):
    y = x * 2
    y.register_hook(lambda g: [][0])
    with pytest.raises(IndexError):
        y.sum().backward()


STEPS = [
    chain,
    written_view,
    written_by_its_own_result,
    plain_tensor_written,
    without_backward,
    twice,
    retained,
    refused,
    hook_raises,
]


@needs_proc
@pytest.mark.counts_python_runs
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_memory_stays(step):
    x = md.tensor([1.0, 2.0], requires_grad=True)

    def run(_):
        x.grad = None
        step(x)

    assert settled_growth(run, 5_000, 500) < MEGABYTE


@needs_proc
@pytest.mark.counts_python_runs
@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_memory_stays_for_long(step):
    x = md.tensor([1.0, 2.0], requires_grad=True)

    def run(_):
        x.grad = None
        step(x)

    assert settled_growth(run, 20_000, 2_000) < MEGABYTE


@pytest.mark.counts_python_runs
@pytest.mark.parametrize(
    "step", [chain, written_view, written_by_its_own_result, plain_tensor_written, twice], ids=lambda s: s.__name__
)
def test_tensors_die_without_the_collector(step):
    """No cycle holds the leaf: nodes, views and written tensors are freed by their counts."""

    class Leaf(md.Tensor):
        pass

    gc.disable()
    try:
        x = md.tensor([1.0, 2.0], requires_grad=True)
        values = md.tensor([1.0, 2.0])
        whole = x * values
        died = weakref.ref(whole)
        del whole
        assert died() is None
        step(x)
        y = x * 2
        died = weakref.ref(y)
        step(y.detach().requires_grad_())
        del y
        assert died() is None
    finally:
        gc.enable()


def test_long_chains_are_freed_and_run_without_recursion():
    x = md.ones(1, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y
    y = x
    for _ in range(200_000):
        y = y * 1
    del y


def test_gradient_of_one_leaf_is_not_shared():
    """A gradient that two leaves get is not one memory that a later sum changes for both."""
    a, b = md.ones(2, requires_grad=True), md.ones(2, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert b.grad.tolist() == [1.0, 1.0]
    c = md.ones(2, requires_grad=True)
    given = md.ones(2)
    (c * 1).backward(given)
    c.grad.mul_(5)
    assert given.tolist() == [1.0, 1.0]


@pytest.mark.counts_python_runs
def test_an_interrupt_ends_backward():
    x = md.ones(128, 128, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = (y @ x) * 0.01
    loss = y.sum()
    with alarm(0.1, signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        loss.backward()
    assert x.grad is None
    # The process computes gradients as before.
    z = md.ones(2, requires_grad=True)
    z.exp().sum().backward()
    assert md.is_grad_enabled() and z.grad is not None


def test_modes_are_restored_behind_an_error():
    x = md.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: [][0])
    with pytest.raises(IndexError):
        y.sum().backward()
    assert md.is_grad_enabled()
    assert (x * 2).requires_grad


# Functions of four numbers, and their gradients. The gradient of sum() is one number, expanded: nothing may be added to
# it in place.
SUMS = {
    "sum first": (lambda x: (x * x).sum() + x.sum(), lambda v: 2 * v + 1),
    "sum last": (lambda x: x.sum() + (x * x).sum(), lambda v: 2 * v + 1),
    "a multiple first": (lambda x: (x * x).sum() + x.sum() * 6, lambda v: 2 * v + 6),
    "two multiples": (lambda x: (x * x).sum() + x.sum() * 2 + x.sum() * 3, lambda v: 2 * v + 5),
    "a multiple alone": (lambda x: x.sum() * 6, lambda v: 6),
    "of rows": (lambda x: x.expand(3, 4).sum() + (x * x).expand(3, 4).sum() + x.sum(), lambda v: 6 * v + 4),
    "of a slice": (lambda x: x[:4].sum() + (x[:4] * x).sum(), lambda v: 2 * v + 1),
}


@pytest.mark.parametrize("is_leaf", [True, False], ids=["leaf", "computed"])
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("name", SUMS)
def test_gradients_that_are_one_number(name, calls, is_leaf):
    program, slope = SUMS[name]
    x = md.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    for _ in range(calls):
        program(x if is_leaf else x * 1).backward()
    assert x.grad.tolist() == [calls * slope(v) for v in [1.0, 2.0, 3.0, 4.0]]
    x.grad.add_(1)
    assert x.grad.tolist() == [calls * slope(v) + 1 for v in [1.0, 2.0, 3.0, 4.0]]


def test_nothing_is_added_in_place_to_an_expanded_gradient():
    x = md.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    x.grad = md.tensor([6.0]).expand(4)
    (x * x).sum().backward()
    assert x.grad.tolist() == [8.0, 10.0, 12.0, 14.0]


def test_a_hook_is_removed_where_it_was_put():
    """A write in place gives the tensor another node; the hook is at the former one."""
    x = md.ones(3, requires_grad=True)
    y = x * 2
    seen = []
    handle = y.register_hook(seen.append)
    y.mul_(3)
    handle.remove()
    y.sum().backward()
    assert not seen and x.grad.tolist() == [6.0] * 3


def test_views_of_a_tensor_that_is_written():
    """A view noted again as a view of another tensor leaves the list of the first one."""
    base = md.zeros(1000)
    views = [base[i : i + 2] for i in range(900)]
    base.add_(md.ones(1000, requires_grad=True))
    assert all(view.requires_grad for view in views)
    del views
    base.mul_(2)
    base.sum().backward()
