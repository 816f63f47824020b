"""Sizes that vary where results have a history: what gradients need to know of them is guarded, and the region stays."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

pytestmark = pytest.mark.usefixtures("in_float64")


def perceptron():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 12)

    def forward(self, x):
        q, k, v = self.layer(x).chunk(3, -1)
        weights = (q @ k.mT / 2).softmax(-1)
        return (weights @ v).transpose(0, 1).reshape(-1, 4) + 1


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))

    def forward(self, x):
        y = self.layers(x)
        return F.interpolate(y, scale_factor=2), y.mean((2, 3))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.cell = nn.GRU(3, 4, batch_first=True), nn.LSTMCell(4, 4)

    def forward(self, x):
        y, h = self.layer(x)
        state = h[0], torch.zeros_like(h[0])
        for _ in range(2):
            state = self.cell(y[:, -1], state)
        return y, *state


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(9, 4, padding_idx=0), nn.LayerNorm(4)

    def forward(self, ids):
        y = self.norm(self.table(ids))
        return torch.cat([y, y.flip(1)], -1).sum(1), F.pad(y, (1, 0)).cumsum(0)


class Broadcast(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(1, 3))

    def forward(self, x):
        y = x * self.scale
        z = y.unsqueeze(1) - y.unsqueeze(0)
        return z.pow(2).sum(-1), torch.einsum("ij,kj->ik", y, y), y.expand(2, *y.shape).mean(0), y.max(0).values


def of_sizes(*sizes):
    return lambda number: torch.rand(*sizes_with(sizes, number))


def sizes_with(sizes, number):
    return [number if size is None else size for size in sizes]


CASES = {
    "perceptron": (perceptron, of_sizes(None, 3)),
    "attention over batches": (Attention, of_sizes(None, 3, 4)),
    "attention over steps": (Attention, of_sizes(2, None, 4)),
    "convolutional": (Convolutional, of_sizes(None, 1, 4, 4)),
    "recurrent": (Recurrent, of_sizes(None, 3, 3)),
    "embedded": (Embedded, lambda number: torch.arange(2 * number).reshape(number, 2) % 9),
    "broadcast": (Broadcast, of_sizes(None, 3)),
}
NUMBERS = [4, 5, 6, 3, 2, 1, 7, 1, 5]


def results_and_gradients(model, call, make):
    found = []
    for number in NUMBERS:
        torch.manual_seed(number)
        model.zero_grad()
        results = call(make(number))
        results = results if isinstance(results, tuple) else (results,)
        sum((each * each).sum() for each in results).backward()
        found.append(([each.detach() for each in results], [each.grad.clone() for each in model.parameters()]))
    return found


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_vary(name):
    make_model, make = CASES[name]
    minidynamo._dynamo.reset()
    found = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = make_model()
        call = minidynamo.compile(model.forward) if compiles else model
        breaks = _C.record_breaks(lambda: found.append(results_and_gradients(model, call, make)))  # noqa: B023
    assert [(each["id"], each["text"]) for each in breaks] == []
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_gradients_of_gradients():
    def penalty(x):
        y = (x.tanh() * w).sum(1)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return slope.pow(2).mean() + y.mean()

    found = []
    for function in (penalty, minidynamo.compile(penalty)):
        for number in NUMBERS:
            torch.manual_seed(number)
            w = torch.rand(1, 3, requires_grad=True)
            x = torch.rand(number, 3, requires_grad=True)
            found.append(torch.autograd.grad(function(x), (w, x)))
    count = len(NUMBERS)
    for one, other in zip(found[:count], found[count:], strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kept", [(0,), (1,), (0, 1)])
def test_gradients_of_some_results(kept):
    def function(x, w):
        return x @ w, (x * w[:, 0]).sum(0)

    compiled = minidynamo.compile(function)
    for number in NUMBERS:
        torch.manual_seed(number)
        x, w = torch.rand(number, 3, requires_grad=True), torch.rand(3, 2, requires_grad=True)
        found = []
        for call in (function, compiled):
            results = call(x, w)
            found.append(torch.autograd.grad(sum(results[at].sum() for at in kept), (x, w)))
        torch.testing.assert_close(*found)
