"""grid_sample by its kernel, beside torch's: modes, paddings, sizes, layouts, places far away, NaN, thread counts."""

import itertools

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

MODES = ["bilinear", "nearest", "bicubic"]
PADDINGS = ["zeros", "border", "reflection"]
# (N, C), sizes of the image, sizes of the grid
SHAPES = [
    ((2, 3), (5, 7), (4, 6)),
    ((1, 1), (1, 1), (3, 5)),
    ((2, 5), (9, 2), (17, 16)),
    ((1, 4), (3, 4, 5), (2, 3, 70)),
    ((3, 2), (1, 6, 2), (5, 1, 9)),
]
TOLERANCES = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}


def pair(shape, dtype):
    (count, channels), sizes, places = shape
    rng = np.random.default_rng(len(sizes) + channels)
    image = rng.standard_normal((count, channels, *sizes))
    grid = rng.uniform(-1.6, 1.6, (count, *places, len(sizes)))
    grid.reshape(-1)[:6] = [-1, 1, 0, 1.0000001, -3, 7]
    return [{lib: lib.from_numpy(each).to(getattr(lib, dtype)) for lib in (md, torch)} for each in (image, grid)]


def same(ours, theirs, dtype):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    tolerance = TOLERANCES[dtype]
    np.testing.assert_allclose(ours.double().numpy(), theirs.double().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode, shape, dtype):
    if mode == "bicubic" and len(shape[1]) == 3:
        pytest.skip("not of volumes")
    image, grid = pair(shape, dtype)
    for padding, corners in itertools.product(PADDINGS, [False, True]):
        results = [lib.nn.functional.grid_sample(image[lib], grid[lib], mode, padding, corners) for lib in (md, torch)]
        same(*results, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", MODES)
def test_narrow_floats(mode, dtype):
    image, grid = pair(SHAPES[0], dtype)
    wide = torch.nn.functional.grid_sample(image[torch].float(), grid[torch].float(), mode, "border", True)
    found = md.nn.functional.grid_sample(image[md], grid[md], mode, "border", True)
    same(found, wide.to(image[torch].dtype), dtype)


@pytest.mark.parametrize("mode", MODES)
def test_strided_operands(mode):
    image, grid = pair(SHAPES[2], "float32")
    layouts = {
        "turned": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
        "every second": lambda x: x.repeat_interleave(2, 0)[::2],
        "channels last": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    }
    expected = torch.nn.functional.grid_sample(image[torch], grid[torch], mode, "zeros", False)
    for turn in layouts.values():
        same(md.nn.functional.grid_sample(turn(image[md]), turn(grid[md]), mode, "zeros", False), expected, "float32")


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_places_that_are_no_numbers(mode, padding):
    """Places that are NaN or far away: what the operations with derivatives give too."""
    image, _ = pair(SHAPES[0], "float32")
    places = [float("nan"), 1e30, -1e30, 0.25]
    grid = md.tensor([[[[x, y] for x in places] for y in places]] * 2)
    found = md.nn.functional.grid_sample(image[md], grid, mode, padding, False)
    composed = md.nn.functional.grid_sample(image[md].clone().requires_grad_(), grid, mode, padding, False).detach()
    finite = np.s_[:, :, 3, 3]
    np.testing.assert_allclose(found.numpy()[finite], composed.numpy()[finite], rtol=1e-5)
    if padding == "border":
        np.testing.assert_allclose(found.numpy(), composed.numpy(), rtol=1e-5)


def test_an_outside_pixel_has_no_part():
    image = md.full((1, 1, 2, 2), float("nan"))
    grid = md.full((1, 1, 1, 2), 5.0)
    assert md.nn.functional.grid_sample(image, grid, "bilinear", "zeros", False).tolist() == [[[[0.0]]]]
    assert md.nn.functional.grid_sample(image, grid, "nearest", "zeros", False).tolist() == [[[[0.0]]]]


def test_number_of_threads():
    image, grid = pair(((2, 3), (40, 50), (300, 40)), "float32")
    before = md.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            md.set_num_threads(threads)
            found.append(md.nn.functional.grid_sample(image[md], grid[md], "bilinear", "zeros", False).numpy())
    finally:
        md.set_num_threads(before)
    assert all(np.array_equal(found[0], each) for each in found)


@pytest.mark.parametrize("mode", MODES)
def test_compiled(mode):
    image, grid = pair(SHAPES[2], "float32")

    @md.compile(fullgraph=True)
    def f(x, places):
        return md.nn.functional.grid_sample(x, places, mode, "border", True) * 2

    expected = torch.nn.functional.grid_sample(image[torch], grid[torch], mode, "border", True) * 2
    same(f(image[md], grid[md]), expected, "float32")


def test_gradients_still_flow():
    image, grid = pair(SHAPES[0], "float64")
    slopes = []
    for lib in (md, torch):
        x, places = image[lib].clone().requires_grad_(), (grid[lib] * 0.37).requires_grad_()
        lib.nn.functional.grid_sample(x, places, "bilinear", "border", True).sum().backward()
        slopes.append((x.grad, places.grad))
    for ours, theirs in zip(*slopes):
        same(ours, theirs, "float64")
