"""Optimizers against torch's: parameters, state and groups after 20 steps, state dicts both ways, hooks, errors and
texts."""

import copy
import importlib
import io
import pickle
import warnings

import numpy as np
import pytest

import minidynamo as md
from minidynamo import optim

torch = pytest.importorskip("torch")

STEPS = 20
SHAPES = ((4, 3), (3,), ())

ADAM_LIKE = ({}, {"lr": 0.1}, {"betas": (0.5, 0.75)}, {"eps": 1e-3}, {"weight_decay": 0.1}, {"maximize": True})
CASES = [
    *(
        ("SGD", options)
        for options in (
            {},
            {"lr": 0.1},
            {"lr": 0.1, "momentum": 0.9},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
            {"lr": 0.1, "momentum": 0.9, "nesterov": True},
            {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "maximize": True},
            {"lr": 0.1, "weight_decay": 0.1},
        )
    ),
    *(("Adam", options) for options in (*ADAM_LIKE, {"amsgrad": True, "lr": 0.1}, {"decoupled_weight_decay": True})),
    *(("AdamW", options) for options in (*ADAM_LIKE, {"amsgrad": True, "weight_decay": 0.5})),
    *(("Adamax", options) for options in ADAM_LIKE),
    *(
        ("NAdam", options)
        for options in (*ADAM_LIKE, {"momentum_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True})
    ),
    *(("RAdam", options) for options in (*ADAM_LIKE, {"weight_decay": 0.1, "decoupled_weight_decay": True})),
    *(
        ("RMSprop", options)
        for options in (
            {},
            {"alpha": 0.5, "eps": 1e-3},
            {"centered": True},
            {"momentum": 0.9},
            {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
            {"maximize": True},
        )
    ),
    *(("Rprop", options) for options in ({}, {"etas": (0.3, 1.5)}, {"step_sizes": (0.005, 0.02)}, {"maximize": True})),
    *(
        ("Adagrad", options)
        for options in (
            {},
            {"lr_decay": 0.1},
            {"initial_accumulator_value": 0.5, "weight_decay": 0.1},
            {"eps": 1e-2, "maximize": True},
        )
    ),
    *(
        ("Adadelta", options)
        for options in ({}, {"rho": 0.5, "lr": 0.3}, {"eps": 1e-3, "weight_decay": 0.1, "maximize": True})
    ),
    *(
        ("Adafactor", options)
        for options in (
            {},
            {"lr": 0.5, "beta2_decay": -0.5},
            {"eps": (1e-3, 0.1)},
            {"d": 2.0, "weight_decay": 0.1},
            {"maximize": True},
        )
    ),
    *(
        ("ASGD", options)
        for options in ({}, {"t0": 5, "lr": 0.1}, {"lambd": 0.1, "alpha": 0.5}, {"weight_decay": 0.1, "maximize": True})
    ),
]
IMPLEMENTATIONS = [
    ("SGD", {"foreach": True}),
    ("Adam", {"foreach": True}),
    ("Adam", {"fused": True}),
    ("ASGD", {"foreach": True}),
]


def numbers(seed, dtype):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(dtype) for shape in SHAPES]


def parameters(library, arrays):
    make = library.nn.Parameter
    return [
        make(
            library.from_numpy(np.array(array))
            if array.ndim
            else library.tensor(array.item(), dtype=getattr(library, str(array.dtype)))
        )
        for array in arrays
    ]


def set_gradients(library, tensors, arrays):
    for tensor, array in zip(tensors, arrays, strict=True):
        tensor.grad = library.as_tensor(np.array(array)).to(tensor.dtype).reshape(tuple(tensor.shape))


def run(library, name, options, dtype, steps=STEPS, groups=lambda given: given):
    given = parameters(library, numbers(0, dtype))
    optimizer = getattr(library.optim, name)(groups(given), **options)
    for step in range(steps):
        set_gradients(library, given, numbers(step + 1, dtype))
        optimizer.step()
    return given, optimizer


def assert_same(ours, theirs, tolerance):
    """Whether nested state is equal: types, keys, dtypes and numbers."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, md.Tensor), (ours, theirs)
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(
            np.array(ours.detach().tolist()), np.array(theirs.detach().tolist()), rtol=tolerance, atol=tolerance
        )
    elif isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            assert_same(ours[key], value, tolerance)
    elif isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, tolerance)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance)
    else:
        assert ours == theirs


def as_torch(value):
    if isinstance(value, md.Tensor):
        return torch.from_dlpack(value.detach()).clone()
    if isinstance(value, dict):
        return {key: as_torch(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_torch(each) for each in value)
    return value


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}{options}" for name, options in CASES])
def test_20_steps_are_torchs(name, options, dtype, tolerance):
    ours, mine = run(md, name, options, dtype)
    theirs, other = run(torch, name, options, dtype)
    for a, b in zip(ours, theirs, strict=True):
        assert_same(a, b, tolerance)
    assert_same(mine.state_dict(), other.state_dict(), tolerance)
    assert repr(mine) == repr(other)


MUON = (
    {},
    {"nesterov": False},
    {"momentum": 0.5, "weight_decay": 0.5},
    {"adjust_lr_fn": "match_rms_adamw"},
    {"ns_steps": 2, "ns_coefficients": (2.0, -1.5, 0.5)},
    {"adjust_lr_fn": "original", "eps": 10.0},
)


def muon_in_double(start, gradients, group):
    """The steps of Muon without roundings to bfloat16."""
    parameter, average = start.astype("float64"), 0
    rows, columns = start.shape
    factor = (
        0.2 * max(rows, columns) ** 0.5 if group["adjust_lr_fn"] == "match_rms_adamw" else max(1, rows / columns) ** 0.5
    )
    a, b, c = group["ns_coefficients"]
    for gradient in gradients:
        average = group["momentum"] * average + (1 - group["momentum"]) * gradient
        found = (1 - group["momentum"]) * gradient + group["momentum"] * average if group["nesterov"] else average
        found = found / max(np.linalg.norm(found), group["eps"])
        for _ in range(group["ns_steps"]):
            gram = found @ found.T
            found = a * found + (b * gram + c * gram @ gram) @ found
        parameter = parameter * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * factor * found
    return parameter


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 2), (6, 1)])
@pytest.mark.parametrize("options", MUON)
def test_muon(options, shape):
    """Its directions are computed in bfloat16: they are as far from exact ones as torch's."""
    start = np.linspace(-1, 1, shape[0] * shape[1], dtype="float32").reshape(shape)
    gradients = [np.cos(start * (at + 2) + np.arange(shape[1], dtype="float32")) for at in range(3)]
    results = []
    for library in (md, torch):
        parameter = library.nn.Parameter(library.from_numpy(start.copy()))
        optimizer = library.optim.Muon([parameter], lr=0.1, **options)
        for gradient in gradients:
            parameter.grad = library.from_numpy(gradient.copy())
            optimizer.step()
        results.append((parameter, optimizer))
    (ours, mine), (theirs, other) = results
    exact = muon_in_double(start, gradients, other.param_groups[0])
    far, as_far = (np.abs(np.array(each.tolist()) - exact).max() for each in (ours, theirs))
    assert far <= 2 * as_far + 8e-3  # steps of 0.1, roundings of 0.004
    assert_same(mine.state_dict(), other.state_dict(), 1e-6)
    assert repr(mine) == repr(other)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Muon", {"lr": -1.0}),
        ("Muon", {"momentum": -1.0}),
        ("Muon", {"weight_decay": -1.0}),
        ("Muon", {"adjust_lr_fn": "other"}),
        ("Muon", {}),
        ("Adafactor", {"lr": -1.0}),
        ("Adafactor", {"beta2_decay": 0.5}),
        ("Adafactor", {"eps": (-1.0, 1.0)}),
        ("Adafactor", {"eps": (None, -1.0)}),
        ("Adafactor", {"d": 0.5}),
        ("Adafactor", {"weight_decay": -1.0}),
    ],
)
def test_refused_options_of_matrix_optimizers(name, options):
    texts = []
    for library in (md, torch):
        with pytest.raises(ValueError) as raised:
            getattr(library.optim, name)([library.nn.Parameter(library.ones(3))], **options)
        texts.append(str(raised.value).replace("minidynamo.", "torch."))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_steps_of_matrix_optimizers_are_captured(name):
    def steps(compiled):
        parameter = md.nn.Parameter(md.linspace(-1, 1, 12).reshape(4, 3))
        optimizer = getattr(md.optim, name)([parameter], lr=0.1)
        step = md.compile(optimizer.step) if compiled else optimizer.step
        for at in range(3):
            parameter.grad = (md.arange(12.0).reshape(4, 3) * (at + 1)).sin()
            step()
        return parameter.tolist()

    np.testing.assert_allclose(steps(True), steps(False), atol=1e-3 if name == "Muon" else 1e-6)


