"""Drawn convolutions of images in any layout, and what follows them: pools, norms, joins."""

import random

import torch

F = torch.nn.functional
LAST = torch.channels_last

AFTERWARDS = [
    lambda y, r, s: y,
    lambda y, r, s: F.relu(y),
    lambda y, r, s: y * s[:, None, None] + r,
    lambda y, r, s: (y + 1, F.gelu(y)),
    lambda y, r, s: F.avg_pool2d(F.silu(y), 2, ceil_mode=True) if min(y.shape[2:]) > 1 else y,
    lambda y, r, s: F.max_pool2d(y, 3, 2, 1),
    lambda y, r, s: y * F.adaptive_avg_pool2d(y, 1).sigmoid(),
    lambda y, r, s: y.mean((2, 3)),
    lambda y, r, s: F.batch_norm(y, s, s.abs() + 1, s, s).clamp_(min=0),
    lambda y, r, s: y.permute(0, 2, 3, 1).reshape(-1, y.shape[1]) @ y.new_ones(y.shape[1], 3),
    # Of one channel, torch joins by strides that say nothing of where elements are.
    lambda y, r, s: torch.cat([y, r], 1) if y.shape[1] > 1 else y,
    lambda y, r, s: y.contiguous() + 1,
    lambda y, r, s: y.add_(r).relu_(),
]


def laid_out(x, layout):
    if layout == 0:
        return x.to(memory_format=LAST)
    if layout == 1:
        return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    if layout == 2:
        return torch.cat([x, x], 3).to(memory_format=LAST)[..., : x.shape[3]]
    return x


def drawn(number):
    """(program, its arguments, the largest error), or None for what torch refuses, or computes wrongly."""
    draw = random.Random(number)
    torch.manual_seed(number)

    def each(*numbers):
        return [draw.choice(numbers) for _ in range(2)]

    groups = draw.choice([1, 1, 1, 2, 4])
    channels, results = groups * draw.choice([1, 2, 3, 8, 16]), groups * draw.choice([1, 2, 5, 8, 16])
    if draw.random() < 0.15:
        groups, results = channels, channels * draw.choice([1, 2])
    kernel, stride, dilation = each(1, 2, 3, 5), each(1, 1, 2, 3), each(1, 1, 2)
    padding = [draw.randrange(d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True)]
    sizes = [max(draw.choice([1, 3, 7, 12, 30, 64]), d * (k - 1) + 1) for k, d in zip(kernel, dilation, strict=True)]
    transposed, dtype = draw.random() < 0.2, draw.choice([torch.float32] * 4 + [torch.float64, torch.bfloat16])
    weight = (channels, results // groups) if transposed else (results, channels // groups)
    x = laid_out(torch.randn(draw.choice([1, 1, 1, 2, 5]), channels, *sizes).to(dtype), draw.randrange(4))
    weight = laid_out(torch.randn(*weight, *kernel).to(dtype), draw.choice([0, 3]))
    bias = torch.randn(results).to(dtype) if draw.random() < 0.6 else None
    after = draw.choice(AFTERWARDS)
    function = F.conv_transpose2d if transposed else F.conv2d
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    try:
        result = function(x, weight, bias, **options)
    except RuntimeError:
        return None
    largest = 5e-2 if dtype == torch.bfloat16 else 1e-4
    exact = function(x.double(), weight.double(), None if bias is None else bias.double(), **options)
    if not torch.allclose(result.double(), exact, rtol=largest, atol=largest):
        return None  # torch 2.13 reads beyond rows of one result in bfloat16
    other, factors = torch.randn_like(result), torch.randn(results).to(dtype)
    return lambda x, weight: after(function(x, weight, bias, **options), other, factors), (x, weight), largest
