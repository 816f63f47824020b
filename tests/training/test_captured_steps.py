"""Whole training steps are one graph each: forward, backward and optimizer. Losses and parameters of 50 steps are those of
the eager run, captures are few, and what changes between two steps is noticed."""

import copy
import itertools

import pytest
import step_changes

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn, optim

pytestmark = pytest.mark.counts_regions
STEPS = 50


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(attended.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.mlp(self.between(x))


class TinyGPT(nn.Module):
    def __init__(self, tokens=11, width=8, length=6):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.layer, self.head = nn.Embedding(7, 6), nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 7)

    def forward(self, ids):
        return self.head(self.layer(self.tokens(ids))[0]).flatten(0, 1)


def images(number):
    torch.manual_seed(100 + number)
    return torch.rand(4, 1, 8, 8), torch.randint(0, 3, (4,))


def vectors(number, size=16):
    torch.manual_seed(100 + number)
    x = torch.rand(size, 5).sub(0.5)
    return x, (x.sum(1) > 0).long()


def targets(number):
    x, y = vectors(number)
    return x, y.unsqueeze(1).double() + x[:, :1]


def labels(number):
    x, y = vectors(number)
    return x, y.unsqueeze(1).double()


def texts(number):
    torch.manual_seed(100 + number)
    ids = torch.randint(0, 7, (3, 7))
    return ids[:, :-1], ids[:, 1:].reshape(-1)


def convolutional():
    layers = [
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3),
    ]
    return nn.Sequential(*layers, nn.Tanh(), nn.Flatten(), nn.Linear(24, 3))


def perceptron():
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))


class Workload:
    def __init__(self, model, loss, make_optimizer, batch, clip=None, captures=2, schedule=None):
        self.model, self.loss, self.make_optimizer, self.batch = model, loss, make_optimizer, batch
        self.clip, self.captures, self.schedule = clip, captures, schedule


WORKLOADS = {
    "linear": Workload(lambda: nn.Linear(5, 1), F.mse_loss, lambda p: optim.SGD(p, lr=0.1), targets, captures=1),
    "logistic": Workload(
        lambda: nn.Linear(5, 1), F.binary_cross_entropy_with_logits, lambda p: optim.SGD(p, lr=0.5), labels, captures=1
    ),
    "decayed": Workload(
        lambda: nn.Linear(5, 1),
        F.mse_loss,
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        targets,
    ),
    "mlp": Workload(perceptron, F.cross_entropy, lambda p: optim.Adam(p, lr=0.01), vectors),
    "mlp, amsgrad": Workload(perceptron, F.cross_entropy, lambda p: optim.AdamW(p, lr=0.01, amsgrad=True), vectors),
    "mlp, clipped": Workload(
        perceptron, F.cross_entropy, lambda p: optim.SGD(p, lr=0.5), vectors, clip=0.1, captures=1
    ),
    "mlp, RMSprop": Workload(perceptron, F.cross_entropy, lambda p: optim.RMSprop(p, lr=0.001), vectors),
    "mlp, Adagrad": Workload(perceptron, F.cross_entropy, lambda p: optim.Adagrad(p, lr=0.01), vectors),
    "scheduled": Workload(
        perceptron,
        F.cross_entropy,
        lambda p: optim.SGD(p, lr=0.5),
        vectors,
        schedule=lambda o: optim.lr_scheduler.ExponentialLR(o, 0.95),
    ),
    "one cycle": Workload(
        perceptron,
        F.cross_entropy,
        lambda p: optim.AdamW(p, lr=0.01),
        vectors,
        clip=1.0,
        captures=3,
        schedule=lambda o: optim.lr_scheduler.OneCycleLR(o, 0.02, total_steps=STEPS + 1),
    ),
    "cnn": Workload(convolutional, F.cross_entropy, lambda p: optim.SGD(p, lr=0.05, momentum=0.9), images),
    "gpt": Workload(TinyGPT, F.cross_entropy, lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1), texts, clip=1.0),
    "lstm": Workload(Recurrent, F.cross_entropy, lambda p: optim.Adam(p, lr=0.01), texts, clip=1.0),
}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Run:
    """A model in training, whose step is compiled or not."""

    lib = torch

    def __init__(self, workload, compiles, **options):
        torch.manual_seed(0)
        self.workload = workload
        self.model = workload.model()
        self.optimizer = workload.make_optimizer(self.model.parameters())
        self.schedule = workload.schedule(self.optimizer) if workload.schedule else None
        self.loss = workload.loss
        self.step = torch.compile(self.take, **options) if compiles else self.take

    def take(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        if self.workload.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.workload.clip)
        self.optimizer.step()
        return loss

    def take_some(self, first, count):
        losses = []
        for number in range(first, first + count):
            losses.append(self.step(*self.workload.batch(number)).item())
            if self.schedule:
                self.schedule.step()
        return losses

    def state(self):
        return [each.detach().clone() for each in self.model.state_dict().values()]


def assert_close(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other):
        a, b = (each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in (a, b))
        assert torch.allclose(a.double(), b.double(), rtol=1e-12, atol=1e-12), (a - b).abs().max()


