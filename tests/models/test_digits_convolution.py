"""The convolutional network trained with torch: one graph, and the digits that torch predicts, in float32 and
bfloat16."""

import sys
from pathlib import Path

import pytest

import minidynamo as md
from minidynamo import _dynamo

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits_convolution"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    for name in ("model", "classify"):
        sys.modules.pop(name, None)
    import classify

    _dynamo.reset()
    yield classify
    for name in ("model", "classify"):
        sys.modules.pop(name, None)


# A bfloat16 has 8 bits: of 1797 images a few may be too close to call.
@pytest.mark.parametrize(("dtype", "others", "apart"), [("float32", 0, 1e-5), ("bfloat16", 3, 0.1)])
def test_digits_are_those_of_torch(example, dtype, others, apart):
    images, labels = example.read_images()
    expected, probabilities = example.read_expected()
    kind = getattr(md, dtype)
    digits, certain, _ = example.classify(example.load_network(kind), images.to(kind))
    assert (digits != expected).sum().item() <= others
    assert (certain.exp() - probabilities.exp()).abs().max().item() <= apart
    assert (digits == labels).float().mean().item() > 0.995


def test_weights_are_found_by_name(example):
    network = example.load_network(md.float32)
    weights = md.safetensors.load_file(EXAMPLE / "weights.safetensors")
    assert set(network.state_dict()) == set(weights)
    assert all(md.equal(value, weights[name]) for name, value in network.state_dict().items())


def test_compiled_is_eager(example):
    images, _ = example.read_images()
    for dtype, apart in ((md.float32, 1e-5), (md.bfloat16, 0.15)):
        network = example.load_network(dtype)
        compiled = md.compile(network, fullgraph=True)
        with md.inference_mode():
            for count in (1, 7, 64):
                batch = images[:count].to(dtype)
                assert md.allclose(compiled(batch).float().exp(), network(batch).float().exp(), atol=apart)


def test_the_program(example, capsys):
    sys.argv = ["classify.py", "--threads", "1"]
    before = md.get_num_threads()
    try:
        assert example.main() == 0
    finally:
        md.set_num_threads(before)
    assert "1797 of 1797 as PyTorch" in capsys.readouterr().out
