"""Whole training steps over torch's modules and optimizers are one graph each: 20 steps in float64 beside torch's own, with
gradients and versions, and what changes between two steps."""

import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

torch = pytest.importorskip("torch")
from torch import nn, optim  # noqa: E402

sys.path.append(str(Path(__file__).parents[2] / "training"))
import step_changes  # noqa: E402

F = torch.nn.functional
counters = minidynamo._dynamo.utils.counters
STEPS = 20
pytestmark = pytest.mark.usefixtures("in_float64")


def drawn(number, *sizes):
    generator = torch.Generator().manual_seed(100 + number)
    return torch.rand(*sizes, generator=generator).sub(0.5)


def classes(number, size=16):
    x = drawn(number, size, 5)
    return x, (x.sum(1) > 0).long()


def targets(number):
    x, _ = classes(number)
    return x, x.sum(1, keepdim=True)


def images(number):
    x = drawn(number, 4, 1, 8, 8)
    return x, (x.sum((1, 2, 3)) > 0).long()


def perceptron():
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))


def convolutional():
    layers = [nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Conv2d(4, 6, 3), nn.Tanh(), nn.Flatten(), nn.Linear(24, 2))


def with_dropout():
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.25), nn.Linear(16, 1))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(7, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 7, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        return self.head(self.block(self.tokens(ids))).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.layers, self.head = nn.Embedding(7, 8), nn.LSTM(8, 8, 2, batch_first=True), nn.Linear(8, 7)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids))[0]).flatten(0, 1)


def texts(number):
    generator = torch.Generator().manual_seed(100 + number)
    ids = torch.randint(0, 7, (3, 7), generator=generator)
    return ids[:, :-1], ids[:, 1:].reshape(-1)


class Workload:
    def __init__(self, model, loss, optimizer, batch, clip=None, schedule=None, graphs=2, **options):
        self.model, self.loss, self.batch = model, loss, batch
        self.make_optimizer = lambda parameters: optimizer(parameters, **options)
        self.clip, self.schedule, self.graphs = clip, schedule, graphs


def clip_norm(parameters):
    torch.nn.utils.clip_grad_norm_(parameters, 0.1)


def clip_value(parameters):
    torch.nn.utils.clip_grad_value_(parameters, 0.01)


def classifier(optimizer, **options):
    return Workload(perceptron, F.cross_entropy, optimizer, classes, **options)


