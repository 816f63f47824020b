"""Interpolation of byte images: bit-identical to torch. Random ones where torch is installed."""

import importlib.util
import random

import pytest

import minidynamo
from minidynamo.nn.functional import interpolate

if TORCH := importlib.util.find_spec("torch") is not None:
    import torch

SCALES = (0.5, 1.0, 1.1, 1.3, 2.0, 2.7, (1.1, 0.6), (1.0, 1.5))
IMAGE = [[200, 110, 40], [220, 255, 3]]
# torch 2.13's numbers; computed in float32 and rounded once, at least one of each would differ.
NUMBERS = [
    ({"mode": "bilinear", "size": (3, 5)}, [[200, 164, 110, 68, 40], [210, 199, 183, 86, 22], [220, 234, 255, 104, 3]]),
    ({"mode": "bilinear", "scale_factor": (1.5, 0.7)}, [[181, 65], [205, 79], [228, 93]]),
    ({"mode": "bicubic", "size": (3, 4)}, [[205, 141, 67, 38], [212, 203, 122, 18], [218, 255, 176, 0]]),
    (
        {"mode": "bicubic", "size": (5, 4), "align_corners": True},
        [[200, 146, 78, 40], [205, 171, 101, 32], [210, 201, 129, 22], [215, 230, 157, 11], [220, 255, 180, 3]],
    ),
    ({"mode": "bicubic", "scale_factor": 1.1}, IMAGE),
]


@pytest.mark.parametrize(("keywords", "expected"), NUMBERS)
def test_numbers(keywords, expected):
    image = minidynamo.tensor([[IMAGE]], dtype=minidynamo.uint8)
    assert interpolate(image, **keywords).tolist() == [[expected]]
    assert minidynamo.compile(interpolate)(image, **keywords).tolist() == [[expected]]


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "bool"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_other_integer_dtypes(name, mode):
    image = minidynamo.zeros(1, 1, 3, 3).to(getattr(minidynamo, name))
    with pytest.raises(NotImplementedError, match=f"{mode} is not implemented for"):
        interpolate(image, size=(4, 4), mode=mode)


@pytest.mark.parametrize(("mode", "sizes"), [("linear", (3,)), ("trilinear", (3, 3, 3))])
def test_bytes_of_other_ranks(mode, sizes):
    image = minidynamo.zeros(1, 1, *sizes).to(minidynamo.uint8)
    with pytest.raises(NotImplementedError, match=f"{mode} is not implemented for"):
        interpolate(image, size=4, mode=mode)


def draw(rng):
    """(shape, keywords) of a call."""
    shape = (rng.choice((1, 2)), rng.choice((1, 2, 3, 4, 5, 8)), rng.randint(1, 9), rng.randint(1, 9))
    keywords = {"mode": rng.choice(("bilinear", "bicubic")), "antialias": rng.random() < 0.4}
    if rng.random() < 0.5:
        keywords["align_corners"] = rng.random() < 0.5
    if rng.random() < 0.5:
        keywords["size"] = (rng.choice((shape[2], rng.randint(1, 14))), rng.randint(1, 14))
    else:
        keywords["scale_factor"] = rng.choice(SCALES)
        if rng.random() < 0.3:
            keywords["recompute_scale_factor"] = True
    return shape, keywords


def draw_image(rng, shape):
    whole = torch.Generator().manual_seed(rng.getrandbits(32))
    image = torch.randint(0, 256, shape, dtype=torch.uint8, generator=whole)
    if rng.random() < 0.3:
        image = (image // 128) * 255
    return image.to(memory_format=torch.channels_last) if rng.random() < 0.3 else image


def check_drawn(seed):
    rng = random.Random(seed)
    shape, keywords = draw(rng)
    image = draw_image(rng, shape)
    try:
        expected = torch.nn.functional.interpolate(image, **keywords)
    except RuntimeError as error:
        if "INTERNAL ASSERT" in str(error):  # a fault of torch's
            return
        with pytest.raises(RuntimeError):
            interpolate(minidynamo.from_dlpack(image), **keywords)
        return
    if shape[1] > 4 and expected.shape[3] == 1 != expected.shape[2]:
        # torch weighs the columns as if they were rows, and returns the first pixel for all: four channels are right.
        image, shape = image[:, :4], (shape[0], 4, *shape[2:])
        expected = torch.nn.functional.interpolate(image, **keywords)
    result = torch.from_dlpack(interpolate(minidynamo.from_dlpack(image), **keywords))
    assert torch.equal(result, expected), (shape, keywords, result, expected)


@pytest.mark.skipif(not TORCH, reason="torch is not installed")
@pytest.mark.parametrize("seed", range(200))
def test_drawn(seed):
    check_drawn(seed)
