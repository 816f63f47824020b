"""Parametrized tensors, weight and spectral norms, fused layers and functional calls, compared with torch."""

import copy
import warnings

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")
from torch.nn.utils import parametrizations as of_torch  # noqa: E402

from minidynamo.nn.utils import parametrizations as ours  # noqa: E402

LAYERS = [
    ("Linear", (4, 3), (2, 4)),
    ("Conv2d", (2, 3, 3), (1, 2, 5, 5)),
    ("ConvTranspose1d", (2, 3, 3), (1, 2, 5)),
]


def to_torch(tensor):
    return torch.from_dlpack(tensor.detach().contiguous())


def close(a, b, atol=1e-5):
    return tuple(a.shape) == tuple(b.shape) and torch.allclose(to_torch(a), b.detach(), atol=atol)


def pair(kind, args):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(*args)
    mine = getattr(md.nn, kind)(*args)
    mine.load_state_dict(theirs.state_dict())
    return mine, theirs


def quiet(function, *args, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **keywords)


NORMS = {
    "parametrized weight_norm": (ours.weight_norm, of_torch.weight_norm),
    "parametrized spectral_norm": (ours.spectral_norm, of_torch.spectral_norm),
    "weight_norm": (md.nn.utils.weight_norm, torch.nn.utils.weight_norm),
    "spectral_norm": (md.nn.utils.spectral_norm, torch.nn.utils.spectral_norm),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("kind, args, shape", LAYERS)
def test_norms(name, kind, args, shape):
    mine, theirs = pair(kind, args)
    for module, function in zip((mine, theirs), NORMS[name], strict=True):
        assert quiet(function, module) is module
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    x = torch.randn(*shape)
    for mode in (True, True, False):
        mine.train(mode), theirs.train(mode)
        assert close(mine(md.from_dlpack(x)), theirs(x))
        for key, value in theirs.state_dict().items():
            assert close(mine.state_dict()[key], value), key
        assert close(mine.weight, theirs.weight)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_dims_of_weight_norm(dim):
    for function, of in (
        (ours.weight_norm, of_torch.weight_norm),
        (md.nn.utils.weight_norm, torch.nn.utils.weight_norm),
    ):
        mine, theirs = pair("Linear", (4, 3))
        quiet(function, mine, dim=dim), quiet(of, theirs, dim=dim)
        for key, value in theirs.state_dict().items():
            assert close(mine.state_dict()[key], value), key
        x = torch.randn(2, 4)
        assert close(mine(md.from_dlpack(x)), theirs(x))


def test_removing_norms():
    for apply, remove in (
        (md.nn.utils.weight_norm, md.nn.utils.remove_weight_norm),
        (md.nn.utils.spectral_norm, md.nn.utils.remove_spectral_norm),
    ):
        module = quiet(apply, md.nn.Linear(4, 3).eval())
        x = md.randn(2, 4)
        expected = module(x)
        remove(module)
        assert sorted(module.state_dict()) == ["bias", "weight"] and md.allclose(module(x), expected, atol=1e-6)
        assert isinstance(module.weight, md.nn.Parameter)
        with pytest.raises(ValueError, match="not found in"):
            remove(module)


def test_older_names_of_weight_norm():
    module, older = ours.weight_norm(md.nn.Linear(2, 2)), quiet(md.nn.utils.weight_norm, md.nn.Linear(2, 2))
    md.nn.Sequential(module).load_state_dict({f"0.{key}": value for key, value in older.state_dict().items()})
    assert md.allclose(module.weight, older.weight)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("which", ["matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
def test_orthogonal(shape, which, trivial):
    class Holder(md.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = md.nn.Parameter(md.randn(*shape))

    class OfTorch(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(*shape))

    mine, theirs = Holder(), OfTorch()
    ours.orthogonal(mine, orthogonal_map=which, use_trivialization=trivial)
    of_torch.orthogonal(theirs, orthogonal_map=which, use_trivialization=trivial)
    assert [(k, tuple(v.shape)) for k, v in mine.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in theirs.state_dict().items()
    ]
    short = mine.weight if shape[-2] <= shape[-1] else mine.weight.mT
    assert md.allclose(short @ short.mT, md.eye(short.shape[-2]).expand(*shape[:-2], -1, -1), atol=1e-5)
    mine.load_state_dict(theirs.state_dict())
    assert close(mine.weight, theirs.weight)
    if trivial:
        wanted = mine.weight.clone()
        mine.weight = wanted
        assert md.allclose(mine.weight, wanted, atol=1e-5)
    with pytest.raises(NotImplementedError, match="householder_product"):
        ours.orthogonal(md.nn.Linear(2, 3), orthogonal_map="householder")


class Doubled(md.nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


class Plain(md.nn.Module):
    def forward(self, x):
        return x + 1


def test_parametrize():
    from minidynamo.nn.utils import parametrize

    module = md.nn.Linear(2, 2)
    before, original = module.weight.clone(), module.weight
    assert parametrize.register_parametrization(module, "weight", Doubled()) is module
    assert type(module).__name__ == "ParametrizedLinear" and isinstance(module, md.nn.Linear)
    assert parametrize.type_before_parametrizations(module) is md.nn.Linear
    assert md.allclose(module.weight, before) and module.parametrizations.weight.original is original
    assert parametrize.is_parametrized(module) and parametrize.is_parametrized(module, "weight")
    assert not parametrize.is_parametrized(module, "bias")
    module.weight = md.ones(2, 2)
    assert module.parametrizations.weight.original.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    twin = copy.deepcopy(module)
    parametrize.register_parametrization(module, "weight", Plain())
    assert module.weight.tolist() == [[2, 2], [2, 2]] and twin.weight.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        module.weight = md.ones(2, 2)
    with parametrize.cached():
        assert module.weight is module.weight
    assert module.weight is not module.weight
    compiled = md.compile(lambda x: module(x), fullgraph=True)
    x = md.randn(3, 2)
    assert md.allclose(compiled(x), module(x))
    parametrize.remove_parametrizations(module, "weight")
    assert type(module) is md.nn.Linear and module.weight is original and module.weight.tolist() == [[2, 2], [2, 2]]
    parametrize.remove_parametrizations(twin, "weight", leave_parametrized=False)
    assert twin.weight.tolist() == [[0.5, 0.5], [0.5, 0.5]] and not parametrize.is_parametrized(twin)


def test_cached_numbers_are_dropped():
    from minidynamo.nn.utils import parametrize

    module = parametrize.register_parametrization(md.nn.Linear(1, 1), "weight", Doubled())
    with parametrize.cached():
        first = module.weight
    module.parametrizations.weight.original.data.fill_(3)
    with parametrize.cached():
        assert module.weight.item() == 6 and first is not module.weight


def _refusing(library, result):
    class Refused(library.nn.Module):
        def forward(self, x):
            return result(library, x)

    return Refused()


WRONG = [
    lambda t, p: p.register_parametrization(t.nn.Linear(2, 2), "other", t.nn.Identity()),
    lambda t, p: p.register_parametrization(t.nn.Linear(2, 2), "weight", _refusing(t, lambda t, x: 3)),
    lambda t, p: p.register_parametrization(t.nn.Linear(2, 2), "weight", _refusing(t, lambda t, x: x.double())),
    lambda t, p: p.register_parametrization(t.nn.Linear(2, 2), "weight", _refusing(t, lambda t, x: x[0])),
    lambda t, p: p.remove_parametrizations(t.nn.Linear(2, 2), "weight"),
    lambda t, p: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 2), "other"),
    lambda t, p: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 2), n_power_iterations=0),
    lambda t, p: t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(2, 2), dim=5),
    lambda t, p: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "bias"),
    lambda t, p: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), orthogonal_map="x"),
    lambda t, p: t.nn.utils.spectral_norm(t.nn.utils.spectral_norm(t.nn.Linear(2, 2))),
    lambda t, p: t.nn.utils.skip_init(3),
    lambda t, p: t.nn.utils.skip_init(t.nn.ReLU),
    lambda t, p: t.nn.utils.vector_to_parameters([1.0], []),
    lambda t, p: t.nn.utils.fuse_conv_bn_eval(t.nn.Conv1d(1, 1, 1), t.nn.BatchNorm1d(1)),
    lambda t, p: t.func.functional_call(t.nn.Linear(1, 1), {"x": t.ones(1)}, t.ones(1), strict=True),
    lambda t, p: t.func.functional_call(t.nn.Linear(1, 1), [{"x": 1}, {"x": 2}], t.ones(1)),
    lambda t, p: t.func.functional_call(t.nn.Linear(1, 1), 3, t.ones(1)),
    lambda t, p: t.func.stack_module_state([]),
    lambda t, p: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.ReLU()]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_calls(number):
    errors = []
    for library in (md, torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011  which one is compared below
            WRONG[number](library, library.nn.utils.parametrize)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]), errors
    assert str(errors[0])[:40].replace("minidynamo", "torch") == str(errors[1])[:40]


