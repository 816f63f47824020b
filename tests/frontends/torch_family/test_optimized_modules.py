"""compile() of a torch module: a torch module, with what torch.compile's has."""

import copy
import importlib.util
import pickle

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from torch import nn

import minidynamo

pytestmark = pytest.mark.usefixtures("without_gradients")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.register_buffer("offset", torch.ones(4))
        self.note = "own"

    def forward(self, x):
        return self.body(x) + self.offset

    def twice(self, x):
        return self(self.body[0].weight.T[:, :3] @ x)


X = torch.linspace(-1, 1, 6).reshape(2, 3)


def made(**options):
    torch.manual_seed(0)
    net = Net()
    return net, minidynamo.compile(net, **options)


def test_it_is_a_torch_module():
    net, compiled = made()
    theirs = torch.compile(copy.deepcopy(net))
    assert isinstance(compiled, nn.Module) and type(compiled).__name__ == type(theirs).__name__
    assert compiled._orig_mod is net
    assert list(compiled.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in compiled.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert [name for name, _ in compiled.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert all(one is other for one, other in zip(compiled.parameters(), net.parameters(), strict=True))
    assert torch.equal(compiled(X), net(X)) and torch.equal(compiled.forward(X), net(X))


def test_attributes_are_the_modules():
    net, compiled = made()
    assert compiled.note == "own" and compiled.body is net.body and compiled.offset is net.offset
    compiled.note = "changed"
    compiled.extra = nn.Linear(2, 2)
    compiled.scale = nn.Parameter(torch.ones(2))
    assert net.note == "changed" and net.extra is compiled.extra and "scale" in dict(net.named_parameters())
    del compiled.note
    assert not hasattr(net, "note") and not hasattr(compiled, "note")
    assert {"body", "extra", "forward", "_orig_mod"} <= set(dir(compiled))
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        compiled.missing
    with pytest.raises(TypeError):
        len(compiled)
    assert bool(compiled)
    sequence = minidynamo.compile(nn.Sequential(nn.ReLU(), nn.Tanh()))
    assert len(sequence) == 2 and type(sequence[1]) is nn.Tanh and [type(each) for each in sequence][0] is nn.ReLU


def test_modes_and_conversions():
    net, compiled = made()
    assert compiled.training and compiled.eval() is compiled and not net.training and not net.body[0].training
    compiled.training = True
    assert net.training
    compiled.to(torch.float64)
    assert net.body[0].weight.dtype == torch.float64 and compiled(X.double()).dtype == torch.float64
    assert compiled.float() is compiled and torch.equal(compiled(X), net(X))
    compiled.apply(lambda module: setattr(module, "seen", True))
    assert net.seen and net.body[1].seen


def test_state_is_loaded():
    net, compiled = made()
    torch.manual_seed(1)
    other = torch.compile(Net())
    compiled.load_state_dict(other.state_dict())
    assert torch.equal(compiled(X), other._orig_mod(X)) and torch.equal(net.body[0].weight, other.body[0].weight)


def test_hooks_of_the_wrapper():
    net, compiled = made()
    calls = []
    handle = compiled.register_forward_hook(lambda module, args, result: calls.append(module) or result + 1)
    before = compiled.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    assert torch.equal(compiled(X), net(X * 2) + 1) and calls == [compiled]
    handle.remove(), before.remove()
    assert torch.equal(compiled(X), net(X)) and len(calls) == 1
    net.register_forward_hook(lambda module, args, result: result * 2)
    assert torch.equal(compiled(X), net(X))


def test_its_forward_can_be_replaced():
    net, compiled = made()
    compiled.forward = lambda x: x - 1
    assert torch.equal(compiled(X), X - 1) and net(X).shape == (2, 4)
    del compiled.forward
    assert torch.equal(compiled(X), net(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies(copied):
    net, compiled = made(dynamic=False)
    compiled(X)
    other = copied(compiled)
    assert type(other) is type(compiled) and other._orig_mod is not net
    assert torch.equal(other(X), net(X))
    other._orig_mod.offset.zero_()
    torch.testing.assert_close(other(X), net(X) - 1)
    assert torch.equal(compiled(X), net(X))


def test_within_another_module():
    net, compiled = made()
    outer = nn.Sequential(compiled, nn.Tanh())
    expected = torch.tanh(net(X))
    assert torch.equal(outer(X), expected)
    whole = minidynamo.compile(outer, fullgraph=True)
    torch.testing.assert_close(whole(X), expected)
    assert list(outer.state_dict()) == [f"0._orig_mod.{name}" for name in net.state_dict()]


def test_disable_wraps_a_module():
    net, _ = made()
    kept_out = minidynamo._dynamo.disable(net)
    assert isinstance(kept_out, nn.Module) and kept_out._orig_mod is net and torch.equal(kept_out(X), net(X))


def test_torch_compile_takes_it():
    net, compiled = made()
    assert torch.equal(torch.compile(compiled, backend="eager")(X), net(X))
