"""Functions whose regions save NumPy less than they cost are left to Python after some calls; what pays is captured on and on."""

import numpy as np
import pytest
from compared import difference

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import config

pytestmark = pytest.mark.skipif(config.snapshot_stress != 0, reason="regions end where the stress switch says")


def counted(function, *arguments):
    """The result, and how much some counters have grown."""
    before = _C.engine_counters()
    result = function(*arguments)
    after = _C.engine_counters()
    return result, {name: after[name] - before[name] for name in ("regions_run", "plans_run", "frames_driven")}


def flooded(grid):
    seen = np.zeros(grid.shape, dtype=bool)
    stack = [(0, 0)]
    while stack:
        row, column = stack.pop()
        is_inside = 0 <= row < grid.shape[0] and 0 <= column < grid.shape[1]
        if not is_inside or seen[row, column] or grid[row, column]:
            continue
        seen[row, column] = True
        stack += [(row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)]
    return seen, seen.sum()


def distance(grid):
    a, b = grid[0], grid[1]
    before = np.arange(len(b) + 1)
    for i, item in enumerate(a, 1):
        now = np.empty_like(before)
        now[0] = i
        now[1:] = np.minimum(before[:-1] + (b != item), before[1:] + 1)
        for j in range(1, len(now)):
            if now[j - 1] + 1 < now[j]:
                now[j] = now[j - 1] + 1
        before = now
    return int(before[-1])


def sorted_by_parts(grid):
    def parts(values):
        if len(values) <= 1:
            return values
        middle = values[len(values) // 2]
        return np.concatenate(
            [parts(values[values < middle]), values[values == middle], parts(values[values > middle])]
        )

    return parts(np.cumsum(grid[:3]) % 7)


def counts(grid):
    found = {}
    for value in grid.ravel():
        found[value] = found.get(value, 0) + 1
    return grid.sum(), {int(key): count for key, count in found.items()}, grid[0].max() + 1


def rows_of_few_numbers(grid):
    low, high, out = 1.0, 2.0, np.empty((90, 3))
    for i in range(90):
        step = low * 0.25
        low += step
        high -= step
        out[i] = low, high, step
    return out, int(out[:, 1].argmax())


POOR = [flooded, distance, sorted_by_parts, counts, rows_of_few_numbers]


def smoothed(grid):
    x = grid * 1.0
    for _ in range(4):
        x = (x + np.roll(x, 1) + np.sqrt(x * x + 1) * 0.5) / 3 - x.mean() * np.exp(-x)
        if x.sum() > 1e9:
            break
    return x


GRID = np.array([[0, 1, 0, 0, 1, 0, 2, 0] * 2] * 6)


@pytest.mark.parametrize("function", POOR)
def test_poor_functions_are_left(function):
    compiled = minidynamo.compile(function)
    for _ in range(40):
        assert not difference(compiled(GRID), function(GRID))
    result, grown = counted(compiled, GRID)
    assert not difference(result, function(GRID))
    assert grown == {"regions_run": 0, "plans_run": 0, "frames_driven": 0}


def test_good_functions_are_kept():
    compiled = minidynamo.compile(smoothed)
    for _ in range(40):
        result, grown = counted(compiled, GRID)
        assert np.allclose(result, smoothed(GRID))
    assert grown["plans_run"] > 0


def test_callees_of_a_poor_function_are_captured():
    def outer(grid):
        total, found = 0.0, {}
        for value in grid.ravel():
            found[value] = found.get(value, 0) + 1
        if grid[0].max() > 1:
            total = smoothed(grid)
        return total, len(found)

    compiled = minidynamo.compile(outer)
    for _ in range(60):
        result, grown = counted(compiled, GRID)
        assert np.allclose(result[0], smoothed(GRID)) and result[1] == 3
    assert grown["plans_run"] > 0


def test_other_policies_are_kept_to():
    compiled = minidynamo.compile(lambda x: x[0] + x[1], fullgraph=True)
    for _ in range(40):
        _, grown = counted(compiled, np.arange(3.0))
    assert grown["plans_run"] == 1