@pytest.mark.parametrize("name", WORKLOADS)
def test_fifty_steps(name):
    workload = WORKLOADS[name]
    eager, compiled = Run(workload, compiles=False), Run(workload, compiles=True, fullgraph=True)
    assert_close(eager.take_some(0, STEPS), compiled.take_some(0, STEPS))
    assert_close(eager.state(), compiled.state())
    assert not torch._dynamo.utils.counters["graph_break"]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= workload.captures


def test_a_smaller_last_batch():
    workload = copy.copy(WORKLOADS["mlp"])
    workload.batch = lambda number: vectors(number, size=7 if number % 5 == 4 else 16)
    eager, compiled = Run(workload, compiles=False), Run(workload, compiles=True, fullgraph=True)
    assert_close(eager.take_some(0, 20), compiled.take_some(0, 20))
    assert_close(eager.state(), compiled.state())
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 3


def test_accumulated_gradients():
    def run(compiles):
        torch.manual_seed(0)
        model = perceptron()
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def accumulate(x, y):
            loss = F.cross_entropy(model(x), y) / 2
            loss.backward()
            return loss

        def update():
            optimizer.step()
            optimizer.zero_grad()

        if compiles:
            accumulate, update = torch.compile(accumulate, fullgraph=True), torch.compile(update, fullgraph=True)
        losses = []
        for number in range(20):
            losses.append(accumulate(*vectors(number)).item())
            if number % 2:
                update()
        return losses + [each.detach() for each in model.parameters()]

    assert_close(run(False), run(True))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 4


def test_a_generator_and_a_discriminator():
    def run(compiles):
        torch.manual_seed(0)
        make, judge = nn.Linear(5, 5), nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
        makers, judges = optim.SGD(make.parameters(), lr=0.05), optim.SGD(judge.parameters(), lr=0.05)

        def step(x):
            judges.zero_grad()
            loss = F.softplus(judge(make(x).detach())).mean() + F.softplus(-judge(x)).mean()
            loss.backward()
            judges.step()
            makers.zero_grad()
            second = F.softplus(-judge(make(x))).mean()
            second.backward()
            makers.step()
            return loss, second

        step = torch.compile(step, fullgraph=True) if compiles else step
        losses = [each.item() for number in range(10) for each in step(vectors(number)[0])]
        return losses + [each.detach() for model in (make, judge) for each in model.parameters()]

    assert_close(run(False), run(True))


def test_a_step_with_a_closure():
    def run(compiles):
        torch.manual_seed(0)
        model = perceptron()
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x, y):
            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                return loss

            return optimizer.step(closure)

        step = torch.compile(step) if compiles else step
        return [step(*vectors(number)).item() for number in range(5)] + [each.detach() for each in model.parameters()]

    assert_close(run(False), run(True))


# ---- what changes between two steps


def change_the_loss(run):
    run.loss = lambda output, y: F.cross_entropy(output * 2, y, label_smoothing=0.1)


def change_the_clipping(run):
    run.workload = copy.copy(run.workload)
    run.workload.clip = 0.01


def change_the_mode(run):
    run.model.eval()
    run.model[1] = nn.Sigmoid()


def put_a_gradient(run):
    run.model[0].weight.grad = torch.ones(16, 5)
    run.optimizer.zero_grad = lambda: None


CHANGES = [
    *step_changes.CHANGES,
    change_the_loss,
    change_the_clipping,
    change_the_mode,
    put_a_gradient,
]


@pytest.mark.parametrize("name", ["mlp", "mlp, clipped", "scheduled"])
@pytest.mark.parametrize("changing", CHANGES, ids=lambda changing: changing.__name__)
def test_changes_are_noticed(changing, name):
    def outcome(compiles):
        run = Run(WORKLOADS[name], compiles)
        losses = run.take_some(0, 3)
        changing(run)
        losses += run.take_some(3, 3)
        return losses + run.state() + [each.grad for each in run.model.parameters() if each.grad is not None]

    assert_close(outcome(False), outcome(True))


def test_models_of_other_sizes_in_one_step():
    """A plan that is bound anew to its sizes keeps results in the memory of what they are copied to."""

    def run(widths, rows, loss, kind, calls, compiles):
        layers = [layer for pair in itertools.pairwise(widths) for layer in (nn.Linear(*pair), nn.ReLU())][:-1]
        model = nn.Sequential(*layers).double()
        optimizer = kind(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            result = loss(model(x), y)
            result.backward()
            optimizer.step()
            return result.detach()

        step = torch.compile(step) if compiles else step
        x = torch.linspace(-1, 1, rows * widths[0]).double().reshape(rows, widths[0])
        y = torch.ones(rows, 1).double() if widths[-1] == 1 else torch.arange(rows) % widths[-1]
        return [step(x, y).item() for _ in range(calls)]

    losses = []
    for compiles in (False, True):
        torch.manual_seed(0)
        found = []
        for calls in (5, 30):
            found += run((30, 1), 64, F.binary_cross_entropy_with_logits, optim.SGD, calls, compiles)
        for calls in (5, 40):
            found += run((20, 12, 8, 4), 128, F.cross_entropy, optim.Adam, calls, compiles)
        losses.append(found)
    assert all(abs(a - b) < 1e-10 * max(1, abs(a)) for a, b in zip(*losses, strict=True))
