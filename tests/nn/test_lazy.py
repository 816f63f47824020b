"""Lazy layers become ordinary ones of the sizes of the first input."""

import copy

import pytest

import minidynamo as md
from minidynamo import nn

CASES = [
    ("Linear", (3,), (2, 4)),
    *((f"Conv{rank}d", (3, 2), (2, 4, *[5] * rank)) for rank in (1, 2, 3)),
    *((f"ConvTranspose{rank}d", (3, 2), (2, 4, *[5] * rank)) for rank in (1, 2, 3)),
    *((f"{kind}Norm{rank}d", (), (2, 4, *[5] * rank)) for rank in (1, 2, 3) for kind in ("Batch", "Instance")),
]


@pytest.mark.parametrize("name, args, shape", CASES)
def test_the_first_call_makes_the_layer(name, args, shape):
    layer = getattr(nn, f"Lazy{name}")(*args)
    names = list(layer.state_dict())
    assert layer.has_uninitialized_params()
    layer(md.randn(*shape))
    assert type(layer) is getattr(nn, name) and list(layer.state_dict()) == names
    assert all(tensor.numel() > 0 for tensor in layer.state_dict().values())


def test_weights_may_be_loaded_first():
    layer, given = nn.LazyLinear(3), nn.Linear(4, 3)
    layer.load_state_dict(given.state_dict())
    x = md.randn(2, 4)
    assert md.equal(layer(x), given(x)) and layer.in_features == 4


@pytest.mark.parametrize("name", [f"LazyBatchNorm{rank}d" for rank in (1, 2, 3)])
def test_each_tensor_of_a_lazy_layer_knows_its_place(name):
    layer = getattr(nn, name)()
    for key in ("weight", "bias", "running_mean", "running_var"):
        getattr(layer, key).materialize((5,))
        assert getattr(layer, key).shape == (5,)
    assert not layer.has_uninitialized_params()


class Scale(nn.lazy.LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", nn.UninitializedBuffer())
        self.factor = nn.UninitializedParameter()

    def initialize_parameters(self, x):
        for tensor in (self.factor, self.shift):
            tensor.materialize((x.shape[-1],))
        self.factor.detach().fill_(2)
        self.shift.fill_(1)

    def forward(self, x):
        return x * self.factor + self.shift


def test_a_copy_of_a_lazy_module_is_materialized_itself():
    given = Scale()
    copies = [given, copy.deepcopy(given)]
    for each, size in zip(copies, (3, 4)):
        assert each(md.ones(size)).tolist() == [3.0] * size
        assert each.factor.shape == (size,) and type(each.factor) is nn.Parameter
