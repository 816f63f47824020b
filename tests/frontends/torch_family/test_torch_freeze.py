"""compile(options={"freeze": True}): parameters of torch's modules are kept in a layout of the plan's own; else never."""

import gc
import importlib.util
import subprocess
import sys
import weakref

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch

import minidynamo
from minidynamo import _C

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]
FREEZE = {"options": {"freeze": True}}
CALLS = 8  # weights are packed after some runs with the same contents


@pytest.fixture(autouse=True)
def reset_afterwards():
    yield
    minidynamo._dynamo.reset()


def layer():
    torch.manual_seed(0)
    return torch.nn.Linear(256, 256).eval()


def packed_bytes(compiled, *given):
    gc.collect()
    before = _C._packed_weights_bytes()
    for _ in range(CALLS):
        compiled(*given)
    return _C._packed_weights_bytes() - before


X = torch.linspace(-1, 1, 32 * 256).reshape(32, 256)


def test_packed_by_promise_only():
    net = layer()
    assert packed_bytes(minidynamo.compile(net), X) == 0
    frozen = minidynamo.compile(net, **FREEZE)
    assert packed_bytes(frozen, X) >= 256 * 256 * 4
    assert torch.allclose(frozen(X), net(X), atol=1e-5)
    # A tensor that is no parameter is no weight of a model.
    product = minidynamo.compile(lambda x, w: torch.nn.functional.linear(x, w), **FREEZE)
    assert packed_bytes(product, X, torch.ones(256, 256)) == 0


# What a program may do to the model afterwards: all that torch counts, or that moves memory, is seen.
CHANGES = {
    "load_state_dict": lambda net: net.load_state_dict({"weight": torch.ones(256, 256), "bias": torch.zeros(256)}),
    "in_place": lambda net: net.weight.mul_(2),
    "data": lambda net: setattr(net.weight, "data", torch.ones(256, 256)),
    "another_parameter": lambda net: setattr(net, "weight", torch.nn.Parameter(torch.ones(256, 256))),
    "double": lambda net: net.double(),
    "nothing": lambda net: None,
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name):
    net = layer()
    frozen = minidynamo.compile(net, **FREEZE)
    for _ in range(2):
        assert packed_bytes(frozen, X.to(net.weight.dtype)) >= 0
        CHANGES[name](net)
        x = X.to(net.weight.dtype)
        assert torch.allclose(frozen(x), net(x), rtol=1e-4, atol=1e-4)


with open("/proc/cpuinfo") as lines:
    FLAGS = lines.read()
HAS_INSTRUCTIONS = "avx512_bf16" in FLAGS and "avx512_vnni" in FLAGS
needs_instructions = pytest.mark.skipif(not HAS_INSTRUCTIONS, reason="the processor has no instructions for it")
REDUCED = {"bfloat16": {"precision": "bfloat16"}, "int8": {"weights": "int8"}}


@needs_instructions
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("change", CHANGES)
def test_changes_in_reduced_precision(name, change):
    net = layer()
    frozen = minidynamo.compile(net, options={"freeze": True} | REDUCED[name])
    for _ in range(2):
        assert packed_bytes(frozen, X.to(net.weight.dtype)) >= 0
        CHANGES[change](net)
        x = X.to(net.weight.dtype)
        found, expected = frozen(x), net(x)
        assert (found - expected).abs().max() <= 0.02 * expected.abs().max()
        if change != "double":
            assert not torch.equal(found, minidynamo.compile(net)(x))


@needs_instructions
def test_reduced_precision_without_the_promise():
    net = layer()
    plain = minidynamo.compile(net)(X)
    # Rounded at each call, where that pays.
    rounded = minidynamo.compile(net, options=REDUCED["bfloat16"])
    assert packed_bytes(rounded, X) == 0 and not torch.equal(rounded(X), plain)
    net.weight.detach().numpy()[:] *= 2  # which torch does not count
    assert (rounded(X) - net(X)).abs().max() <= 0.02 * net(X).abs().max()
    # Weights in 8 bits are made once, or not at all.
    int8 = minidynamo.compile(net, options=REDUCED["int8"])
    assert packed_bytes(int8, X) == 0 and torch.equal(int8(X), minidynamo.compile(net)(X))


@needs_instructions
def test_the_promise_is_asked_for_once():
    program = """
import torch, minidynamo
with torch.no_grad():
    for net in (torch.nn.Linear(64, 64), torch.nn.Linear(48, 48)):
        minidynamo.compile(net, options={"weights": "int8"})(torch.ones(4, net.in_features))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count('compile() needs options={"freeze": True} too') == 1


def test_results_that_view_a_parameter():
    net = layer()
    frozen = minidynamo.compile(lambda: (net.weight, net.weight.t(), net.weight[1:] + 0), **FREEZE)
    for _ in range(CALLS):
        weight, transposed, _ = frozen()
        assert weight is net.weight and transposed._base is net.weight
    kept = frozen()[1]
    net.weight = torch.nn.Parameter(torch.zeros(256, 256))
    gc.collect()
    assert kept[0, 0] != 0


def test_written_parameters():
    net = layer()

    def step(x):
        result = net(x)
        net.bias.add_(1)
        return result

    plain = layer()
    frozen = minidynamo.compile(step, **FREEZE)
    for _ in range(CALLS):
        assert torch.allclose(frozen(X), plain(X), atol=1e-4)
        plain.bias.add_(1)
    assert net.bias._version == plain.bias._version


def test_models_die():
    def build():
        net = layer()
        frozen = minidynamo.compile(net, **FREEZE)
        packed_bytes(frozen, X)
        return weakref.ref(net.weight)

    gc.collect()
    before = _C._packed_weights_bytes()
    references = [build() for _ in range(4)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 4
    minidynamo._dynamo.reset()
    gc.collect()
    assert _C._packed_weights_bytes() <= before


def test_many_models_of_one_class():
    frozen = minidynamo.compile(lambda net, x: net(x), **FREEZE)
    for number in range(6):
        torch.manual_seed(number)
        net = torch.nn.Linear(256, 256)
        for _ in range(CALLS):
            assert torch.allclose(frozen(net, X), net(X), atol=1e-5)


def test_captures_are_not_shared():
    net = layer()
    plain, frozen = minidynamo.compile(net.forward), minidynamo.compile(net.forward, **FREEZE)
    assert packed_bytes(frozen, X) > 0 and packed_bytes(plain, X) == 0


WRONG = {
    "no_bool": ({"options": {"freeze": 1}}, TypeError, "freeze must be a bool, not int"),
    "eager": ({"options": {"freeze": True}, "backend": "eager"}, RuntimeError, "has no option 'freeze'"),
    "another_option": ({"options": {"freeze": True, "thaw": 1}}, RuntimeError, "has no option 'thaw'"),
    "with_a_mode": ({"options": {"freeze": True}, "mode": "default"}, RuntimeError, "cannot both be given"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options(name):
    arguments, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        minidynamo.compile(lambda x: x, **arguments)


def test_a_callable_gets_the_option():
    seen = []

    def backend(gm, example_inputs, options=None):
        seen.append(options)
        return gm

    minidynamo.compile(lambda x: x + 1, backend=backend, **FREEZE)(X)
    assert seen == [{"freeze": True}]
