"""scatter and kin on several threads: elements of one place are taken in row-major order, whatever the number of threads."""

import numpy
import pytest

import minidynamo

SHAPES = [
    ((64, 300), 1),
    ((64, 300), 0),
    ((3, 70, 90), 1),
    ((3, 70, 90), 0),
    ((1, 20_000), 1),
    ((20_000, 1), 0),
    ((4000,), 0),
]


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = minidynamo.get_num_threads()
    minidynamo.set_num_threads(request.param)
    yield request.param
    minidynamo.set_num_threads(before)


def in_order(start, dim, index, values, combine):
    """Element after element, as the operations are documented."""
    out = start.copy()
    for place in numpy.ndindex(*index.shape):
        to = (*place[:dim], index[place], *place[dim + 1 :])
        out[to] = combine(out[to], values[place])
    return out


@pytest.mark.parametrize("are_rows", [False, True], ids=["elements", "rows"])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_the_order_of_elements_is_kept(threads, shape, dim, are_rows):
    rng = numpy.random.default_rng(len(shape) + dim)
    start, values = (rng.standard_normal(shape).astype("float32") for _ in range(2))
    index = rng.integers(0, min(shape[dim], 40), shape)
    given = [minidynamo.from_numpy(each.copy()) for each in (start, index, values)]
    if are_rows:  # that the index sends as a whole
        index = numpy.broadcast_to(index[..., :1], shape)
        given[1] = given[1][..., :1].expand(shape)
    results = {
        "last": (given[0].scatter(dim, given[1], given[2]), lambda held, value: value),
        "product": (
            given[0].scatter(dim, given[1], given[2], reduce="multiply"),
            lambda held, value: numpy.float32(held * value),
        ),
        "greatest": (given[0].scatter_reduce(dim, given[1], given[2], "amax"), max),
    }
    if len(shape) > 1:  # sums of one dim are made in tables
        results["sum"] = (
            given[0].scatter_add(dim, given[1], given[2]),
            lambda held, value: numpy.float32(held + value),
        )
    for name, (result, combine) in results.items():
        expected = in_order(start, dim, index, values, combine)
        assert numpy.array_equal(result.numpy(), expected), name


@pytest.mark.parametrize("shape, dim", [((0, 5), 1), ((5, 0), 0), ((0,), 0), ((3, 0, 4), 2)])
def test_no_elements(shape, dim):
    into = minidynamo.ones(6, 6, 6)[tuple([0] * (3 - len(shape)))].clone()
    index, values = minidynamo.zeros(shape, dtype=minidynamo.int64), minidynamo.zeros(shape)
    for result in (into.scatter(dim, index, values), into.scatter_add(dim, index, values)):
        assert minidynamo.equal(result, into)
