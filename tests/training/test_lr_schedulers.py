"""Schedulers against torch's: 50 epochs of rates and momenta, states both ways, warnings, errors and texts."""

import copy
import math
import pickle
import re
import warnings

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

EPOCHS = 50


class Halving:
    """A callable with state."""

    def __init__(self):
        self.calls = 0

    def __call__(self, epoch):
        return 0.5**epoch


SIMPLE = [
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1 / (1 + epoch), Halving()]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.95}),
    ("StepLR", {"step_size": 7}),
    ("StepLR", {"step_size": 1, "gamma": 0.9}),
    ("MultiStepLR", {"milestones": [3, 10, 10, 30]}),
    ("MultiStepLR", {"milestones": (20, 5), "gamma": 0.5}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.7, "total_iters": 12}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.6, "total_iters": 30}),
    ("ExponentialLR", {"gamma": 0.93}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 40, "power": 2.5}),
    ("CosineAnnealingLR", {"T_max": 10}),
    ("CosineAnnealingLR", {"T_max": 60, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 7}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.001}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 6}),
    (
        "CyclicLR",
        {"base_lr": [0.01, 0.02], "max_lr": [0.1, 0.3], "step_size_up": 4, "step_size_down": 9, "mode": "triangular2"},
    ),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "mode": "exp_range", "gamma": 0.98}),
    (
        "CyclicLR",
        {
            "base_lr": 0.01,
            "max_lr": 0.1,
            "step_size_up": 5,
            "scale_fn": lambda x: 0.5 ** (x - 1),
            "cycle_momentum": False,
        },
    ),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 60}),
    (
        "OneCycleLR",
        {"max_lr": [0.5, 0.7], "epochs": 6, "steps_per_epoch": 10, "anneal_strategy": "linear", "pct_start": 0.2},
    ),
    ("OneCycleLR", {"max_lr": 0.5, "total_steps": 60, "three_phase": True, "base_momentum": 0.5, "max_momentum": 0.8}),
    (
        "OneCycleLR",
        {"max_lr": 0.5, "total_steps": 60, "cycle_momentum": False, "div_factor": 5.0, "final_div_factor": 10},
    ),
    ("SWALR", {"swa_lr": 0.02}),
    ("SWALR", {"swa_lr": [0.02, 0.3], "anneal_epochs": 20, "anneal_strategy": "linear"}),
    ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 0}),
]


def optimizer_of(library, name="SGD", groups=2, lr=0.1, **options):
    if name == "SGD":
        options.setdefault("momentum", 0.9)
    parameters = [{"params": [library.nn.Parameter(library.ones(1))]} for _ in range(groups)]
    parameters[-1]["lr"] = lr * 2 if groups > 1 else lr
    return getattr(library.optim, name)(parameters, lr=lr, **options)


def scheduler_class(library, name):
    return getattr(library.optim.swa_utils if name == "SWALR" else library.optim.lr_scheduler, name)


def number(value):
    return value.item() if isinstance(value, md.Tensor | torch.Tensor) else value


