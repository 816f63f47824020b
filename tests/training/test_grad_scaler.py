"""amp.GradScaler against torch's on the CPU: scales, states, errors and texts."""

import copy
import pickle
import warnings

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = repr(function())
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [(each.category.__name__, str(each.message)) for each in caught]


def protocol(library):
    """Outcomes of all methods in and out of order."""
    scaler = library.amp.GradScaler("cpu", growth_interval=2, init_scale=1024.0)
    parameter = library.nn.Parameter(library.tensor([1.0, 2.0]))
    optimizer = library.optim.SGD([parameter], lr=0.5)
    found = [scaler.state_dict()]

    def backward(factor):
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()

    def note(function):
        found.append((outcome(function), parameter.tolist(), scaler.state_dict()))

    for early in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        note(early)
    for factor in (2.0, float("inf"), 3.0, 1.0, float("nan"), 1.0):
        backward(factor)
        note(lambda: scaler.step(optimizer))
        note(lambda: scaler.step(optimizer))
        note(lambda: scaler.unscale_(optimizer))
        note(scaler.update)
        note(scaler.update)
    backward(1.0)
    note(lambda: scaler.unscale_(optimizer))
    found.append(parameter.grad.tolist())
    note(lambda: scaler.unscale_(optimizer))
    note(lambda: scaler.step(optimizer))
    note(lambda: scaler.update(8.0))
    note(lambda: scaler.update(library.tensor(16.0)))
    note(lambda: scaler.step(optimizer, closure=lambda: 3))
    optimizer.zero_grad()
    note(lambda: scaler.step(optimizer))
    note(scaler.update)
    note(lambda: scaler.load_state_dict({}))
    note(lambda: scaler.scale(5))
    scaled = scaler.scale([library.ones(1), (library.ones(2),)])
    found.append([scaled[0].tolist(), scaled[1][0].tolist(), type(scaled[1]).__name__])
    found.append((scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()))
    return found


def test_protocol():
    for mine, other in zip(protocol(md), protocol(torch), strict=True):
        assert mine == other


def wrong(library):
    scaler = library.amp.GradScaler
    yield lambda: scaler("cpu", growth_factor=0.5) and None
    yield lambda: scaler("cpu", backoff_factor=1.5) and None
    yield lambda: scaler().is_enabled()
    yield lambda: library.cuda.amp.GradScaler().is_enabled()
    yield lambda: library.cuda.amp.GradScaler(enabled=False).is_enabled()
    yield lambda: library.cpu.amp.GradScaler().is_enabled()

    def halves():
        parameter = library.nn.Parameter(library.ones(2, dtype=library.float16))
        parameter.grad = library.ones(2, dtype=library.float16)
        made = scaler("cpu")
        made.scale(library.ones(1))
        made.unscale_(library.optim.SGD([parameter]))

    yield halves


def test_errors_and_warnings():
    for number, (mine, other) in enumerate(zip(wrong(md), wrong(torch), strict=True)):
        assert outcome(mine) == outcome(other), number


@pytest.mark.parametrize(
    "make", [lambda: md.amp.GradScaler("cpu", enabled=False), lambda: md.cuda.amp.GradScaler(enabled=False)]
)
def test_disabled_passes_through(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = make()
    parameter = md.nn.Parameter(md.ones(2))
    optimizer = md.optim.SGD([parameter], lr=0.5)
    loss = (parameter * 2).sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    assert scaler.step(optimizer, lambda: 5) == 5
    scaler.update()
    assert parameter.tolist() == [0.0, 0.0]
    assert (scaler.get_scale(), scaler.state_dict()) == (1.0, {})


def test_pickles():
    scaler = md.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(md.ones(1))
    for copied in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert copied.state_dict() == scaler.state_dict()
        assert copied.scale(md.ones(1)).tolist() == [4.0]