WORKLOADS = {
    "linear": Workload(lambda: nn.Linear(5, 1), F.mse_loss, optim.SGD, targets, lr=0.1),
    "SGD": classifier(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "SGD, maximize": classifier(optim.SGD, lr=0.01, momentum=0.9, dampening=0.1, maximize=True),
    "Adam": classifier(optim.Adam, lr=0.01),
    "Adam, decayed": classifier(optim.Adam, lr=0.01, weight_decay=0.1, amsgrad=True),
    "AdamW": classifier(optim.AdamW, lr=0.01),
    "RMSprop": classifier(optim.RMSprop, lr=0.001, centered=True, momentum=0.5),
    "Adagrad": classifier(optim.Adagrad, lr=0.01, lr_decay=0.1),
    "Adadelta": classifier(optim.Adadelta),
    "Adamax": classifier(optim.Adamax, lr=0.01),
    "NAdam": classifier(optim.NAdam, lr=0.01),
    "Rprop": classifier(optim.Rprop),
    # From step 6 on with the variance.
    "RAdam": classifier(optim.RAdam, lr=0.01, weight_decay=0.1),
    "RAdam, decoupled": classifier(
        optim.RAdam, lr=torch.tensor(0.01), weight_decay=0.1, decoupled_weight_decay=True, maximize=True
    ),
    "ASGD": classifier(optim.ASGD, lr=0.1, weight_decay=0.01),
    "ASGD, averaged": classifier(optim.ASGD, lr=0.1, t0=5, lambd=0.1, alpha=0.5, maximize=True),
    "a rate in a tensor": classifier(optim.Adam, lr=torch.tensor(0.01)),
    "dropout": Workload(with_dropout, F.mse_loss, optim.SGD, targets, lr=0.1, momentum=0.9),
    "dropout, of classes": Workload(
        with_dropout, lambda out, y: F.cross_entropy(out.expand(-1, 3), y), optim.AdamW, classes
    ),
    "SGD, foreach": classifier(optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, foreach=True),
    "Adam, foreach": classifier(optim.Adam, lr=0.01, weight_decay=0.1, foreach=True),
    "AdamW, foreach": classifier(optim.AdamW, lr=0.01, amsgrad=True, maximize=True, foreach=True),
    "RMSprop, foreach": classifier(optim.RMSprop, lr=0.001, centered=True, momentum=0.5, foreach=True),
    "Adagrad, foreach": classifier(optim.Adagrad, lr=0.01, lr_decay=0.1, foreach=True),
    "Adadelta, foreach": classifier(optim.Adadelta, foreach=True),
    "Adamax, foreach": classifier(optim.Adamax, lr=0.01, foreach=True),
    "NAdam, foreach": classifier(optim.NAdam, lr=0.01, foreach=True),
    "Rprop, foreach": classifier(optim.Rprop, foreach=True),
    "SGD, fused": classifier(optim.SGD, lr=0.1, weight_decay=0.01, fused=True),
    "SGD, fused momenta": classifier(optim.SGD, lr=0.1, momentum=0.9, dampening=0.1, fused=True),
    "SGD, fused, Nesterov": classifier(optim.SGD, lr=0.01, momentum=0.9, nesterov=True, maximize=True, fused=True),
    "Adam, fused": classifier(optim.Adam, lr=0.01, weight_decay=0.1, amsgrad=True, fused=True),
    "AdamW, fused": classifier(optim.AdamW, lr=torch.tensor(0.01), maximize=True, fused=True),
    "Adagrad, fused": classifier(optim.Adagrad, lr=0.01, lr_decay=0.1, weight_decay=0.1, fused=True),
    "recurrent": Workload(Recurrent, F.cross_entropy, optim.Adam, texts, lr=0.01, eps=1e-3),
    "clipped": classifier(optim.SGD, lr=0.5, clip=clip_norm),
    "clipped values": classifier(optim.Adam, lr=0.01, clip=clip_value),
    "convolutions": Workload(convolutional, F.cross_entropy, optim.SGD, images, lr=0.05, momentum=0.9),
    "tied": Workload(Tied, F.cross_entropy, optim.AdamW, texts, clip=clip_norm, lr=0.01, eps=1e-3),
}


class Run:
    """A model in training, whose step is compiled or not."""

    lib = torch

    def __init__(self, workload, compiles, **options):
        torch.manual_seed(0)
        self.workload, self.loss, self.clip = workload, workload.loss, workload.clip
        self.model = workload.model()
        self.optimizer = workload.make_optimizer(self.model.parameters())
        self.step = minidynamo.compile(self.take, **options) if compiles else self.take

    def take(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        if self.clip:
            self.clip(self.model.parameters())
        self.optimizer.step()
        return loss

    def take_some(self, first, count):
        losses = []
        for number in range(first, first + count):
            torch.manual_seed(number)
            losses.append(self.step(*self.workload.batch(number)))
        return losses

    def tensors(self):
        state = self.optimizer.state.values()
        kept = [each for of_one in state for each in of_one.values() if isinstance(each, torch.Tensor)]
        return [*self.model.state_dict().values(), *kept]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b) and a.requires_grad == b.requires_grad and a.stride() == b.stride()
        torch.testing.assert_close(a.detach(), b.detach(), rtol=1e-12, atol=1e-12)


def assert_same_runs(compiled, eager):
    assert_same(compiled.tensors(), eager.tensors())
    for a, b in zip(compiled.model.parameters(), eager.model.parameters(), strict=True):
        assert a._version == b._version and (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert_same([a.grad], [b.grad])
            assert a.grad.grad_fn is None
    for one, other in zip(compiled.tensors(), eager.tensors(), strict=True):
        assert one._version == other._version


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.counts_regions
def test_twenty_steps(name):
    workload = WORKLOADS[name]
    eager, compiled = Run(workload, compiles=False), Run(workload, compiles=True, fullgraph=True)
    for number in range(STEPS):
        assert_same(compiled.take_some(number, 1), eager.take_some(number, 1))
        assert_same_runs(compiled, eager)
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] <= workload.graphs


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.counts_regions
def test_nothing_of_a_step_is_left_to_python(name):
    """An error in a function of ours would leave torch's own to Python, without a break."""
    workload = WORKLOADS[name]
    run = Run(workload, compiles=False)
    run.take_some(0, 2)
    report = minidynamo.explain(run.take)(*workload.batch(2))
    assert [region.exit for region in report.regions] == ["return"]


@pytest.mark.parametrize("name", ["SGD", "AdamW", "clipped"])
def test_without_fullgraph(name):
    workload = WORKLOADS[name]
    eager, compiled = Run(workload, compiles=False), Run(workload, compiles=True)
    assert_same(compiled.take_some(0, 8), eager.take_some(0, 8))
    assert_same_runs(compiled, eager)
    assert not counters["graph_break"]


def test_checked_captures():
    with minidynamo._dynamo.config.patch(check_captures=3):
        workload = WORKLOADS["AdamW"]
        eager, compiled = Run(workload, compiles=False), Run(workload, compiles=True)
        assert_same(compiled.take_some(0, 8), eager.take_some(0, 8))
        assert_same_runs(compiled, eager)


SCHEDULES = {
    "exponential": lambda optimizer: optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
    "cosine": lambda optimizer: optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10),
    "one cycle": lambda optimizer: optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=STEPS + 1),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, inside):
    def run(compiles):
        torch.manual_seed(0)
        model = perceptron()
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        schedule = SCHEDULES[name](optimizer)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if inside:
                schedule.step()
            return loss

        step = minidynamo.compile(step) if compiles else step
        losses = []
        for number in range(STEPS):
            losses.append(step(*classes(number)))
            if not inside:
                schedule.step()
        return [*losses, *model.parameters(), torch.tensor(schedule.get_last_lr())]

    assert_same(run(True), run(False))
    if not inside:
        assert not counters["graph_break"] and counters["stats"]["unique_graphs"] <= 4


