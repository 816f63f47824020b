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