@pytest.mark.parametrize(("name", "options"), IMPLEMENTATIONS)
def test_options_of_implementation_change_nothing(name, options):
    ours, mine = run(md, name, options, "float64")
    plain, _ = run(md, name, {}, "float64")
    assert all(a.tolist() == b.tolist() for a, b in zip(ours, plain, strict=True))
    assert mine.param_groups[0][next(iter(options))] is True


def group_options(given):
    return [{"params": given[:1], "lr": 0.5}, {"params": given[1:], "weight_decay": 0.1}]


@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop", "Adadelta"])
def test_groups_have_options_of_their_own(name):
    ours, mine = run(md, name, {"lr": 0.01}, "float64", groups=group_options)
    theirs, other = run(torch, name, {"lr": 0.01}, "float64", groups=group_options)
    assert_same(mine.state_dict(), other.state_dict(), 1e-12)
    assert repr(mine) == repr(other)
    assert all(
        a.tolist() == pytest.approx(b.tolist(), rel=1e-12) for a, b in zip(ours, theirs, strict=True) if a.dim() < 2
    )


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "NAdam", "RAdam", "RMSprop", "Adagrad", "ASGD", "Adamax", "Adadelta", "Rprop"]
)
def test_a_tensor_as_learning_rate(name):
    results = []
    for library in (md, torch):
        given = parameters(library, numbers(0, "float64"))
        optimizer = getattr(library.optim, name)(given, lr=library.tensor(0.1, dtype=library.float64))
        for step in range(4):
            set_gradients(library, given, numbers(step + 1, "float64"))
            if step == 2:
                optimizer.param_groups[0]["lr"].fill_(0.2)
            optimizer.step()
        results.append((given, optimizer.state_dict()))
    assert_same(list(results[0][0]), list(results[1][0]), 1e-12)
    assert_same(results[0][1], results[1][1], 1e-12)


