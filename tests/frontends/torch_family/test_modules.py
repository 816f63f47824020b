"""torch's modules, captured by inlining them: layers, hooks, parametrizations; plain torch is the oracle."""

import copy
import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from torch import nn

import minidynamo

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return [value]
    return [each for part in value for each in flat(part)]


def same(expected, given):
    assert type(expected) is type(given)
    expected, given = flat(expected), flat(given)
    assert len(expected) == len(given)
    for one, other in zip(expected, given):
        if not isinstance(one, torch.Tensor):
            assert one == other
            continue
        assert one.stride() == other.stride() or one.numel() < 2
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5, equal_nan=True)


def tensors(*shapes):
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


def breaks_of(module, *arguments, **keywords):
    return minidynamo._dynamo.explain(module)(*arguments, **keywords).graph_break_count


def check(module, arguments, breaks=0, **keywords):
    plain = copy.deepcopy(module)
    compiled = minidynamo.compile(module)
    for _ in range(3):
        same(plain(*arguments, **keywords), compiled(*arguments, **keywords))
        # Running statistics and the like.
        same(dict(plain.state_dict()), dict(module.state_dict()))
    assert breaks_of(module, *arguments, **keywords) == breaks


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.named = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.scales = nn.ParameterList([torch.full((4,), 2.0), torch.full((4,), 3.0)])

    def forward(self, x, name):
        for layer, scale in zip(self.layers, self.scales):
            x = self.named[name](layer(x)) * scale
        return x, len(self.layers), "tanh" in self.named


class Forwarding(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.count = 2

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x):
        return (self.inner(x) + self.weight[0]) * self.in_features * self.count


def spectral():
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5))
    return layer.eval()


def lazy():
    layer = nn.Sequential(nn.LazyLinear(6), nn.ReLU(), nn.LazyBatchNorm1d()).eval()
    layer(torch.zeros(2, 5))
    return layer


def tied():
    layer = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    layer[1].weight = layer[0].weight
    return layer


X = (2, 5, 8)
ACTIVATIONS = (nn.ReLU, nn.ReLU6, nn.Hardswish, nn.SiLU, nn.ELU, nn.CELU, nn.SELU, nn.LeakyReLU, nn.Hardtanh, nn.Mish)
MODULES = {
    "linear": (lambda: nn.Sequential(nn.Linear(8, 4), nn.GELU(), nn.Linear(4, 3)), tensors(X)),
    "tied": (tied, tensors((2, 4))),
    "cnn": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()).eval(),
        tensors((2, 3, 8, 8)),
    ),
    "batch norm, training": (lambda: nn.BatchNorm2d(3, track_running_stats=False), tensors((4, 3, 5, 5))),
    "instance norm": (lambda: nn.InstanceNorm2d(3, affine=True), tensors((4, 3, 5, 5))),
    "group norm": (lambda: nn.GroupNorm(2, 4), tensors((3, 4, 6))),
    "dropout": (lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(8, 2)).eval(), tensors(X)),
    "activations in place": (
        lambda: nn.Sequential(
            nn.Linear(8, 4), *(kind(inplace=True) for kind in ACTIVATIONS), nn.Dropout(0.5, True)
        ).eval(),
        tensors(X),
    ),
    "embedding": (lambda: nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4)), (torch.tensor([[1, 2], [3, 9]]),)),
    "lists": (Lists, (*tensors((2, 4)), "tanh")),
    "forwarding": (Forwarding, tensors((2, 3))),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), tensors((2, 4))),
    "spectral norm": (spectral, tensors((2, 4))),
    "lazy": (lazy, tensors((2, 5))),
    "lstm": (lambda: nn.LSTM(8, 6), tensors(X)),
    "lstm, two layers, both directions": (
        lambda: nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True),
        tensors(X),
    ),
    "lstm, projected": (lambda: nn.LSTM(8, 6, proj_size=3), tensors(X)),
    "lstm, without batch": (lambda: nn.LSTM(8, 6), tensors((5, 8))),
    "gru": (lambda: nn.GRU(8, 6, 2, batch_first=True), tensors(X, (2, 2, 6))),
    "gru, without biases": (lambda: nn.GRU(8, 6, bias=False, bidirectional=True), tensors(X)),
    "rnn": (lambda: nn.RNN(8, 6, batch_first=True), tensors(X)),
    "rnn, relu": (lambda: nn.RNN(8, 6, nonlinearity="relu"), tensors(X)),
    "lstm cell": (lambda: nn.LSTMCell(8, 6), tensors((3, 8))),
    "gru cell": (lambda: nn.GRUCell(8, 6), tensors((3, 8), (3, 6))),
    "rnn cell": (lambda: nn.RNNCell(8, 6), tensors((3, 8))),
    "attention, fast path": (lambda: nn.MultiheadAttention(8, 2, batch_first=True).eval(), tensors(X) * 3),
    "attention": (lambda: nn.MultiheadAttention(8, 2), tensors(X) * 3),
    "attention over others": (lambda: nn.MultiheadAttention(8, 2, batch_first=True).eval(), tensors(X, X, X)),
    "encoder layer, fast path": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu").eval(),
        tensors(X),
    ),
    "encoder layer, norm first": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval(),
        tensors(X),
    ),
    "encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval(),
        tensors(X),
    ),
    "decoder layer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval(),
        tensors(X, X),
    ),
    "transformer": (lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(), tensors(X, X)),
}


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    make, arguments = MODULES[name]
    torch.manual_seed(2)
    check(make(), arguments)


