"""Products whose matrices are read as they come: the memory is NumPy's, so that nothing is ever packed."""

import itertools

import numpy
import pytest

import minidynamo
import minidynamo.nn.functional as F

DTYPES = ("float32", "float64")
# Few rows and many, none of them a multiple of a tile, a strip, a panel or a block of k.
ODD = [
    (1, 257, 1031), (2, 1030, 70), (3, 385, 1000), (5, 4099, 33), (7, 769, 400), (13, 50, 2049), (17, 1025, 49),
    (33, 384, 383), (47, 385, 97), (49, 770, 250), (101, 31, 601), (153, 391, 241), (200, 1030, 513), (457, 400, 50),
    (513, 65, 1025),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_captured():
    """The functions compiled here share their code."""
    minidynamo._dynamo.reset()


def noise(rows, columns, dtype, seed):
    return numpy.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)


def by_rows(matrix):
    return matrix


def by_columns(matrix):
    return numpy.ascontiguousarray(matrix.T).T


def in_a_wider_one(matrix):
    rows, columns = matrix.shape
    wide = numpy.full((rows + 3, columns + 5), numpy.nan, matrix.dtype)
    wide[2 : 2 + rows, 3 : 3 + columns] = matrix
    return wide[2 : 2 + rows, 3 : 3 + columns]


def in_a_taller_one(matrix):
    return in_a_wider_one(matrix.T).T


def spread(matrix):
    """No two elements are neighbours."""
    rows, columns = matrix.shape
    wide = numpy.full((2 * rows, 3 * columns), numpy.nan, matrix.dtype)
    wide[::2, ::3] = matrix
    return wide[::2, ::3]


LAYOUTS = (by_rows, by_columns, in_a_wider_one, in_a_taller_one, spread)


def product(left, right):
    return minidynamo.from_numpy(left) @ minidynamo.from_numpy(right)


def near(found, left, right, bias=0):
    """The distance from the sum in float64 is that of a sum of rounded products."""
    wide, other = left.astype("float64"), right.astype("float64")
    wanted = wide @ other + bias
    error = 4 * numpy.finfo(left.dtype).eps * (numpy.abs(wide) @ numpy.abs(other) + numpy.abs(wanted))
    found = found.numpy()
    assert found.dtype == left.dtype and found.shape == wanted.shape
    assert (numpy.abs(found - wanted) <= error * max(1, left.shape[1]) ** 0.5).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", (by_rows, by_columns))
def test_every_small_shape(layout, dtype):
    left, right = noise(20, 20, dtype, 1), noise(20, 20, dtype, 2)
    for m, k, n in itertools.product(range(21), repeat=3):
        near(product(left[:m, :k], layout(right[:k, :n])), left[:m, :k], right[:k, :n])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", ODD, ids=str)
def test_odd_shapes_in_every_layout(sizes, dtype):
    m, k, n = sizes
    left, right = noise(m, k, dtype, 3), noise(k, n, dtype, 4)
    for one, other in itertools.product(LAYOUTS, repeat=2):
        near(product(one(left), other(right)), left, right)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", (1, 7, 8, 9, 15, 16, 17, 383, 384, 385, 391, 392, 400, 777))
def test_one_row_of_any_length(depth, dtype):
    """Several rows of the matrix are added in one step; what is left of them is added by itself."""
    left, right = noise(1, depth, dtype, 5), noise(depth, 3100, dtype, 6)
    for columns in (4, 8, 9, 17, 31, 64, 65, 256, 1023, 3100):
        for layout in (by_rows, in_a_wider_one):
            near(product(left, layout(right[:, :columns])), left, right[:, :columns])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", ODD, ids=str)
