"""Tensors without a history that a compiled function makes and then writes something with a history to, over both
libraries: values, flags, versions and gradients as plain."""

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")

counters = minidynamo._dynamo.utils.counters
LIBRARIES = {"torch": torch, "minidynamo": minidynamo}


def in_turn(lib, w, x):
    out = lib.zeros(3, 4)
    for number in range(3):
        out[number] = (x * w[number]).tanh()
    return out


def columns(lib, w, x):
    out = lib.empty(4, 3)
    for number in range(3):
        out[:, number] = x * w[number]
    return out, out.requires_grad, out.is_leaf


def summed_at(lib, w, x):
    at = lib.tensor([0, 1, 0])
    return lib.zeros(2, 4).index_add_(0, at, w * x), lib.zeros(2, 4).scatter_add_(0, at[:, None].expand(3, 4), w)


def whole(lib, w, x):
    out = lib.zeros(3, 4)
    out.copy_(w)
    out.mul_(x)
    return out


def added(lib, w, x):
    total = lib.zeros(())
    for row in w:
        total += (row * x).sum()
    return total


def by_a_view(lib, w, x):
    out = lib.zeros(12)
    seen, first = out.view(3, 4), out[:4]
    seen[1:] = w[1:] * x
    return out, seen * 2, first.requires_grad, first * x


def masked(lib, w, x):
    out = lib.ones(3, 4)
    out[w > 0.5] = 0.25
    out[1] = w[1]
    return out * w


def without_history_again(lib, w, x):
    out = lib.zeros(3, 4)
    out[0] = w[0]
    with lib.no_grad():
        out[1] = 2.0
    return out[0] * x


def detached_before(lib, w, x):
    out = lib.zeros(3, 4)
    seen = out.detach()
    out[1] = w[1] * x
    return out, seen * 2, seen.requires_grad


def written_through_detached(lib, w, x):
    out = lib.zeros(3, 4)
    out.detach()[1] = w[1].detach()
    out[0] = w[0]
    return out


def gone_back(lib, w, x):
    out = lib.zeros(3, 4)
    out[1:] = w[:2] * x
    loss = out.square().sum()
    loss.backward()
    return loss


def at_an_argument(lib, w, x):
    place = x.clone()
    place[2] = w[0, 0]
    return place * w


def of_integers(lib, w, x):
    out = lib.zeros(3, 4, dtype=lib.int64)
    out.copy_(w * 3)
    return out, out.requires_grad


NO_BREAK = {each.__name__: each for each in (
    in_turn, columns, summed_at, whole, added, by_a_view, masked, detached_before, written_through_detached, gone_back,
    at_an_argument, of_integers,
)}  # fmt: skip


def into_detached(lib, w, x):
    out = lib.zeros(3, 4)
    seen = out.detach()
    seen[1] = w[1]
    return seen * x, out.requires_grad


def of_an_argument(lib, w, x):
    x[1] = w[0, 0]
    return x * w


OTHERS = {each.__name__: each for each in (
    without_history_again, into_detached, of_an_argument,
)}  # fmt: skip


def tensors_in(results):
    return [each for each in results if isinstance(each, (torch.Tensor, minidynamo.Tensor))]


def outcome(call, lib):
    w = lib.tensor([[0.1 * number + 0.3 * row for number in range(4)] for row in range(3)], requires_grad=True)
    x = lib.tensor([0.5, -1.0, 2.0, 0.25])
    try:
        results = call(lib, w, x)
        results = results if isinstance(results, tuple) else (results,)
        flowing = [each for each in tensors_in(results) if each.requires_grad and w.grad is None]
        if flowing:
            sum(each.square().sum() for each in flowing).backward()
    except RuntimeError as error:
        return (type(error),)
    numbers = []
    for each in results:
        is_tensor = isinstance(each, (torch.Tensor, minidynamo.Tensor))
        numbers.append((each.detach().tolist(), each.requires_grad, each._version) if is_tensor else each)
    return numbers, None if w.grad is None else w.grad.tolist(), x.tolist()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", [*NO_BREAK, *OTHERS])
@pytest.mark.counts_regions
def test_as_plain(name, library):
    lib, function = LIBRARIES[library], (NO_BREAK | OTHERS)[name]
    expected = outcome(function, lib)
    compiled = minidynamo.compile(function, fullgraph=name in NO_BREAK)
    for _ in range(2):
        found = outcome(compiled, lib)
        assert near(found, expected), f"{found}, plain {expected}"


def near(found, expected):
    """Of nested numbers and flags."""
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(near, found, expected))
    return found == (pytest.approx(expected, rel=1e-5, abs=1e-6) if isinstance(expected, float) else expected)