def test_serialization_is_refused():
    import pickle

    module = ours.weight_norm(md.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(module)


def test_vectors_of_parameters():
    module = md.nn.Linear(2, 2)
    vector = md.nn.utils.parameters_to_vector(module.parameters())
    assert vector.tolist() == [*module.weight.reshape(-1).tolist(), *module.bias.tolist()]
    md.nn.utils.vector_to_parameters(md.arange(6.0), module.parameters())
    assert module.weight.tolist() == [[0, 1], [2, 3]] and module.bias.tolist() == [4, 5]


@pytest.mark.parametrize(
    "kind, args, norm, shape",
    [
        ("Conv2d", (2, 3, 3), "BatchNorm2d", (1, 2, 5, 5)),
        ("ConvTranspose2d", (2, 3, 3), "BatchNorm2d", (1, 2, 5, 5)),
        ("Linear", (2, 3), "BatchNorm1d", (4, 2)),
    ],
)
def test_fusion(kind, args, norm, shape):
    layer, after = getattr(md.nn, kind)(*args).eval(), getattr(md.nn, norm)(3).eval()
    for tensor in (after.running_mean, after.running_var, after.weight.detach(), after.bias.detach()):
        tensor.uniform_(0.5, 2)
    x = md.randn(*shape)
    if kind == "Linear":
        fused = md.nn.utils.fuse_linear_bn_eval(layer, after)
    else:
        fused = md.nn.utils.fuse_conv_bn_eval(layer, after, kind == "ConvTranspose2d")
    assert md.allclose(fused(x), after(layer(x)), atol=1e-5) and fused is not layer


def test_skip_init_draws_nothing():
    state = md.get_rng_state()
    module = md.nn.utils.skip_init(md.nn.Linear, 2, 3)
    assert md.equal(md.get_rng_state(), state) and tuple(module.weight.shape) == (3, 2)


def test_functional_call():
    class Tied(md.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = md.nn.Linear(2, 2, bias=False)
            self.b = md.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            self.register_buffer("shift", md.zeros(2))

        def forward(self, x, scale=1):
            return self.b(self.a(x)) * scale + self.shift

    module, x = Tied(), md.ones(1, 2)
    own = module.a.weight
    given = {"a.weight": md.ones(2, 2), "shift": md.ones(2)}
    assert md.func.functional_call(module, given, x, {"scale": 2}).tolist() == [[9, 9]]
    assert md.nn.utils.stateless.functional_call(module, [given], (x,)).tolist() == [[5, 5]]
    assert module.a.weight is own and module.b.weight is own and module.shift.tolist() == [0, 0]
    compiled = md.compile(lambda weights, x: md.func.functional_call(module, weights, (x,)))
    assert compiled(given, x).tolist() == [[5, 5]] and module.a.weight is own


def test_stack_module_state():
    models = [md.nn.BatchNorm1d(2), md.nn.BatchNorm1d(2)]
    parameters, buffers = md.func.stack_module_state(models)
    assert tuple(parameters["weight"].shape) == (2, 2) and parameters["weight"].requires_grad
    assert sorted(buffers) == ["num_batches_tracked", "running_mean", "running_var"]
