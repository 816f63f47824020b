"""Results of torch's functions have the strides that torch gives, whatever the layout of their input."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch
from compiled_torch import compared

F = torch.nn.functional

IMAGES = {
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True),
    "adaptive_avg_pool2d of one": lambda x: F.adaptive_avg_pool2d(x, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "conv2d": lambda x: F.conv2d(x, torch.ones(5, 4, 3, 3), torch.zeros(5), padding=1),
    "conv2d of channels last": lambda x: F.conv2d(x, torch.ones(5, 4, 3, 3).to(memory_format=torch.channels_last)),
    "conv2d of one": lambda x: F.conv2d(x, torch.ones(5, 4, 1, 1)),
    "conv2d by channels": lambda x: F.conv2d(x, torch.ones(4, 1, 3, 3), groups=4),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, torch.ones(4, 3, 2, 2)),
    "cat": lambda x: torch.cat([x, x], 1),
    "cumsum": lambda x: x.cumsum(1),
    "dropout": lambda x: F.dropout(x, training=False),
    "flip": lambda x: x.flip(2),
    "full_like": lambda x: torch.full_like(x, 2),
    "gelu": lambda x: F.gelu(x),
    "group_norm": lambda x: F.group_norm(x, 2, torch.ones(4), torch.zeros(4)),
    "instance_norm": lambda x: F.instance_norm(x),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "interpolate bicubic": lambda x: F.interpolate(x, size=(5, 3), mode="bicubic"),
    "interpolate bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "logsigmoid": lambda x: F.logsigmoid(x),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2, 2),
    "max of a dim": lambda x: x.max(1),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d with places": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "mean of dims": lambda x: x.mean((2, 3), keepdim=True),
    "normalize": lambda x: F.normalize(x),
    "pad": lambda x: F.pad(x, (1, 2, 1, 0)),
    "pad circular": lambda x: F.pad(x, (1, 2, 1, 0), "circular"),
    "pad reflect": lambda x: F.pad(x, (1, 2, 1, 0), "reflect"),
    "pad replicate": lambda x: F.pad(x, (1, 2, 1, 0), "replicate"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "prelu": lambda x: F.prelu(x, torch.ones(4)),
    "relu of a sum": lambda x: F.relu(x + x.mean()),
    "repeat": lambda x: x.repeat(1, 2, 1, 1),
    "reshape": lambda x: (x + 1).reshape(2, 4, -1),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[1:]),
    "roll": lambda x: x.roll(1, 2),
    "softmax": lambda x: x.softmax(1),
    "sort": lambda x: x.sort(1),
    "sum of a dim": lambda x: x.sum(1),
    "topk": lambda x: x.topk(2, 1),
    "unfold": lambda x: F.unfold(x, 2),
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "zeros_like": lambda x: torch.zeros_like(x),
}
LAYOUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "one image": lambda x: x[:1].contiguous(memory_format=torch.channels_last),
    "transposed": lambda x: x.transpose(2, 3),
    "with gaps": lambda x: torch.cat([x, x], 3)[:, :, :, ::2],
    "one channel wide": lambda x: x[:, :, :, :6].permute(1, 0, 2, 3).contiguous().permute(1, 0, 2, 3),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", IMAGES)
def test_strides_of_results(name, layout):
    torch.manual_seed(0)
    image = LAYOUTS[layout](torch.randn(2, 4, 6, 6))
    function = IMAGES[name]
    found = compared(lambda positional, keywords: function(*positional), ((image,), {}))
    assert found.kind != "different", found.text
