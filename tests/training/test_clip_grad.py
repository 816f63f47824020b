"""nn.utils on gradients of a backward: clipping and vectors, against torch."""

import warnings

import numpy as np
import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


def outcome(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function()
            made = result.tolist() if hasattr(result, "tolist") else result
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [(each.category.__name__, str(each.message)) for each in caught]


def trained(library, dtype="float64"):
    """A net whose first parameters have a gradient, and whose last ones have none."""
    random = np.random.default_rng(0)
    net = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.Tanh(), library.nn.Linear(4, 2)).to(
        getattr(library, dtype)
    )
    with library.no_grad():
        for parameter in net.parameters():
            parameter.copy_(library.as_tensor(random.standard_normal(tuple(parameter.shape))))
    net[2].bias.requires_grad_(False)
    x = library.as_tensor(random.standard_normal((5, 3))).to(getattr(library, dtype))
    (net(x) ** 2).sum().backward()
    return net


def gradients(net):
    return [None if parameter.grad is None else parameter.grad.tolist() for parameter in net.parameters()]


def calls(library):
    utils = library.nn.utils
    inf = float("inf")
    for max_norm, options in (
        (0.1, {}),
        (1e6, {}),
        (0.1, {"norm_type": inf}),
        (0.1, {"norm_type": "inf"}),
        (0.1, {"norm_type": 1}),
        (0.1, {"norm_type": 3.5}),
        (0.1, {"norm_type": 0}),
        (0.1, {"error_if_nonfinite": True}),
        (0.1, {"foreach": False}),
    ):
        yield lambda net, max_norm=max_norm, options=options: utils.clip_grad_norm_(
            net.parameters(), max_norm, **options
        )
    yield lambda net: utils.clip_grad_norm_(net[0].weight, 0.5)
    yield lambda net: utils.clip_grad_norm_([], 0.5)
    yield lambda net: utils.clip_grad_norm_((x for x in ()), 0.5)
    yield lambda net: utils.clip_grad_norm_([net[2].bias], 0.5)
    yield lambda net: utils.clip_grad_norm_(net.parameters(), "a")
    yield lambda net: utils.clip_grad_norm(net.parameters(), 0.1)
    yield lambda net: utils.clip_grad_value_(net.parameters(), 0.05)
    yield lambda net: utils.clip_grad_value_(net[0].weight, 0.05)
    yield lambda net: utils.get_total_norm(
        [parameter.grad for parameter in net.parameters() if parameter.grad is not None]
    )
    yield lambda net: utils.get_total_norm(net[0].weight.grad, 1.0)
    yield lambda net: utils.get_total_norm([])
    yield lambda net: utils.clip_grads_with_norm_(net.parameters(), 0.1, library.tensor(3.0, dtype=library.float64))
    yield lambda net: utils.clip_grads_with_norm_(net.parameters(), 10.0, library.tensor(3.0, dtype=library.float64))

    def with_nan(net, **options):
        net[0].weight.grad[0, 0] = float("nan")
        return utils.clip_grad_norm_(net.parameters(), 0.1, **options)

    yield lambda net: with_nan(net, error_if_nonfinite=True)
    yield lambda net: with_nan(net)


def test_clipping():
    for index, (mine, other) in enumerate(zip(calls(md), calls(torch), strict=True)):
        ours, theirs = trained(md), trained(torch)
        (made, warned), (made_there, warned_there) = outcome(lambda: mine(ours)), outcome(lambda: other(theirs))
        assert warned == warned_there, index
        if isinstance(made_there, float):
            np.testing.assert_allclose(made, made_there, rtol=1e-12, err_msg=str(index))
        else:
            assert made == made_there, index
        for a, b in zip(gradients(ours), gradients(theirs), strict=True):
            assert (a is None) == (b is None)
            np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-12, err_msg=str(index))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes(dtype):
    ours, theirs = trained(md, dtype), trained(torch, dtype)
    norms = (
        md.nn.utils.clip_grad_norm_(ours.parameters(), 0.1),
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.1),
    )
    assert str(norms[0].dtype).endswith(dtype) and str(norms[1].dtype).endswith(dtype)
    tolerance = 1e-5 if dtype == "float32" else 0.05
    np.testing.assert_allclose(norms[0].item(), norms[1].item(), rtol=tolerance)
    for a, b in zip(gradients(ours), gradients(theirs), strict=True):
        np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=tolerance, atol=tolerance)


def test_vectors_have_gradients():
    results = []
    for library in (md, torch):
        net = trained(library)
        vector = library.nn.utils.parameters_to_vector(net.parameters())
        assert vector.requires_grad
        for parameter in net.parameters():
            parameter.grad = None
        (vector**3).sum().backward()
        library.nn.utils.vector_to_parameters(vector.detach() * 2, net.parameters())
        assert all(parameter.is_leaf for parameter in net.parameters())
        results.append(([parameter.tolist() for parameter in net.parameters()], gradients(net)))
    assert results[0][0] == results[1][0]
    for a, b in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-12)


@pytest.mark.parametrize(
    "wrap",
    [
        "weight_norm",
        "spectral_norm",
        "parametrizations.weight_norm",
        "parametrizations.spectral_norm",
    ],
)
def test_gradients_go_through_norms(wrap):
    results = []
    for library in (md, torch):
        random = np.random.default_rng(1)
        layer = library.nn.Linear(3, 3).double()
        with library.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(library.as_tensor(random.standard_normal(tuple(parameter.shape))))
        function = library.nn.utils
        for name in wrap.split("."):
            function = getattr(function, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = function(layer)
            layer.eval()
        # The vectors that a spectral norm starts from are random.
        for name, buffer in layer.named_buffers():
            if name.endswith(("_u", "_v")):
                buffer.copy_(library.nn.functional.normalize(library.ones(3, dtype=library.float64), dim=0))
        x = library.as_tensor(random.standard_normal((4, 3)))
        (layer(x) ** 2).sum().backward()
        results.append({name: parameter.grad.tolist() for name, parameter in layer.named_parameters()})
    assert results[0].keys() == results[1].keys()
    for name, gradient in results[0].items():
        np.testing.assert_allclose(np.array(gradient), np.array(results[1][name]), rtol=1e-9, atol=1e-12, err_msg=name)


def test_gradients_go_through_packed_sequences():
    results = []
    for library in (md, torch):
        random = np.random.default_rng(2)
        padded = library.as_tensor(random.standard_normal((2, 4, 3))).requires_grad_()
        packed = library.nn.utils.rnn.pack_padded_sequence(padded, [4, 2], batch_first=True)
        again, lengths = library.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
        (again**3).sum().backward()
        results.append((padded.grad.tolist(), lengths.tolist()))
    np.testing.assert_allclose(np.array(results[0][0]), np.array(results[1][0]), rtol=1e-12)
    assert results[0][1] == results[1][1]
