"""torch's grid_sample, captured: places outside, at the edges, and that are no numbers."""

import itertools

import pytest

torch = pytest.importorskip("torch")

import minidynamo  # noqa: E402

F = torch.nn.functional
PLACES = [-3.0, -1.0, -0.999, 0.0, 0.3, 1.0, 1.7, float("nan"), float("inf"), -float("inf")]
WAYS = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False)))


@pytest.mark.parametrize(("mode", "padding", "corners"), WAYS)
@pytest.mark.parametrize("rank", [2, 3])
def test_results(rank, mode, padding, corners):
    torch.manual_seed(0)
    image = torch.randn(2, 3, *(5, 4, 6)[:rank])
    grid = torch.tensor(list(itertools.product(PLACES, PLACES, (0.1,)))[:: 1 if rank == 2 else 3])[:, :rank]
    grid = grid.expand(2, *[1] * (rank - 1), *grid.shape)

    def sample(image, grid):
        return F.grid_sample(image, grid, mode, padding, corners) * 2

    for dtype in (torch.float32, torch.float64):
        given = image.to(dtype), grid.to(dtype)
        found = []
        for function in (sample, minidynamo.compile(sample)):
            try:
                found.append(function(*given))
            except RuntimeError as error:
                found.append(str(error))
        if isinstance(found[0], str):
            assert found[0] == found[1]
        else:
            torch.testing.assert_close(*found, equal_nan=True)
