"""Gradients through functions that write their results into their arguments: as torch's, in eager and compiled code."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

FUNCTIONALS = {
    "leaky_relu_": (0.2,),
    "relu_": (),
    "elu_": (0.7,),
    "celu_": (0.7,),
    "selu_": (),
    "hardtanh_": (-0.5, 0.4),
    "threshold_": (0.1, 0.5),
    "rrelu_": (0.2, 0.2),
    "relu": (True,),
    "silu": (True,),
    "mish": (True,),
    "relu6": (True,),
    "hardsigmoid": (True,),
    "hardswish": (True,),
}
METHODS = {
    "digamma_": (),
    "lgamma_": (),
    "i0_": (),
    "logit_": (),
    "sinc_": (),
    "nan_to_num_": (),
    "xlogy_": ("other",),
    "ldexp_": ("other",),
    "nextafter_": ("other",),
    "lerp_": ("other", 0.3),
    "atan2_": ("other",),
    "hypot_": ("other",),
    "copysign_": ("other",),
    "pow_": (2.5,),
    "exp_": (),
    "sqrt_": (),
    "sigmoid_": (),
    "mvlgamma_": (1,),
    "polygamma_": (1,),
    "float_power_": (1.0,),
}
# What comes before: one that reads its result in its derivative, and others.
BEFORE = {
    "product": lambda t, x: x * 1.5,
    "normalised": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True).abs() * 0.2 + 0.1,
    "matmul": lambda t, x: x @ x,
}


def gradients(t, before, write, compiled):
    def loss(x, other):
        y = BEFORE[before](t, x)
        z = write(t, y, other)
        return (z * z.detach()).sum(), y

    x = t.tensor([[0.3, 0.6, 0.1], [0.2, 0.7, 0.4], [0.25, 0.15, 0.5]], dtype=t.float64, requires_grad=True)
    other = t.tensor([[0.5, 0.25, 1.0], [0.4, 0.1, 0.3], [2.0, 0.2, 0.6]], dtype=t.float64)
    total, y = (t.compile(loss) if compiled else loss)(x, other)
    total.backward()
    return [total.item(), y.tolist(), x.grad.tolist()]


def check(before, write):
    expected = gradients(torch, before, write, False)
    for compiled in (False, True):
        ours = gradients(minidynamo, before, write, compiled)
        for mine, theirs in zip(ours, expected):
            torch.testing.assert_close(torch.tensor(mine), torch.tensor(theirs), rtol=1e-5, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", FUNCTIONALS)
def test_functional(name, before):
    arguments = FUNCTIONALS[name]
    keywords = {"inplace": True} if arguments == (True,) else {}
    positional = () if keywords else arguments
    check(before, lambda t, y, other: getattr(t.nn.functional, name)(y, *positional, **keywords))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", METHODS)
def test_method(name, before):
    def write(t, y, other):
        return getattr(y, name)(*[other if part == "other" else part for part in METHODS[name]])

    check(before, write)


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_a_leaf_is_refused(name):
    keywords = {"inplace": True} if FUNCTIONALS[name] == (True,) else {}
    texts = []
    for t in (torch, minidynamo):
        with pytest.raises(RuntimeError) as raised:
            positional = () if keywords else FUNCTIONALS[name]
            getattr(t.nn.functional, name)(t.ones(2, requires_grad=True), *positional, **keywords)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


def ends_in_relu(t, x):
    return (x * 1.5).relu_()


def with_what_is_written(t, x):
    y = (x * 1.5).relu_()
    return y, (y * y).sum()


def written_before_it_is_read(t, x):
    y = x * 1.5
    y.mul_(2)
    return y, y * y, y.view(-1)[:2].exp()


def a_copy_is_read(t, x):
    y = x * 1.5
    return y, t.nn.functional.silu(y.clone()), y.clone().sin()


@pytest.mark.parametrize("write_later", [False, True])
@pytest.mark.parametrize("function", [ends_in_relu, with_what_is_written, written_before_it_is_read, a_copy_is_read])
def test_results_that_were_written(function, write_later):
    """What a compiled function returns is as new: it may be read by a backward, and what was copied may be written."""

    def gradients(t, compiled):
        x = t.tensor([[0.3, -0.6], [0.2, 0.7]], dtype=t.float64, requires_grad=True)
        results = (t.compile(function) if compiled else function)(t, x)
        results = results if isinstance(results, tuple) else (results,)
        versions = [each._version for each in results]
        if write_later and function is a_copy_is_read:
            results[0].mul_(3)
        sum((each * each).sum() for each in results).backward()
        return x.grad.tolist(), versions

    expected = gradients(torch, False)
    for compiled in (False, True):
        (grad, versions), (their_grad, their_versions) = gradients(minidynamo, compiled), expected
        torch.testing.assert_close(torch.tensor(grad), torch.tensor(their_grad))
        assert versions == their_versions
