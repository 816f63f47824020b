"""Where histories of compiled regions end: at what is detached in them, and what a program may write afterwards."""

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")

LIBRARIES = {"torch": torch, "minidynamo": minidynamo}
break_here = minidynamo._dynamo.graph_break


def numbers(lib, *sizes):
    count = 1
    for size in sizes:
        count *= size
    return lib.tensor([0.1 * (number % 7) - 0.25 for number in range(count)]).reshape(sizes)


def hidden_state(lib, compiles):
    """The history of the state before is freed: it is not gone back to."""
    w = numbers(lib, 3, 3).requires_grad_()

    def step(state):
        state = (state.detach() @ w + 0.1).tanh()
        loss = state.square().sum()
        break_here()
        loss.backward()
        return loss, state

    step = minidynamo.compile(step) if compiles else step
    state, losses = numbers(lib, 2, 3), []
    for _ in range(3):
        loss, state = step(state)
        losses.append(loss.item())
    return losses, w.grad.tolist()


def half_detached(lib, compiles):
    """Of two arguments with a history one is gone back to."""
    w = numbers(lib, 3, 3).requires_grad_()

    def step(kept, given):
        return kept.detach() * given

    step = minidynamo.compile(step) if compiles else step
    kept, given = (w * 2).exp(), (w * 3).sin()
    kept.sum().backward()
    result = step(kept, given)
    result.sum().backward()
    return result.tolist(), w.grad.tolist()


def without_slope(lib, compiles):
    """A result that goes back to an argument without a slope requires grad, too."""
    w = numbers(lib, 3).requires_grad_()
    step = minidynamo.compile(lambda x: x.floor()) if compiles else (lambda x: x.floor())
    result = step(w * 2)
    result.sum().backward()
    return result.tolist(), result.requires_grad, w.grad.tolist()


def copied_queue(lib, compiles):
    """What the backward reads is the copy, not what was copied and is written."""
    queue, w = numbers(lib, 3, 4), numbers(lib, 2, 3).requires_grad_()

    def step():
        scores = w @ queue.clone().detach()
        break_here()
        queue[0] = 2.0
        scores.square().sum().backward()
        return scores

    step = minidynamo.compile(step) if compiles else step
    results = [step().tolist() for _ in range(2)]
    return results, w.grad.tolist(), queue.tolist()


def copied_view(lib, compiles):
    queue, w = numbers(lib, 4, 3), numbers(lib, 2, 3).requires_grad_()

    def step():
        scores = w * queue[1:3].clone().view(2, 3)
        break_here()
        queue.zero_()
        scores.sum().backward()

    (minidynamo.compile(step) if compiles else step)()
    return w.grad.tolist()


def written_argument(lib, compiles):
    """What is written to an argument and then read with a history is kept as it is after the write."""
    w = numbers(lib, 2, 3).requires_grad_()

    def step(x, y, z):
        x.relu_()
        y.mul_(2).add_(1)
        z[0].sub_(1)
        return lib.maximum(w, x) * y + w * z, y

    step = minidynamo.compile(step) if compiles else step
    given = [numbers(lib, 2, 3), numbers(lib, 3), numbers(lib, 2, 3)]
    for _ in range(2):
        result, _ = step(*given)
        result.sum().backward()
    return [each.tolist() for each in (*given, result, w.grad)], [each._version for each in given]


def written_argument_behind_a_break(lib, compiles):
    w = numbers(lib, 2, 3).requires_grad_()

    def step(x):
        x.sub_(0.5)
        scores = w * x
        break_here()
        return scores.sum()

    step = minidynamo.compile(step) if compiles else step
    x = numbers(lib, 2, 3)
    step(x).backward()
    return x.tolist(), x._version, w.grad.tolist()


def repeated_result(lib, compiles):
    """A result that repeats elements may be written to in part."""
    w = numbers(lib, 2, 3).requires_grad_()
    step = lambda: (w * 2).sin().unsqueeze(0).expand(2, 2, 3)
    result = (minidynamo.compile(step) if compiles else step)()
    result[0] = 0.5
    result.square().sum().backward()
    return result.tolist(), w.grad.tolist()


def parts_of_a_result(lib, compiles):
    """Written to in turn, also where they overlap or have other strides."""
    gradients = []
    cuts = [
        lambda y: (y[:4], y[2:]),
        lambda y: (y[:3], y[3:]),
        lambda y: (y.view(2, 3).t(), y),
        lambda y: (y.view(2, 3).t()[1:], y.view(3, 2), y[1]),
        lambda y: (y[1:3].expand(2, 2), y[0]),
        lambda y: (y[::2], y.view(2, 3)[:, 1], y * 2),
    ]
    for cut in cuts:
        w = numbers(lib, 6).requires_grad_()
        step = lambda: cut((w * 2).sin())
        parts = (minidynamo.compile(step) if compiles else step)()
        parts[0][0].mul_(3) if parts[0].dim() > 1 else parts[0].mul_(3)
        loss = sum((each * each).sum() for each in parts)
        loss.backward()
        gradients.append((loss.item(), w.grad.tolist()))
    return gradients


CASES = [
    parts_of_a_result,
    hidden_state,
    half_detached,
    without_slope,
    copied_queue,
    copied_view,
    written_argument,
    written_argument_behind_a_break,
    repeated_result,
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", CASES)
def test_as_plain(case, library):
    lib = LIBRARIES[library]
    assert near(case(lib, True), case(lib, False))


def near(found, expected):
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(near, found, expected))
    return found == (pytest.approx(expected, rel=1e-5, abs=1e-6) if isinstance(expected, float) else expected)