def complex_steps(library, name, options):
    start = np.array([1 + 2j, -0.5 + 0.25j])
    parameter = library.nn.Parameter(library.as_tensor(start))
    optimizer = getattr(library.optim, name)([parameter], **options)
    for step in range(6):
        parameter.grad = library.as_tensor(np.array([step - 2 + 1j, 0.5 - step * 1j]))
        optimizer.step()
    return parameter, optimizer.state_dict()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9}),
        ("Adam", {}),
        ("RMSprop", {}),
        ("Rprop", {}),
        ("Adagrad", {"initial_accumulator_value": 0.1}),
        ("NAdam", {}),
        ("ASGD", {}),
    ],
)
def test_complex_parameters(name, options):
    assert_same(complex_steps(md, name, options), complex_steps(torch, name, options), 1e-12)


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "NAdam", "Rprop", "ASGD"])
def test_state_goes_to_torch_and_back(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    ours, mine = run(md, name, options, "float64", 5)
    theirs, other = run(torch, name, options, "float64", 5)
    # Each goes on with the state of the other.
    fresh = getattr(md.optim, name)(ours, **options)
    fresh.load_state_dict(other.state_dict())
    of_torch = getattr(torch.optim, name)(theirs, **options)
    of_torch.load_state_dict(as_torch(mine.state_dict()))
    for step in range(3):
        for library, given, optimizer in ((md, ours, fresh), (torch, theirs, of_torch)):
            set_gradients(library, given, numbers(100 + step, "float64"))
            optimizer.step()
    assert_same(ours, theirs, 1e-12)
    assert_same(fresh.state_dict(), of_torch.state_dict(), 1e-12)


def test_a_loaded_state_does_not_share_memory_with_torch():
    _, other = run(torch, "Adam", {}, "float64", 2)
    before = copy.deepcopy(other.state_dict())
    given = parameters(md, numbers(0, "float64"))
    optimizer = optim.Adam(given)
    optimizer.load_state_dict(other.state_dict())
    set_gradients(md, given, numbers(7, "float64"))
    optimizer.step()
    assert all(
        torch.equal(value, before["state"][number][name])
        for number, state in other.state_dict()["state"].items()
        for name, value in state.items()
    )


def test_files_go_to_torch_and_back(tmp_path):
    _, mine = run(md, "Adam", {}, "float32", 3)
    md.save(mine.state_dict(), tmp_path / "ours.pt")
    theirs = torch.optim.Adam(parameters(torch, numbers(0, "float32")))
    theirs.load_state_dict(torch.load(tmp_path / "ours.pt"))
    torch.save(theirs.state_dict(), tmp_path / "theirs.pt")
    back = optim.Adam(parameters(md, numbers(0, "float32")))
    back.load_state_dict(md.load(tmp_path / "theirs.pt"))
    assert_same(back.state_dict(), theirs.state_dict(), 0)
    assert_same(mine.state_dict(), theirs.state_dict(), 0)


def test_loading_converts_all_but_the_counter():
    _, mine = run(md, "Adam", {}, "float32", 3)
    doubles = optim.Adam(parameters(md, numbers(0, "float64")))
    doubles.load_state_dict(mine.state_dict())
    state = doubles.state_dict()["state"][0]
    assert (state["exp_avg"].dtype, state["step"].dtype) == (md.float64, md.float32)


def test_options_and_counters_of_old_files_are_completed():
    _, mine = run(md, "Adam", {}, "float64", 2)
    saved = mine.state_dict()
    for group in saved["param_groups"]:
        del group["maximize"], group["amsgrad"]
    for state in saved["state"].values():
        state["step"] = 2
    fresh = optim.Adam(parameters(md, numbers(0, "float64")))
    fresh.load_state_dict(saved)
    assert fresh.param_groups[0]["amsgrad"] is False
    assert fresh.state_dict()["state"][0]["step"].item() == 2.0


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "LBFGS"])
def test_copies_and_pickles(name):
    given = parameters(md, numbers(0, "float64"))
    optimizer = getattr(optim, name)(given)
    set_gradients(md, given, numbers(1, "float64"))
    optimizer.step(lambda: md.tensor(1.0)) if name == "LBFGS" else optimizer.step()
    for copied in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert copied.param_groups[0]["params"][0] is not given[0]
        assert copied.param_groups[0]["params"][0].tolist() == given[0].tolist()
        assert repr(copied) == repr(optimizer)
        copied.zero_grad()