def test_accumulated_gradients():
    def run(compiles):
        torch.manual_seed(0)
        model = perceptron()

        def accumulate(x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        accumulate = minidynamo.compile(accumulate, fullgraph=True) if compiles else accumulate
        results = [accumulate(*classes(0))]
        first = [each.grad for each in model.parameters()]
        results += [accumulate(*classes(number)) for number in range(1, 4)]
        assert all(each.grad is kept for each, kept in zip(model.parameters(), first, strict=True))
        results += first
        return results, [each._version for each in first]

    found, expected = run(True), run(False)
    assert_same(found[0], expected[0])
    assert found[1] == expected[1]


# ---- what changes between two steps


def double_gradient(leaf):
    leaf.grad.mul_(2)


def add_a_later_hook(run):
    run.model[0].weight.register_post_accumulate_grad_hook(double_gradient)


def add_a_hook_of_the_node(run):
    weight = run.model[0].weight
    run.node = weight.view_as(weight).grad_fn.next_functions[0][0]
    run.node.register_prehook(lambda gradients: (gradients[0] * 2,))


def add_a_hook_behind_the_node(run):
    weight = run.model[0].weight
    run.node = weight.view_as(weight).grad_fn.next_functions[0][0]
    run.node.register_hook(lambda *_: double_gradient(weight))


def add_and_remove_a_hook(run):
    handle = run.model[0].weight.register_hook(lambda gradient: gradient * 3)
    run.take_some(50, 1)
    handle.remove()


def add_a_backward_hook(run):
    run.model[2].register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))


def make_the_rate_a_tensor(run):
    run.optimizer.param_groups[0]["lr"] = torch.tensor(0.03)


def edit_the_implementation(run):
    run.optimizer.param_groups[0]["foreach"] = True


def count_from_below(run):
    for state in run.optimizer.state.values():
        if "step" in state:
            state["step"].fill_(-1.0)
            with pytest.raises(ZeroDivisionError):
                run.take_some(50, 1)
            state["step"].fill_(3.0)
            return


def change_the_clipping(run):
    run.clip = clip_norm


def lay_a_parameter_out_anew(run):
    run.model[2].weight.data = run.model[2].weight.data.t().contiguous().t()
    run.model[2].weight.grad = None
    run.optimizer.state.clear()


def give_a_gradient(run):
    run.model[0].bias.grad = torch.ones(16)
    run.optimizer.zero_grad = lambda: None


def give_one_gradient_to_two(run):
    run.model[0].bias.grad = run.model[2].bias.grad = torch.ones(16)
    run.optimizer.zero_grad = lambda: None


def share_a_parameter(run):
    run.model[2].bias = run.model[0].bias


def keep_a_graph(run):
    run.kept = run.loss(run.model(run.workload.batch(7)[0]), run.workload.batch(7)[1])


CHANGES = [
    *step_changes.CHANGES,
    add_a_later_hook,
    add_a_hook_of_the_node,
    add_a_hook_behind_the_node,
    add_and_remove_a_hook,
    add_a_backward_hook,
    make_the_rate_a_tensor,
    edit_the_implementation,
    count_from_below,
    change_the_clipping,
    lay_a_parameter_out_anew,
    give_a_gradient,
    give_one_gradient_to_two,
    share_a_parameter,
    keep_a_graph,
]


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
@pytest.mark.parametrize("function", CHANGES)
def test_changes_between_steps(function, name):
    eager, compiled = Run(WORKLOADS[name], compiles=False), Run(WORKLOADS[name], compiles=True)
    for run in (compiled, eager):
        run.losses = run.take_some(0, 4)
        function(run)
        run.losses += run.take_some(4, 4)
    assert_same(compiled.losses, eager.losses)
    assert_same_runs(compiled, eager)


MARKED = """
import sys, torch, minidynamo, torch._dynamo

torch._dynamo.eval_frame.TorchPatcher.patch()
model = torch.nn.Linear(3, 2)
optimizer = getattr(torch.optim, sys.argv[1])(model.parameters(), lr=0.01)


@minidynamo.compile(fullgraph=True)
def step(x):
    optimizer.zero_grad()
    loss = model(x).square().sum()
    loss.backward()
    optimizer.step()
    return loss


losses = [step(torch.ones(4, 3)).item() for _ in range(3)]
assert losses[2] < losses[0]
"""


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_marks_that_torch_sets_when_its_compiler_runs(name):
    done = subprocess.run([sys.executable, "-c", MARKED, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