def plain(value):
    """States without tensors."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return number(value)


def near(a, b):
    if isinstance(a, dict):
        return set(a) == set(b) and all(near(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15) or a == b
    return type(a) is type(b) and a == b


def options_of(optimizer):
    return [{key: plain(value) for key, value in group.items() if key != "params"} for group in optimizer.param_groups]


def history(library, name, options, optimizer="SGD", epochs=EPOCHS, **optimizer_options):
    optimizer = optimizer_of(library, optimizer, **optimizer_options)
    scheduler = scheduler_class(library, name)(optimizer, **options)
    found = [(options_of(optimizer), plain(scheduler.get_last_lr()))]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        found.append((options_of(optimizer), plain(scheduler.get_last_lr())))
    return [list(each) for each in found], plain(scheduler.state_dict())


def text_of(value):
    """The same in each process: addresses are not."""
    return re.sub(r"<function (\S+) at \w+>", r"\1", str(value))[:40]


@pytest.mark.parametrize(("name", "options"), SIMPLE, ids=text_of)
def test_50_epochs(name, options):
    mine, other = history(md, name, options), history(torch, name, options)
    for ours, theirs in zip(mine[0], other[0], strict=True):
        assert near(ours, theirs), (ours, theirs)
    assert near(mine[1], other[1]), (mine[1], other[1])


@pytest.mark.parametrize(
    ("name", "options"), [SIMPLE[0], SIMPLE[3], SIMPLE[9], SIMPLE[14], SIMPLE[16], SIMPLE[18], SIMPLE[22]]
)
def test_a_tensor_as_rate_is_written_in_place(name, options):
    results = []
    for library in (md, torch):
        parameter = library.nn.Parameter(library.ones(1))
        rate = library.tensor(0.1, dtype=library.float64)
        optimizer = library.optim.SGD([parameter], lr=rate, momentum=0.9)
        scheduler = scheduler_class(library, name)(optimizer, **options)
        rates = [rate.item()]
        for _ in range(5):
            optimizer.step()
            scheduler.step()
            rates.append(rate.item())
        assert optimizer.param_groups[0]["lr"] is rate
        results.append((rates, plain(scheduler.get_last_lr())))
    assert near(list(results[0]), list(results[1]))


@pytest.mark.parametrize(("name", "options"), [SIMPLE[18], SIMPLE[22], SIMPLE[24]])
def test_the_first_beta_is_a_momentum(name, options):
    assert near(*(history(library, name, options, "Adam", 20)[0] for library in (md, torch)))


@pytest.mark.parametrize(("name", "options"), SIMPLE, ids=text_of)
def test_states_go_both_ways(name, options):
    after = []
    for library, other in ((md, torch), (torch, md)):
        _, saved = history(other, name, options, epochs=9)
        optimizer = optimizer_of(library)
        scheduler = scheduler_class(library, name)(optimizer, **options)
        scheduler.load_state_dict(copy.deepcopy(saved))
        for group, rate in zip(optimizer.param_groups, saved["_last_lr"], strict=True):
            group["lr"] = rate
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(5):
                optimizer.step()
                scheduler.step()
        after.append([options_of(optimizer), plain(scheduler.state_dict())])
    assert near(*after)


@pytest.mark.parametrize(("name", "options"), [each for each in SIMPLE if each[0] != "SWALR"], ids=text_of)
def test_resumed_at_an_epoch_and_sent_to_one(name, options):
    results = []
    for library in (md, torch):
        optimizer = optimizer_of(library)
        for group in optimizer.param_groups:
            group.update(initial_lr=0.3, max_lr=0.6, min_lr=0.01, max_momentum=0.9, base_momentum=0.8)
        scheduler = scheduler_class(library, name)(optimizer, last_epoch=4, **options)
        found = [options_of(optimizer)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (None, None, 3, 12, None, 0):
                scheduler.step(epoch)
                found.append(options_of(optimizer))
        results.append([found, plain(scheduler.state_dict())])
    assert near(*results)


def test_fractions_of_epochs():
    def rates(library):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, 2)
        found = []
        for epoch in (0.3, 0.7, 1, 3, 3.5, 9, 10.2, 40, 2.5):
            scheduler.step(epoch)
            found.append(scheduler.get_last_lr())
        return found, {key: value for key, value in scheduler.state_dict().items()}

    assert near([*map(plain, rates(md))], [*map(plain, rates(torch))])


def compositions(library):
    s = library.optim.lr_scheduler

    def sequential(o):
        return s.SequentialLR(o, [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9), s.StepLR(o, 4)], [8, 20])

    def warm_up(o):
        return s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 40)], milestones=[10])

    def restarts(o):
        return s.SequentialLR(o, [s.LinearLR(o), s.CosineAnnealingWarmRestarts(o, 4)], milestones=[6])

    def chained(o):
        return s.ChainedScheduler([s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9)], optimizer=o)

    def nested(o):
        inner = s.SequentialLR(o, [s.LinearLR(o), s.StepLR(o, 3)], milestones=[6])
        return s.SequentialLR(o, [inner, s.StepLR(o, 2, 0.8)], milestones=[9])

    return {each.__name__: each for each in (sequential, warm_up, restarts, chained, nested)}


@pytest.mark.parametrize("name", ["sequential", "warm_up", "restarts", "chained", "nested"])
def test_compositions(name):
    results = []
    for library in (md, torch):
        optimizer = optimizer_of(library)
        scheduler = compositions(library)[name](optimizer)
        found = [options_of(optimizer), plain(scheduler.state_dict())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(EPOCHS):
                optimizer.step()
                scheduler.step()
                found.append([options_of(optimizer), plain(scheduler.get_last_lr()), plain(scheduler.state_dict())])
        results.append(found)
    for step, (ours, theirs) in enumerate(zip(*results, strict=True)):
        assert near(ours, theirs), (step, ours, theirs)


PLATEAUS = [
    {},
    {"patience": 2},
    {"patience": 0, "factor": 0.5, "cooldown": 3},
    {"mode": "max", "patience": 1, "threshold": 0.1, "threshold_mode": "abs"},
    {"patience": 1, "min_lr": [0.01, 0.05]},
    {"patience": 1, "min_lr": 0.03, "threshold": 0.2},
    {"patience": 0, "factor": 0.1, "eps": 0.01},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=text_of)
def test_plateaus(options):
    results = []
    for library in (md, torch):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        found = []
        for epoch in range(EPOCHS):
            metric = 1 + math.sin(epoch * 1.7) / (epoch + 1)
            scheduler.step(library.tensor(metric, dtype=library.float64) if epoch % 2 else metric)
            found.append([options_of(optimizer), plain(scheduler.state_dict())])
        fresh = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        fresh.load_state_dict(scheduler.state_dict())
        found.append(plain(fresh.state_dict()))
        results.append(found)
    assert near(*results)


# ---- warnings and wrong calls


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
            made = "made" if hasattr(result, "state_dict") else result
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [(each.category.__name__, str(each.message)) for each in caught]


def situations(library):
    s = library.optim.lr_scheduler
    one = {"groups": 1}

    def stepped(**options):
        optimizer = optimizer_of(library, **one)
        optimizer.step()
        scheduler = s.StepLR(optimizer, 3)
        scheduler.step(**options)

    def overridden():
        optimizer = optimizer_of(library, **one)
        scheduler = s.StepLR(optimizer, 3)
        optimizer.step = lambda: None
        scheduler.step()
        scheduler.step()

    def right_order():
        optimizer = optimizer_of(library, **one)
        schedulers = s.StepLR(optimizer, 3), s.ExponentialLR(optimizer, 0.5)
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()

    def too_many_steps():
        optimizer = optimizer_of(library, **one)
        scheduler = s.OneCycleLR(optimizer, 0.5, total_steps=3)
        for _ in range(5):
            optimizer.step()
            scheduler.step()

    yield lambda: stepped()
    yield lambda: stepped(epoch=3)
    yield overridden
    yield right_order
    yield too_many_steps
    yield lambda: s.ExponentialLR(optimizer_of(library, **one), 0.9).get_lr()
    yield lambda: s.LRScheduler(optimizer_of(library, **one))
    yield lambda: s.ExponentialLR(optimizer_of(library, **one), 0.9, last_epoch=3)
    yield lambda: s.CosineAnnealingWarmRestarts(optimizer_of(library, **one), 3).step(-1)
    yield lambda: s.ReduceLROnPlateau(optimizer_of(library, **one)).step(1.0, 3)
    yield lambda: s.ReduceLROnPlateau(5)
    yield lambda: s.StepLR(5, 3)
    yield lambda: s.CyclicLR(5, 1, 2)
    yield lambda: s.CyclicLR(optimizer_of(library, "Adagrad"), 1, 2)
    yield lambda: s.OneCycleLR(optimizer_of(library, "Adagrad"), 1, 2)
    yield lambda: s._LRScheduler(optimizer_of(library))

    def group_added():
        optimizer = optimizer_of(library)
        scheduler = s.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.0, 0.0])
        optimizer.add_param_group({"params": [library.nn.Parameter(library.ones(1))]})
        scheduler.step(1.0)
        scheduler.step(1.0)

    yield group_added


def test_warnings_and_errors():
    for index, (mine, other) in enumerate(zip(situations(md), situations(torch), strict=True)):
        assert outcome(mine) == outcome(other), index


WRONG = [
    ("LambdaLR", {"lr_lambda": [1, 2]}),
    ("MultiplicativeLR", {"lr_lambda": [1, 2]}),
    ("ConstantLR", {"factor": 2}),
    ("LinearLR", {"start_factor": 0}),
    ("LinearLR", {"end_factor": 2}),
    ("CosineAnnealingWarmRestarts", {"T_0": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1, "T_mult": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1, "eta_min": "a"}),
    ("CyclicLR", {"base_lr": 1, "max_lr": 2, "mode": "x"}),
    ("CyclicLR", {"base_lr": [1, 2], "max_lr": 2}),
    ("CyclicLR", {"base_lr": 1, "max_lr": 2, "base_momentum": [1, 2]}),
    ("OneCycleLR", {"max_lr": 1}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": -1}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 1.5}),
    ("OneCycleLR", {"max_lr": 1, "epochs": -1, "steps_per_epoch": 1}),
    ("OneCycleLR", {"max_lr": 1, "epochs": 1, "steps_per_epoch": -1}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 3, "pct_start": 2}),
    ("OneCycleLR", {"max_lr": 1, "total_steps": 3, "anneal_strategy": "x"}),
    ("OneCycleLR", {"max_lr": [1, 2], "total_steps": 3}),
    ("OneCycleLR", {"max_lr": 1, "epochs": 3}),
    ("ReduceLROnPlateau", {"factor": 1.0}),
    ("ReduceLROnPlateau", {"mode": "x"}),
    ("ReduceLROnPlateau", {"threshold_mode": "x"}),
    ("ReduceLROnPlateau", {"min_lr": [1, 2]}),
    ("StepLR", {"step_size": 3, "verbose": True}),
    ("StepLR", {"step_size": 0}),
    ("MultiStepLR", {"milestones": 5}),
    ("SWALR", {"swa_lr": 0.1, "anneal_strategy": "x"}),
    ("SWALR", {"swa_lr": 0.1, "anneal_epochs": -1}),
    ("SWALR", {"swa_lr": 0.1, "anneal_epochs": 1.5}),
    ("SWALR", {"swa_lr": [1, 2]}),
]


@pytest.mark.parametrize(("name", "options"), WRONG, ids=text_of)
def test_wrong_options(name, options):
    mine, other = (
        outcome(lambda library=library: scheduler_class(library, name)(optimizer_of(library, groups=1), **options))
        for library in (md, torch)
    )
    assert mine == other


def wrong_compositions(library):
    s = library.optim.lr_scheduler
    o = optimizer_of(library, groups=1)
    other = lambda: optimizer_of(library, groups=1)  # noqa: E731
    yield lambda: s.SequentialLR(o, [s.ConstantLR(other()), s.StepLR(o, 3)], [2])
    yield lambda: s.SequentialLR(o, [s.ConstantLR(o), s.StepLR(o, 3)], [2, 3])
    yield lambda: s.SequentialLR(o, [], [])
    yield lambda: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], [])
    yield lambda: s.SequentialLR(o, [5], [])
    yield lambda: s.ChainedScheduler([s.ConstantLR(other()), s.StepLR(o, 3)])
    yield lambda: s.ChainedScheduler([])
    yield lambda: s.ChainedScheduler([s.ReduceLROnPlateau(o)])
    yield lambda: s.ChainedScheduler([5])
    yield lambda: s.ChainedScheduler([s.ConstantLR(o)], optimizer=other())


def test_wrong_compositions():
    for index, (mine, other) in enumerate(zip(wrong_compositions(md), wrong_compositions(torch), strict=True)):
        assert outcome(mine) == outcome(other), index


class Own(md.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return [base / (1 + self.last_epoch) for base in self.base_lrs]


def test_subclasses_copies_and_pickles():
    optimizer = optimizer_of(md)
    scheduler = Own(optimizer)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.05, 0.1]
    optimizer, scheduler = pickle.loads(pickle.dumps((optimizer, scheduler)))
    assert scheduler.optimizer is optimizer
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 / 3)
    copied = copy.deepcopy(scheduler)
    copied.step()
    assert scheduler.last_epoch == 2