def test_names_of_parameters_are_kept():
    for library in (md, torch):
        layer = library.nn.Linear(2, 2)
        named = library.optim.SGD(layer.named_parameters(), lr=0.1)
        assert named.param_groups[0]["param_names"] == ["weight", "bias"]
        unnamed = library.optim.SGD(layer.parameters(), lr=0.1)
        unnamed.load_state_dict(named.state_dict())
        assert unnamed.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
        named.load_state_dict(library.optim.SGD(layer.parameters(), lr=0.2).state_dict())
        assert named.param_groups[0]["param_names"] == ["weight", "bias"]
        assert named.param_groups[0]["lr"] == 0.2


# ---- closures, zero_grad, real gradients


def curve(library, name, options, steps, line=()):
    """Losses of a small net whose parameters, and whose data, are given."""
    random = np.random.default_rng(3)
    first, bias, last = (
        library.nn.Parameter(library.as_tensor(random.standard_normal(shape) * 0.5)) for shape in ((3, 8), (8,), (8, 1))
    )
    x, y = library.as_tensor(random.standard_normal((16, 3))), library.as_tensor(random.standard_normal((16, 1)))
    optimizer = getattr(library.optim, name)([first, bias, last], **options)

    def closure():
        optimizer.zero_grad()
        loss = ((library.tanh(x @ first + bias) @ last - y) ** 2).mean()
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure).detach()) for _ in range(steps)]
    return losses, optimizer.state_dict()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lr": 0.1},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
        {"max_iter": 5, "max_eval": 3},
        {"tolerance_grad": 1e-1},
        {"tolerance_change": 1e-1},
    ],
    ids=str,
)
def test_lbfgs(options):
    ours, mine = curve(md, "LBFGS", options, 4)
    theirs, other = curve(torch, "LBFGS", options, 4)
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert (mine["state"][0]["n_iter"], mine["state"][0]["func_evals"]) == (
        other["state"][0]["n_iter"],
        other["state"][0]["func_evals"],
    )
    assert set(mine["state"][0]) == set(other["state"][0])


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "NAdam", "RMSprop", "Adagrad", "Adadelta", "RAdam", "ASGD", "Adamax"]
)
def test_curves_with_closures(name):
    ours, _ = curve(md, name, {"lr": 0.05}, STEPS)
    theirs, _ = curve(torch, name, {"lr": 0.05}, STEPS)
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert ours[-1] < ours[0]


