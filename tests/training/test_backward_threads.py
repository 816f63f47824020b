"""backward() from several threads, on graphs of their own and on one that they share."""

import threading

import pytest

import minidynamo


def in_threads(count, run):
    errors = []

    def guarded(index):
        try:
            run(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_graphs_of_their_own():
    leaves = [minidynamo.full((8,), float(index), requires_grad=True) for index in range(4)]

    def run(index):
        x = leaves[index]
        for _ in range(20):
            y = x
            for _ in range(10):
                y = y * x
            y.sum().backward()

    assert not in_threads(4, run)
    for index, x in enumerate(leaves):
        assert x.grad.tolist() == [20 * 11 * float(index) ** 10] * 8


def test_one_leaf():
    x = minidynamo.ones(16, requires_grad=True)
    assert not in_threads(4, lambda index: [((x * x).sum() * (index + 1)).backward() for _ in range(25)])
    assert x.grad.tolist() == [2.0 * 25 * 10] * 16


def test_one_graph():
    x = minidynamo.ones(16, requires_grad=True)
    y = (x * x).exp().sum()
    assert not in_threads(4, lambda index: y.backward(retain_graph=True))
    alone = minidynamo.autograd.grad(y, x)[0]
    assert minidynamo.allclose(x.grad, alone * 4)


def test_one_graph_that_is_freed():
    x = minidynamo.ones(16, requires_grad=True)
    y = (x * x).exp().sum()
    errors = in_threads(4, lambda index: y.backward())
    assert len(errors) >= 1
    assert all(isinstance(error, RuntimeError) and "second time" in str(error) for error in errors)


def test_hooks_run_in_the_thread_of_the_backward():
    x = minidynamo.ones(4, requires_grad=True)
    seen = set()
    x.register_hook(lambda gradient: seen.add(threading.get_ident()))
    started = []

    def run(index):
        started.append(threading.get_ident())
        (x * 2).sum().backward()

    assert not in_threads(3, run)
    assert seen == set(started)


def test_saved_tensor_hooks_are_of_a_thread():
    packed = []
    x = minidynamo.ones(4, requires_grad=True)
    entered, left = threading.Event(), threading.Event()

    def run(index):
        if index == 0:
            with minidynamo.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
                entered.set()
                left.wait(20)
        else:
            entered.wait(20)
            x.exp()
            left.set()

    assert not in_threads(2, run)
    assert not packed


@pytest.mark.parametrize("depth", [1, 5, 40])
def test_backward_within_backward(depth):
    class Nested(minidynamo.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            if ctx.depth == 0:
                return gradient * 2, None
            inner = ctx.saved_tensors[0].detach().requires_grad_()
            with minidynamo.enable_grad():
                Nested.apply(inner, ctx.depth - 1).backward(gradient)
            return inner.grad, None

    x = minidynamo.ones(3, requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    assert x.grad.tolist() == [2.0] * 3
