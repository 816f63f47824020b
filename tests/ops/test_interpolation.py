"""Interpolation of images against torch: all modes and dtypes; sizes, scales, and scales that leave a size unchanged."""

import importlib.util
import random

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch

import minidynamo

MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}
SCALES = (0.3, 0.5, 1.0, 1.1, 1.3, 2.0, 2.1, 2.7)
# Relative to the largest element. In the 16-bit dtypes torch itself rounds intermediate results.
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def draw(rng):
    """(shape, dtype, keywords) of a call."""
    mode = rng.choice(list(MODES))
    rank = rng.choice(MODES[mode])
    shape = (rng.choice((1, 2)), rng.choice((1, 3, 5)), *(rng.randint(1, 12) for _ in range(rank)))
    keywords = {"mode": mode}
    if mode in ("bilinear", "bicubic"):
        keywords["antialias"] = rng.random() < 0.5
    if mode in ("linear", "bilinear", "bicubic", "trilinear") and rng.random() < 0.5:
        keywords["align_corners"] = rng.random() < 0.5
    if rng.random() < 0.5:
        keywords["size"] = tuple(rng.choice((size, rng.randint(1, 14))) for size in shape[2:])
    else:
        keywords["scale_factor"] = rng.choice(SCALES) if rng.random() < 0.5 else tuple(rng.choices(SCALES, k=rank))
        if rng.random() < 0.2:
            keywords["recompute_scale_factor"] = True
    return shape, rng.choice(list(TOLERANCES)), keywords


def refuses(keywords, image):
    with pytest.raises((NotImplementedError, RuntimeError)):
        minidynamo.nn.functional.interpolate(minidynamo.from_dlpack(image), **keywords)


def check_drawn(seed):
    rng = random.Random(seed)
    shape, dtype, keywords = draw(rng)
    made = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    image = made.to(dtype)
    try:
        expected = torch.nn.functional.interpolate(image, **keywords)
    except (NotImplementedError, RuntimeError):
        return refuses(keywords, image)
    if keywords.get("antialias") and expected.shape[3] == 1 != expected.shape[2]:
        return None  # torch weighs the columns as if they were rows
    result = torch.from_dlpack(
        minidynamo.nn.functional.interpolate(minidynamo.from_dlpack(image), **keywords).contiguous()
    )
    assert result.shape == expected.shape and result.dtype == dtype
    if expected.numel() == 0:
        return None
    margin = TOLERANCES[dtype] * max(1.0, image.abs().max().item())
    difference = (result.double() - expected.double()).abs().max().item()
    assert difference <= margin, (shape, dtype, keywords, difference)
    return None


@pytest.mark.parametrize("seed", range(300))
def test_drawn(seed):
    check_drawn(seed)