def test_zero_grad():
    parameter = md.nn.Parameter(md.ones(2))
    optimizer = optim.SGD([parameter], lr=0.1)
    (parameter * 3).sum().backward()
    gradient = parameter.grad
    optimizer.zero_grad(set_to_none=False)
    assert parameter.grad is gradient and gradient.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert parameter.grad is None
    optimizer.step()
    assert optimizer.state_dict()["state"] == {}


def test_a_gradient_with_history_is_cut_by_zero_grad():
    parameter = md.nn.Parameter(md.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (parameter**3).sum().backward(create_graph=True)
    optim.SGD([parameter]).zero_grad(set_to_none=False)
    assert parameter.grad.tolist() == [0.0, 0.0] and not parameter.grad.requires_grad


def test_step_runs_without_gradients_and_its_closure_with():
    parameter = md.nn.Parameter(md.ones(2))
    optimizer = optim.SGD([parameter], lr=0.1)
    modes = []

    def closure():
        modes.append(md.is_grad_enabled())
        return 7

    with md.no_grad():
        assert optimizer.step(closure) == 7
    assert modes == [True]
    parameter.grad = md.ones(2)
    optimizer.step()
    assert parameter.is_leaf and parameter.requires_grad and parameter.grad_fn is None


# ---- hooks and subclasses


def hook_events(library):
    events = []
    optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=0.1)
    register = importlib.import_module(f"{library.__name__}.optim.optimizer")
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: events.append(("pre", len(args), sorted(kwargs)))),
        optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 5})),
        optimizer.register_step_post_hook(lambda o, args, kwargs: events.append(("post", len(args), sorted(kwargs)))),
        register.register_optimizer_step_pre_hook(lambda o, args, kwargs: events.append("any pre")),
        register.register_optimizer_step_post_hook(lambda o, args, kwargs: events.append("any post")),
        optimizer.register_state_dict_pre_hook(lambda o: events.append("saving")),
        optimizer.register_state_dict_pre_hook(lambda o: events.append("saving first"), prepend=True),
        optimizer.register_state_dict_post_hook(lambda o, saved: {**saved, "extra": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda o, saved: events.append(("loading", sorted(saved)))),
        optimizer.register_load_state_dict_post_hook(lambda o: events.append("loaded")),
    ]
    events.append(optimizer.step())
    events.append(optimizer.step(closure=lambda: 4))
    optimizer.load_state_dict(optimizer.state_dict())
    for handle in handles:
        handle.remove()
    events.append(optimizer.step(lambda: 6))
    events.append(sorted(optimizer.state_dict()))
    return events


def test_hooks():
    assert hook_events(md) == hook_events(torch)


def test_a_hook_that_returns_something_else():
    optimizer = optim.SGD([md.nn.Parameter(md.ones(1))])
    optimizer.register_step_pre_hook(lambda *args: 5)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 5\."):
        optimizer.step()


class Signs(optim.Optimizer):
    """As user code writes one: without any of our bases but Optimizer."""

    def __init__(self, params, lr=optim.optimizer.required):
        super().__init__(params, {"lr": lr})

    @md.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    state["count"] = state.get("count", 0) + 1
                    parameter.add_(parameter.grad.sign(), alpha=-group["lr"])


class LouderSigns(Signs):
    def step(self, closure=None):
        super().step()
        return super().step(closure)


def test_subclasses():
    parameter = md.nn.Parameter(md.zeros(2))
    optimizer = LouderSigns([parameter], lr=0.5)
    called = []
    optimizer.register_step_pre_hook(lambda *args: called.append("pre"))
    optimizer.register_step_post_hook(lambda *args: called.append("post"))
    parameter.grad = md.tensor([2.0, -3.0])
    optimizer.step()
    assert parameter.tolist() == [-1.0, 1.0]
    assert called == ["pre", "post"]
    fresh = LouderSigns([parameter], lr=0.25)
    fresh.load_state_dict(optimizer.state_dict())
    assert fresh.state_dict() == {"state": {0: {"count": 2}}, "param_groups": [{"lr": 0.5, "params": [0]}]}
    assert repr(fresh) == "LouderSigns (\nParameter Group 0\n    lr: 0.5\n)"
    with pytest.raises(
        ValueError, match="parameter group didn't specify a value of required optimization parameter lr"
    ):
        Signs([parameter])
    optimizer.add_param_group({"params": md.nn.Parameter(md.zeros(1)), "lr": 1.0})
    assert len(optimizer.param_groups) == 2

    class NoStep(optim.Optimizer):
        pass

    with pytest.raises(NotImplementedError):
        NoStep([parameter], {}).step()


# ---- wrong calls