def test_running_statistics_are_torchs():
    """Written without a new version, as torch does."""
    check(nn.BatchNorm2d(3), tensors((4, 3, 5, 5)), breaks=0)


PADDED = torch.tensor([[False, False, False, False, True], [False, False, True, True, True]])
MASKS = {
    "keys": {"key_padding_mask": PADDED},
    "queries": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).triu(1)},
    "both": {"key_padding_mask": PADDED, "attn_mask": torch.ones(5, 5, dtype=torch.bool).triu(1)},
    "causal": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).triu(1), "is_causal": True, "need_weights": False},
    "each head": {"average_attn_weights": False},
    "without weights": {"need_weights": False},
}


@pytest.mark.parametrize("name", MASKS)
def test_attention_masks(name):
    torch.manual_seed(2)
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    (x,) = tensors(X)
    check(module, (x, x, x), **MASKS[name])


def test_packed_sequences_are_torchs():
    torch.manual_seed(2)
    lstm = nn.LSTM(8, 6)
    packed = nn.utils.rnn.pack_padded_sequence(tensors((5, 2, 8))[0], [5, 3])
    expected, given = lstm(packed), minidynamo.compile(lstm)(packed)
    same([expected[0].data, *expected[1]], [given[0].data, *given[1]])


def test_hooks_are_called_in_order_and_may_change_values():
    def model():
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        layer[0].register_forward_hook(lambda module, args, result: result + args[0])
        layer[1].register_forward_hook(
            lambda module, args, kwargs, result: result * len(kwargs or (1, 1)), with_kwargs=True
        )
        layer.register_forward_pre_hook(lambda module, args, kwargs: (args, kwargs), with_kwargs=True)
        return layer

    (x,) = tensors((3, 4))
    check(model(), (x,))


def test_changes_of_the_module_are_followed():
    torch.manual_seed(0)
    model, plain = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), None
    plain = copy.deepcopy(model)
    compiled = minidynamo.compile(model)
    (x,) = tensors((3, 4))
    changes = [
        lambda m: m[0].register_forward_hook(lambda module, args, result: result - 1),
        lambda m: m[0].weight.data.mul_(2),
        lambda m: m[0].weight.copy_(torch.ones(4, 4)),
        lambda m: setattr(m[0].weight, "data", torch.eye(4)),
        lambda m: m.__setitem__(1, nn.Tanh()),
        lambda m: m.load_state_dict({"0.weight": torch.full((4, 4), 0.5), "0.bias": torch.zeros(4)}),
        lambda m: setattr(m[0], "bias", None),
        lambda m: m.append(nn.Dropout(0.5)).eval(),
        lambda m: m.double().float(),
        lambda m: m[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,)),
        lambda m: m[0]._forward_hooks.clear(),
        lambda m: setattr(m[0], "forward", lambda x: x * 3),
    ]
    same(plain(x), compiled(x))
    for change in changes:
        change(plain), change(model)
        for _ in range(2):
            same(plain(x), compiled(x))


def test_a_class_attribute_is_followed():
    class Scaled(nn.Module):
        scale = 2.0

        def forward(self, x):
            return x * self.scale

    model = Scaled()
    compiled = minidynamo.compile(model)
    (x,) = tensors((3,))
    same(x * 2, compiled(x))
    Scaled.scale = 3.0
    same(x * 3, compiled(x))


def test_a_lazy_module_is_captured_after_its_first_call():
    torch.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    compiled = minidynamo.compile(model)
    (x,) = tensors((2, 5))
    first = compiled(x)
    assert type(model[0]) is nn.Linear
    same(model(x), first)
    same(model(x), compiled(x))
    assert breaks_of(model, x) == 0
