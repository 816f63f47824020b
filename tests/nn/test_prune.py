"""nn.utils.prune against torch's: what is removed, hooks, state, refusals."""

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch")
from torch.nn.utils import prune as _  # noqa: E402, F401  torch does not import it itself


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


WEIGHT = np.random.RandomState(0).standard_normal((4, 6)).astype("float32")


def linear(library):
    module = library.nn.Linear(6, 4)
    module.weight = library.nn.Parameter(library.from_numpy(WEIGHT.copy()))
    module.bias = library.nn.Parameter(library.from_numpy(WEIGHT[:, 0] * 1.01))
    return module


def state(module):
    x = (minidynamo if isinstance(module, minidynamo.nn.Module) else torch).ones(2, 6)
    return {
        "state": {name: value.detach().numpy().tolist() for name, value in module.state_dict().items()},
        "weight": module.weight.detach().numpy().tolist(),
        "bias": module.bias.detach().numpy().tolist(),
        "hooks": len(module._forward_pre_hooks),
        "result": np.round(module(x).detach().numpy(), 4).tolist(),
    }


def outcome(text, library):
    module = linear(library)
    names = {"p": library.nn.utils.prune, "m": module, "t": library}
    try:
        for line in text.split(";"):
            eval(line, names)
    except Exception as error:
        return type(error)
    return state(module), library.nn.utils.prune.is_pruned(module)


SAME = [
    "p.identity(m, 'weight')",
    "p.l1_unstructured(m, 'weight', 5)",
    "p.l1_unstructured(m, 'weight', 0.3)",
    "p.l1_unstructured(m, 'weight', 0)",
    "p.l1_unstructured(m, 'weight', 1.0)",
    "p.l1_unstructured(m, 'weight', 3, t.arange(24.0).reshape(4, 6))",
    "p.ln_structured(m, 'weight', 2, 2, 0)",
    "p.ln_structured(m, 'weight', 0.5, 1, 1)",
    "p.ln_structured(m, 'weight', 1, 2, -1); p.ln_structured(m, 'weight', 1, 2, 0)",
    "p.l1_unstructured(m, 'weight', 5); p.l1_unstructured(m, 'weight', 0.5)",
    "p.custom_from_mask(m, 'weight', t.eye(6)[:4])",
    "p.l1_unstructured(m, 'weight', 5); p.custom_from_mask(m, 'weight', t.eye(6)[:4])",
    "p.l1_unstructured(m, 'weight', 5); p.remove(m, 'weight')",
    "p.random_unstructured(m, 'bias', 4)",
    "p.random_structured(m, 'weight', 4, 0)",
    "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=7)",
    "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=0.4)",
    "p.l1_unstructured(m, 'weight', 0.2); p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=0.4)",
    "p.l1_unstructured(m, 'weight', 25)",
    "p.l1_unstructured(m, 'weight', -1)",
    "p.l1_unstructured(m, 'weight', 1.5)",
    "p.l1_unstructured(m, 'weight', 'a')",
    "p.ln_structured(m, 'bias', 1, 2, 0)",
    "p.ln_structured(m, 'weight', 1, 2, 3)",
    "p.remove(m, 'weight')",
    "p.custom_from_mask(m, 'weight', t.ones(2))",
    "p.l1_unstructured(m, 'none', 1)",
    "p.global_unstructured([(m, 'weight')], p.LnStructured, amount=1, n=2)",
    "p.global_unstructured(3, p.L1Unstructured, amount=1)",
]


@pytest.mark.parametrize("text", SAME)
def test_as_torch(text):
    assert outcome(text, minidynamo) == outcome(text, torch)


@pytest.mark.parametrize("library", [minidynamo, torch], ids=["minidynamo", "torch"])
def test_the_parameter_stays_the_same_object(library):
    prune = library.nn.utils.prune
    module = linear(library)
    weight = module.weight
    for each in range(2):
        prune.l1_unstructured(module, "weight", 3)
        assert module.weight_orig is weight and module.weight is not weight
    prune.remove(module, "weight")
    assert module.weight is weight and (weight == 0).sum().item() == 6


def test_an_optimizer_trains_what_is_pruned():
    found = []
    for library in (minidynamo, torch):
        module = linear(library)
        optimizer = library.optim.SGD(module.parameters(), lr=0.1)
        library.nn.utils.prune.l1_unstructured(module, "weight", 5)
        for step in range(4):
            if step == 2:
                library.nn.utils.prune.remove(module, "weight")
            optimizer.zero_grad()
            module(library.ones(2, 6)).square().sum().backward()
            optimizer.step()
        found.append(module.weight.detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


def test_random_removes_as_many():
    module = minidynamo.nn.utils.prune.random_unstructured(linear(minidynamo), "weight", 7)
    assert (module.weight == 0).sum().item() == 7
    module = minidynamo.nn.utils.prune.random_structured(linear(minidynamo), "weight", 2, 1)
    assert (module.weight == 0).all(0).sum().item() == 2


def test_one_graph():
    module = minidynamo.nn.utils.prune.l1_unstructured(linear(minidynamo), "weight", 5)
    x = minidynamo.ones(2, 6)
    found = minidynamo.compile(module)(x).detach().numpy()
    np.testing.assert_allclose(found, module(x).detach().numpy(), rtol=1e-5)


def test_container():
    prune = minidynamo.nn.utils.prune
    module = linear(minidynamo)
    prune.l1_unstructured(module, "weight", 2)
    prune.l1_unstructured(module, "weight", 2)
    (hook,) = module._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2 and [*hook][0] is hook[0]
    with pytest.raises(TypeError):
        hook.add_pruning_method(3)
