"""Lazy layers become ordinary ones of the sizes of the first input."""

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