def wrong_constructions(library):
    options = [
        {"lr": -1},
        {"lr": "a"},
        {"lr": library.tensor([1.0, 2.0])},
        {"lr": library.tensor(-0.5)},
        {"eps": -1},
        {"weight_decay": -1},
        {"momentum": -1},
        {"momentum": float("nan")},
        {"nesterov": True},
        {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
        {"betas": (1.5, 0.9)},
        {"betas": (0.9, 1.0)},
        {"betas": (0.9, -1.0)},
        {"betas": (library.tensor(0.5), 0.9)},
        {"alpha": -1},
        {"rho": 2},
        {"lr_decay": -1},
        {"initial_accumulator_value": -1},
        {"etas": (2, 3)},
        {"etas": (-1, 1.2)},
        {"momentum_decay": -1},
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
        {"lr": library.tensor(0.5), "foreach": True},
        {"line_search_fn": "x"},
        {"unknown": 1},
    ]
    names = [
        "SGD",
        "ASGD",
        "Adam",
        "AdamW",
        "Adamax",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
        "Adagrad",
        "Adadelta",
        "LBFGS",
    ]
    for name in names:
        for given in options:
            yield name, given


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
            made = repr(result) if result is None or isinstance(result, str | int | float) else "made"
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [(each.category.__name__, str(each.message)) for each in caught]


def test_wrong_options():
    for (name, ours), (_, theirs) in zip(wrong_constructions(md), wrong_constructions(torch), strict=True):
        mine = outcome(lambda name=name, ours=ours: getattr(optim, name)([md.nn.Parameter(md.ones(2))], **ours))
        other = outcome(
            lambda name=name, theirs=theirs: getattr(torch.optim, name)([torch.nn.Parameter(torch.ones(2))], **theirs)
        )
        assert mine == other, (name, ours)


def wrong_parameters(library):
    make = lambda: library.nn.Parameter(library.ones(2))  # noqa: E731
    p = make()
    sgd = library.optim.SGD
    two = sgd([p, make()], lr=1)
    yield "empty", lambda: sgd([], lr=1)
    yield "empty generator", lambda: sgd((x for x in ()), lr=1)
    yield "a tensor", lambda: sgd(p, lr=1)
    yield "not a leaf", lambda: sgd([p * 2], lr=1)
    yield "no tensor", lambda: sgd([1], lr=1)
    yield "a dict", lambda: sgd({"a": p}, lr=1)
    yield "twice", lambda: sgd([p, p], lr=1)
    yield "in two groups", lambda: sgd([{"params": [p]}, {"params": [p]}], lr=1)
    yield "a set", lambda: sgd([{"params": {p}}], lr=1)
    yield "no dict", lambda: sgd([p], lr=1).add_param_group([p])
    yield "some names", lambda: sgd([("a", p), make()], lr=1)
    yield "names in the first group", lambda: sgd([{"params": [("a", p)]}, {"params": [make()]}], lr=1)
    yield "names in the second group", lambda: sgd([{"params": [p]}, {"params": [("a", make())]}], lr=1)
    yield "fewer parameters", lambda: two.load_state_dict(sgd([make()], lr=1).state_dict())
    yield (
        "more groups",
        lambda: two.load_state_dict(sgd([{"params": [make()]}, {"params": [make()]}], lr=1).state_dict()),
    )
    yield "an empty state", lambda: two.load_state_dict({})
    yield "no params", lambda: two.add_param_group({"lr": 1})
    yield "groups of LBFGS", lambda: library.optim.LBFGS([{"params": [make()]}, {"params": [make()]}])
    yield "LBFGS without closure", lambda: library.optim.LBFGS([make()]).step()
    yield "unknown search", lambda: library.optim.LBFGS([make()], line_search_fn="x").step(lambda: 1.0)


def test_wrong_parameters():
    for (what, mine), (_, other) in zip(wrong_parameters(md), wrong_parameters(torch), strict=True):
        assert outcome(mine) == outcome(other), what


def test_a_wrong_closure_leaves_the_grad_mode():
    optimizer = optim.SGD([md.nn.Parameter(md.ones(1))])

    def closure():
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        optimizer.step(closure)
    assert md.is_grad_enabled()


def test_everything_in_all_exists():
    assert all(hasattr(optim, name) for name in optim.__all__)
    stream = io.StringIO()
    print(optim.SGD([md.nn.Parameter(md.ones(1))]), file=stream)
    assert stream.getvalue().startswith("SGD (\nParameter Group 0\n")
