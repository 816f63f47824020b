"""Convolutions of images whose channels lie last: values and strides as torch's, computed in that layout."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch
from channels_last_programs import drawn

import minidynamo

F = torch.nn.functional
LAST = torch.channels_last

# Sizes of the image and the kernel, and the options of the convolution.
CONVOLUTIONS = {
    "one by one": ((1, 16, 9, 7), (24, 16, 1, 1), {}),
    "padded": ((2, 16, 9, 7), (8, 16, 3, 3), {"padding": 1}),
    "stride": ((1, 3, 21, 18), (8, 3, 3, 3), {"stride": 2, "padding": 1}),
    "patches": ((1, 4, 16, 24), (32, 4, 4, 4), {"stride": 4}),
    "dilated": ((1, 8, 13, 12), (8, 8, 3, 3), {"dilation": 2, "padding": (2, 1)}),
    "groups": ((3, 8, 6, 5), (16, 4, 3, 3), {"groups": 2}),
    "by channels": ((1, 32, 10, 11), (32, 1, 3, 3), {"groups": 32, "padding": 1}),
    "several of a channel": ((1, 6, 8, 8), (12, 1, 5, 5), {"groups": 6, "padding": 2, "stride": (1, 2)}),
    "rows in pieces": ((1, 32, 64, 40), (48, 32, 3, 3), {"padding": 1}),
    "rows in pieces, stride": ((1, 24, 83, 40), (40, 24, 5, 3), {"padding": (2, 0), "stride": (2, 1)}),
    "more padding than pieces": ((1, 32, 3, 512), (64, 32, 7, 7), {"padding": 4}),
    "images in pieces": ((4, 32, 24, 24), (32, 32, 3, 3), {"padding": 1}),
    "transposed": ((1, 8, 5, 6), (8, 6, 2, 2), {"stride": 2, "transposed": True}),
    "transposed, in groups": ((2, 8, 5, 6), (8, 3, 3, 3), {"stride": 2, "groups": 2, "padding": 1, "transposed": True}),
}

# What is done with the result, besides another image of its layout and one row by row.
AFTERWARDS = {
    "nothing": lambda y, other, plain: y,
    "relu": lambda y, other, plain: F.relu(y),
    "batch norm": lambda y, other, plain: F.relu(F.batch_norm(y, y.new_zeros(y.shape[1]), y.new_ones(y.shape[1]))),
    "residual": lambda y, other, plain: F.gelu(y + other),
    "residual of another layout": lambda y, other, plain: (y * 2 + plain).sigmoid(),
    "both seen": lambda y, other, plain: (y, y.tanh(), other + y),
    "turned": lambda y, other, plain: (y + 1).permute(0, 2, 3, 1).softmax(-1) * 2,
    "another convolution": lambda y, other, plain: F.conv2d(F.silu(y), y.new_ones(5, y.shape[1], 1, 1)),
}

LAYOUTS = {"images": (True, False), "both": (True, True), "weights": (False, True)}


def parts_of(result):
    return result if isinstance(result, tuple) else (result,)


def strides(tensor):
    """Of the dims that lead to other elements."""
    return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def check(program, *arguments, largest=1e-4, seen=torch.Tensor.stride, **options):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(program, fullgraph=True, **options)
    expected = parts_of(program(*arguments))
    for _ in range(2):
        for own, other in zip(parts_of(compiled(*arguments)), expected, strict=True):
            torch.testing.assert_close(own, other, rtol=largest, atol=largest)
            assert seen(own) == seen(other)


@torch.no_grad()
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, afterwards, layout):
    torch.manual_seed(0)
    image, kernel, options = CONVOLUTIONS[name]
    options = dict(options)
    function = F.conv_transpose2d if options.pop("transposed", False) else F.conv2d
    image_lies_last, weights_lie_last = LAYOUTS[layout]
    x, weight = torch.randn(image), torch.randn(kernel)
    x = x.to(memory_format=LAST) if image_lies_last else x
    weight = weight.to(memory_format=LAST) if weights_lie_last else weight
    bias = torch.randn(weight.shape[1] * options.get("groups", 1) if function is F.conv_transpose2d else kernel[0])
    result = function(x, weight, bias, **options)
    other, plain = torch.randn_like(result), torch.randn(result.shape)

    def program(x, weight, bias, other, plain):
        return AFTERWARDS[afterwards](function(x, weight, bias, **options), other, plain)

    check(program, x, weight, bias, other, plain)


@torch.no_grad()
def check_drawn(number):
    case = drawn(number)
    if case is None:
        return
    program, (x, weight), largest = case
    weight = torch.nn.Parameter(weight, requires_grad=False) if number % 2 else weight
    check(program, x, weight, largest=largest, seen=strides, options={"freeze": number % 3 == 0})


@pytest.mark.parametrize("number", range(150))
def test_drawn(number):
    check_drawn(number)


@torch.no_grad()
def test_images_of_other_sizes():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 1)
    )
    model = model.eval().to(memory_format=LAST)
    compiled = minidynamo.compile(model)
    for size in (12, 17, 30, 12, 8):
        x = torch.randn(2, 3, size, size + 3).to(memory_format=LAST)
        expected, found = model(x), compiled(x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        assert found.stride() == expected.stride()


@torch.no_grad()
@pytest.mark.parametrize("layers, lengths", [(1, (2, 30, 8)), (2, (1, 40, 8))])
def test_sequences(layers, lengths):
    weights = [torch.randn(8, 8, 3) for _ in range(layers)]

    def program(x):
        for weight in weights:
            x = F.relu(F.conv1d(x.transpose(1, 2), weight, padding=1)).transpose(1, 2)
        return x.contiguous()

    check(program, torch.randn(lengths))


@torch.no_grad()
def test_volumes():
    x = torch.randn(2, 4, 5, 6, 7).to(memory_format=torch.channels_last_3d)
    weight = torch.randn(6, 4, 3, 3, 3)
    check(lambda x: F.relu(F.conv3d(x, weight, padding=1)), x)


@torch.no_grad()
def test_it_is_one_step():
    x = torch.randn(1, 32, 20, 20).to(memory_format=LAST)
    weight, other = torch.randn(16, 32, 3, 3), torch.randn(1, 16, 18, 18).to(memory_format=LAST)
    report = minidynamo._dynamo.explain(lambda x: F.relu(F.conv2d(x, weight) + other))(x)
    assert len(report.regions[0].plan.steps) == 1


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("height, width", [(128, 98), (4099, 1), (257, 97), (24, 3)])
def test_copies_of_long_rows(height, width, dtype):
    x = torch.randint(0, 100, (2, height, width, 40)).to(dtype)
    check(lambda x: (x.permute(0, 3, 1, 2).contiguous(), x.permute(0, 3, 1, 2).reshape(2, 40, -1)), x)


@torch.no_grad()
def test_fold_is_contiguous():
    check(lambda x: F.fold(x, (8, 12), 4, stride=4), torch.randn(2, 48, 6))