def test_a_bias_and_what_follows_it(sizes, dtype):
    m, k, n = sizes
    left, right, bias = noise(m, k, dtype, 5), noise(k, n, dtype, 6), noise(1, n, dtype, 7)
    for weight in (by_rows(right.T), by_columns(right.T), in_a_wider_one(right.T)):
        x, w, b = (minidynamo.from_numpy(array) for array in (left, weight, bias[0]))
        near(minidynamo.compile(F.linear, fullgraph=True)(x, w, b), left, right, bias)
        positive = minidynamo.compile(lambda x, w, b: F.linear(x, w, b).relu(), fullgraph=True)(x, w, b)
        assert positive.equal(minidynamo.compile(F.linear, fullgraph=True)(x, w, b).relu())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", (by_rows, by_columns))
@pytest.mark.parametrize("sizes", ODD, ids=str)
def test_as_many_threads_as_there_are_give_the_same_bits(sizes, layout, dtype):
    m, k, n = sizes
    left, right = noise(m, k, dtype, 8), layout(noise(k, n, dtype, 9))
    before, found = minidynamo.get_num_threads(), []
    compiled = minidynamo.compile(lambda x, y: x @ y, fullgraph=True)
    try:
        for threads in (1, 2, 3, 2, 1):
            minidynamo.set_num_threads(threads)
            found.append(product(left, right).numpy().tobytes())
            found.append(compiled(minidynamo.from_numpy(left), minidynamo.from_numpy(right)).numpy().tobytes())
    finally:
        minidynamo.set_num_threads(before)
    assert len(set(found[::2])) == 1 and len(set(found[1::2])) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [*ODD, (3, 5, 7), (16, 16, 16), (1, 20, 1)], ids=str)
def test_infinities_and_nans_stay_in_their_rows_and_columns(sizes, layout, dtype):
    """A zero from padding times an infinity would be a NaN elsewhere."""
    m, k, n = sizes
    left, right = noise(m, k, dtype, 10), noise(k, n, dtype, 11)
    left[m // 2, k - 1], left[-1, k // 2] = numpy.nan, numpy.inf
    right[k - 1, n // 3], right[0, -1] = -numpy.inf, numpy.nan
    with numpy.errstate(invalid="ignore"):
        wanted = left.astype("float64") @ right.astype("float64")
    found = product(left, layout(right)).numpy()
    assert (numpy.isnan(found) == numpy.isnan(wanted)).all()
    assert (numpy.isposinf(found) == numpy.isposinf(wanted)).all()
    assert (numpy.isneginf(found) == numpy.isneginf(wanted)).all()
    finite = numpy.isfinite(wanted)
    assert numpy.allclose(found[finite], wanted[finite], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", (1, 5, 40, 130))
def test_operands_and_results_that_share_memory(rows, dtype):
    memory = noise(300, 300, dtype, 12)
    x = minidynamo.from_numpy(memory)
    near(x[:rows] @ x, memory[:rows], memory)
    near(x[:rows] @ x.t(), memory[:rows], memory.T)
    near(x[:rows, 1:257] @ x[30:286, 7:], memory[:rows, 1:257], memory[30:286, 7:])
    near(minidynamo.compile(lambda x: x[:rows] @ x.t(), fullgraph=True)(x), memory[:rows], memory.T)
    # A result that is written over an operand is that of the operand before.
    own, before = minidynamo.from_numpy(memory.copy()), memory.copy()
    own[:rows].copy_(own[:rows] @ own)
    near(own[:rows], before[:rows], before)
    assert (own[rows:].numpy() == before[rows:]).all()


def kernels(left, right):
    minidynamo._dynamo.reset()
    (region,) = minidynamo.explain(lambda x, y: x @ y)(
        minidynamo.from_numpy(left), minidynamo.from_numpy(right)
    ).regions
    return [step.kernel for step in region.plan.steps]


def test_every_method_is_used_and_none_is_that_of_onednn():
    seen = set()
    for m, side, layout in itertools.product((4, 64, 400), (256, 1024), (by_rows, by_columns)):
        (kernel,) = kernels(noise(m, side, "float32", 1), layout(noise(side, side, "float32", 2)))
        assert kernel.startswith("own blocks by ")
        seen.add(kernel.removeprefix("own blocks by ").split(" in ")[0].split(",")[0])
    assert seen == {"rows", "dot products", "tiles", "panels"}
