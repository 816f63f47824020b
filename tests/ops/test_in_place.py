"""In-place variants, out= variants, indexing and its writes, views that share storage: against NumPy, errors of
torch's classes."""

import numpy as np
import pytest

import minidynamo as md
from minidynamo import _C

ROWS = _C._op_rows()
IN_PLACE = sorted({row["name"].split(".")[0] for row in ROWS if row["in_place"]})


def t(data, dtype=md.float32):
    return md.tensor(data, dtype=dtype)


def test_every_row_with_the_variant_has_its_method():
    for name in IN_PLACE:
        assert callable(getattr(md.Tensor, name + "_")), name


@pytest.mark.parametrize("name", ["neg", "abs", "sqrt", "exp", "relu", "tanh", "sigmoid", "floor", "sign"])
def test_a_unary_variant_writes_the_functions_result_and_returns_self(name):
    x = t([[0.5, 1.5], [2.0, 4.0]])
    expected = getattr(x, name)().tolist()
    assert getattr(x, name + "_")() is x
    assert x.tolist() == expected


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "remainder", "eq", "lt", "floor_divide"])
@pytest.mark.parametrize("other", [3.0, [2.0, 5.0], [[1.0], [2.0]]])
def test_a_binary_variant_broadcasts_into_self(name, other):
    x = t([[1.0, 2.0], [3.0, 4.0]])
    other = t(other) if isinstance(other, list) else other
    expected = getattr(x, name)(other).float().tolist()
    assert getattr(x, name + "_")(other) is x
    assert x.tolist() == expected and x.dtype is md.float32


def test_operators_write_in_place_and_keep_the_object():
    x = t([1.0, 2.0, 4.0])
    same, view = x, x[1:]
    x += 1
    x -= t([1.0, 1.0, 1.0])
    x *= 4
    x /= 2
    x **= 2
    assert x is same and x.tolist() == [4.0, 16.0, 64.0] and view.tolist() == [16.0, 64.0]
    n = md.tensor([7, 9])
    kept = n
    n //= 2
    n %= 3
    n <<= 2
    n |= 1
    n &= 5
    n ^= 2
    n >>= 1
    assert n is kept and n.tolist() == [(((0 << 2 | 1) & 5) ^ 2) >> 1, (((1 << 2 | 1) & 5) ^ 2) >> 1]


def test_matmul_has_no_in_place_variant_and_rebinds():
    x = md.eye(2)
    old = x
    x @= t([[1.0, 2.0], [3.0, 4.0]])
    assert x is not old and x.tolist() == [[1.0, 2.0], [3.0, 4.0]] and old.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_versions_count_writes_of_the_storage():
    x = t([1.0, 2.0])
    view = x[0]
    assert x._version == 0
    x.add_(1)
    view.zero_()
    x[1] = 7
    md.add(x, x, out=x)
    assert x._version == view._version == 4
    assert x.tolist() == [0.0, 14.0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: md.tensor([1, 2]).add_(1.5),
            RuntimeError,
            "result type Float can't be cast to the desired output type Long",
        ),
        (
            lambda: md.tensor([True]).add_(1),
            RuntimeError,
            "result type Long can't be cast to the desired output type Bool",
        ),
        (lambda: md.tensor([1, 2]).sqrt_(), RuntimeError, "result type Float can't be cast"),
        (
            lambda: t([1.0]).add_(t([1.0, 2.0])),
            RuntimeError,
            "output with shape [1] doesn't match the broadcast shape [2]",
        ),
        (lambda: t([1.0]).expand(3).add_(1), RuntimeError, "more than one element of the written-to tensor"),
        (
            lambda: (lambda x: x[1:].add_(x[:-1]))(md.zeros(4)),
            RuntimeError,
            "some elements of the input tensor and the written-to",
        ),
        (lambda: (lambda x: x[1:].copy_(x[:-1]))(md.zeros(4)), RuntimeError, "some elements of the input tensor"),
        (lambda: md.zeros(2, 3)[0].copy_(md.zeros(2)), RuntimeError, "must match the existing size (2)"),
        (lambda: md.zeros(2).fill_(md.zeros(2)), RuntimeError, "0-dimension value tensor"),
        (lambda: md.zeros(2, requires_grad=True).add_(1), RuntimeError, "a leaf Variable that requires grad"),
        (lambda: md.zeros(2).add_("x"), TypeError, "add"),
        (lambda: md.zeros(2).add_(), TypeError, "missing"),
        (lambda: md.zeros(2).clamp_(), RuntimeError, "At least one of"),
        (lambda: md.add(md.zeros(2), 1, out=md.tensor([1, 2])), RuntimeError, "can't be cast"),
        (lambda: md.matmul(md.eye(2), md.eye(2), out=md.tensor([[1]])), RuntimeError, "dtype"),
        (lambda: md.add(md.zeros(2), 1, out=3), TypeError, "argument 'out' must be Tensor"),
    ],
)
def test_failing_writes_raise_as_in_torch_and_change_nothing(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_results_are_cast_down_to_the_target():
    x = t([1.0, 2.0])
    x.add_(md.tensor([0.5, 0.5], dtype=md.float64))
    assert x.dtype is md.float32 and x.tolist() == [1.5, 2.5]
    n = md.tensor([1, 2])
    n.copy_(t([3.9, -3.9]))
    assert n.tolist() == [3, -3]


def test_writes_to_strided_views():
    x = md.arange(12, dtype=md.float32).reshape(3, 4)
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    x.t()[1:3].mul_(10)
    expected.T[1:3] *= 10
    x[:, ::2].add_(x[:, 1::2])
    expected[:, ::2] += expected[:, 1::2].copy()
    x[1].copy_(x[0])
    expected[1] = expected[0]
    assert np.array_equal(x.numpy(), expected)


def test_out_is_filled_returned_and_resized():
    a, b = t([1.0, 2.0]), t([3.0, 4.0])
    out = md.empty(2)
    assert md.add(a, b, out=out) is out and out.tolist() == [4.0, 6.0]
    out = md.empty(0)
    md.mul(a, b, out=out)
    assert out.tolist() == [3.0, 8.0]
    with pytest.warns(UserWarning, match="was resized"):
        md.mul(a, b, out=(wrong := md.zeros(3)))
    assert wrong.tolist() == [3.0, 8.0]
    values, indices = md.empty(2), md.empty(2, dtype=md.int64)
    md.max(t([[1.0, 5.0], [7.0, 2.0]]), 1, out=(values, indices))
    assert values.tolist() == [5.0, 7.0] and indices.tolist() == [1, 0]
    wide = md.empty(2, dtype=md.float64)
    md.add(a, b, out=wide)
    assert wide.tolist() == [4.0, 6.0]
    md.add(out, 1, out=out)
    assert out.tolist() == [4.0, 9.0]


KEYS = [
    1, -1, slice(None), slice(1, None, 2), None, Ellipsis, (0, 1), (Ellipsis, 2), (None, slice(None), 1), (slice(None), slice(0, 3)),
    [0, 2], (slice(None), [1, 0, 1]), ([0, 1], [2, 3]), ([0, 2], slice(1, 3)), (1, [0, 2]), ([[0, 1], [1, 2]],), (slice(None), None, [3, 0]),
    ([0, 1], slice(None), [2, 0]), (Ellipsis, [1]), True, False, (slice(None), True), [], -3, ([-1, 0], -2),
]  # fmt: skip


def numpy_key(key):
    if isinstance(key, tuple):
        return tuple(numpy_key(item) for item in key)
    return np.array(key, dtype=np.int64) if isinstance(key, list) else key


def tensor_key(key):
    if isinstance(key, tuple):
        return tuple(tensor_key(item) for item in key)
    return md.tensor(key, dtype=md.int64) if isinstance(key, list) else key


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("as_tensors", [False, True])
def test_reads_and_writes_by_key(key, as_tensors):
    array = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    x = md.tensor(array)
    ours = tensor_key(key) if as_tensors else key
    theirs = numpy_key(key)
    assert np.array_equal(x[ours].numpy(), array[theirs])
    x[ours] = -1
    array[theirs] = -1
    assert np.array_equal(x.numpy(), array)
    values = np.arange(array[theirs].size, dtype=np.float32).reshape(array[theirs].shape)
    x[ours] = md.tensor(values)
    array[theirs] = values
    assert np.array_equal(x.numpy(), array)
    x.transpose(0, 2)[ours if not isinstance(ours, tuple) else 0] = 2
    array.transpose(2, 1, 0)[theirs if not isinstance(key, tuple) else 0] = 2
    assert np.array_equal(x.numpy(), array)


def test_masks():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = md.tensor(array)
    assert np.array_equal(x[x > 5].numpy(), array[array > 5])
    rows = md.tensor([True, False, True])
    assert np.array_equal(x[rows].numpy(), array[rows.numpy()])
    assert np.array_equal(x[rows, 1:].numpy(), array[rows.numpy(), 1:])
    x[x > 5] = 0
    array[array > 5] = 0
    x[rows] = md.tensor([9.0, 8.0, 7.0, 6.0])
    array[rows.numpy()] = [9.0, 8.0, 7.0, 6.0]
    x[rows, 0] = md.tensor([1.0, 2.0])
    array[rows.numpy(), 0] = [1.0, 2.0]
    assert np.array_equal(x.numpy(), array)
    assert x[md.tensor(True)].shape == (1, 3, 4) and x[md.tensor(1)].tolist() == array[1].tolist()


def test_stored_values_are_cast_and_lose_leading_ones():
    x = md.zeros(2, 3, dtype=md.int64)
    x[0] = md.tensor([[[1.9, 2.9, 3.9]]])
    x[1, 1] = 7.7
    x[1, 2] = md.tensor(5)
    x[1, 0] = np.float32(4)
    assert x.tolist() == [[1, 2, 3], [4, 7, 5]]
    x[0] = np.array([6, 6, 6])
    assert x[0].tolist() == [6, 6, 6]


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (5, IndexError, "out of bounds"),
        ((0, 0, 0), IndexError, "too many indices"),
        ("a", TypeError, "valid indices"),
        (1.0, IndexError, "valid indices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        ([5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (([0, 1], [0, 1, 2]), IndexError, "could not be broadcast together"),
        (md.tensor([0.5]), IndexError, "must be long, int, byte or bool"),
        (md.tensor([True, False, True]), IndexError, "The shape of the mask [3] at index 0"),
    ],
    ids=repr,
)
def test_wrong_keys(key, error, words):
    x = md.zeros(2, 3)
    for act in (lambda: x[key], lambda: x.__setitem__(key, 1)):
        with pytest.raises(error) as caught:
            act()
        assert words in str(caught.value)
    assert x.tolist() == [[0.0] * 3] * 2


def test_wrong_values_to_store():
    x = md.zeros(2, 3)
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1, 2, 3]
    with pytest.raises(RuntimeError, match="must match the existing size"):
        x[0] = md.zeros(2)
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[[0]] = md.zeros(3, dtype=md.float64)
    assert x.tolist() == [[0.0] * 3] * 2


def test_as_strided_is_a_view_inside_its_storage():
    x = md.arange(6, dtype=md.float32)
    view = x.as_strided((2, 2), (2, 1), 1)
    view.add_(10)
    assert x.tolist() == [0.0, 11.0, 12.0, 13.0, 14.0, 5.0]
    assert x[2:].as_strided((2,), (1,)).tolist() == [12.0, 13.0]
    for wrong in [((3, 3), (3, 1), 0), ((2,), (1,), 5)]:
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            x.as_strided(*wrong)
    with pytest.raises(RuntimeError, match="mismatch in length"):
        x.as_strided((2,), (1, 1))
    with pytest.raises(RuntimeError, match="Negative strides"):
        x.as_strided((2,), (-1,), 3)


def test_index_functions():
    x = md.zeros(3, 2)
    index = md.tensor([2, 0])
    x.index_add_(0, index, md.tensor([[1.0, 2.0], [3.0, 4.0]]), alpha=2)
    assert x.tolist() == [[6.0, 8.0], [0.0, 0.0], [2.0, 4.0]]
    x.index_fill_(0, index, 1)
    x.index_copy_(1, md.tensor([1]), md.tensor([[5.0], [6.0], [7.0]]))
    assert x.tolist() == [[1.0, 5.0], [0.0, 6.0], [1.0, 7.0]]
    y = md.zeros(2, 3).scatter_(1, md.tensor([[0, 2], [1, 1]]), md.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert y.tolist() == [[1.0, 0.0, 2.0], [0.0, 4.0, 0.0]]
    y.scatter_add_(1, md.tensor([[0, 0], [1, 1]]), md.ones(2, 2))
    assert y.tolist() == [[3.0, 0.0, 2.0], [0.0, 6.0, 0.0]]
    with pytest.raises(RuntimeError, match="out of bounds"):
        y.scatter_(1, md.tensor([[3]]), 1.0)
    assert md.tensor([[1, 0], [0, 2]]).nonzero().tolist() == [[0, 0], [1, 1]]
    assert md.masked_select(md.tensor([1, 2, 3]), md.tensor([True, False, True])).tolist() == [1, 3]


@pytest.mark.parametrize("place", [-1, 7, 2**40])
def test_sums_with_an_index_out_of_range_write_nothing(place):
    sums, index = md.arange(7.0), md.arange(1000) % 7
    assert md.zeros(7).scatter_add_(0, index, md.ones(1000)).tolist() == [143.0] * 6 + [142.0]
    for at in (0, 500, 999):
        index = md.arange(1000) % 7
        index[at] = place
        with pytest.raises(RuntimeError, match=f"index {place} is out of bounds"):
            sums.scatter_add_(0, index, md.ones(1000))
        assert sums.tolist() == list(range(7)) and sums._version == 0


def test_rearranging_ops():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = md.tensor(array)
    assert np.array_equal(x.flip(0, 2).numpy(), np.flip(array, (0, 2)))
    assert np.array_equal(x.roll(5).numpy(), np.roll(array, 5))
    assert np.array_equal(md.roll(x, (1, -2), (0, 2)).numpy(), np.roll(array, (1, -2), (0, 2)))
    assert np.array_equal(x.repeat(2, 1, 3, 1).numpy(), np.tile(array, (2, 1, 3, 1)))
    assert np.array_equal(x.movedim(0, 2).numpy(), np.moveaxis(array, 0, 2))
    assert np.array_equal(x.movedim((0, 1), (-1, 0)).numpy(), np.moveaxis(array, (0, 1), (-1, 0)))
    for offset in (-1, 0, 2, 9):
        assert np.array_equal(x.diagonal(offset, 1, 2).numpy(), np.diagonal(array, offset, 1, 2))
    assert x[:, :1].expand_as(x).tolist() == np.broadcast_to(array[:, :1], array.shape).tolist()
    assert md.broadcast_to(md.tensor([1, 2]), (2, 2)).tolist() == [[1, 2], [1, 2]]
    matrix, vector = x[0], md.tensor([1.0, -1.0, 2.0, 0.5])
    assert np.array_equal(md.mv(matrix, vector).numpy(), array[0] @ vector.numpy())
    assert md.dot(vector, vector).item() == 6.25
    assert np.array_equal(md.outer(vector, md.tensor([1, 2])).numpy(), np.outer(vector.numpy(), [1.0, 2.0]))
    view = md.zeros(3, 3)
    view.diagonal().fill_(1)
    assert view.tolist() == np.eye(3).tolist()
    for wrong in (
        lambda: x.flip(3),
        lambda: x.roll((1, 2), (0,)),
        lambda: x.repeat(2),
        lambda: x.diagonal(0, 1, 1),
        lambda: md.dot(x, x),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            wrong()


@pytest.mark.parametrize("dtype", [md.float32, md.int64, md.float16, md.bool])
def test_sorting(dtype):
    array = np.array([[3, 1, 2, 1], [0, 5, 5, -1]], dtype=np.float32)
    x = md.tensor(array).to(dtype)
    for dim in (0, 1):
        values, indices = x.sort(dim)
        assert values.tolist() == np.sort(x.numpy(), dim).tolist()
        assert indices.tolist() == np.argsort(x.numpy(), dim, kind="stable").tolist() == x.argsort(dim).tolist()
        down, order = x.t().sort(1 - dim, descending=True)
        assert down.tolist() == (-np.sort(-x.numpy().astype(np.float32), dim)).T.astype(x.numpy().dtype).tolist()
        assert md.gather(x.t(), 1 - dim, order).tolist() == down.tolist()
    if dtype is md.bool:
        with pytest.raises(RuntimeError, match="topk.*bool"):
            md.topk(x, 2)
        return
    top = md.topk(x, 2)
    assert top.values.tolist() == x.sort(descending=True).values[:, :2].tolist()
    assert md.topk(x, 1, 0, largest=False).values.tolist() == [x.sort(0).values[0].tolist()]
    with pytest.raises(RuntimeError, match="out of range"):
        md.topk(x, 5)
    if dtype is md.float32:
        nans = md.tensor([1.0, float("nan"), -1.0])
        assert nans.argsort().tolist() == [2, 0, 1] and nans.argsort(descending=True).tolist() == [1, 0, 2]


def test_views_of_a_resized_out_see_the_result():
    target = md.ones(1, 2)
    view = target.view(-1)
    with pytest.warns(UserWarning, match="was resized"):
        md.add(md.zeros(2), 5, out=target)
    assert target.shape == (2,) and view.tolist() == target.tolist() == [5, 5]
    row = md.zeros(2, 3)
    with pytest.warns(UserWarning, match="was resized"):
        md.add(md.zeros(2), 1, out=row[1])
    assert row.tolist() == [[0, 0, 0], [1, 1, 0]]
    with pytest.warns(UserWarning, match="was resized"):  # too small: a buffer of its own
        md.add(md.zeros(5), 1, out=target)
    assert target.tolist() == [1] * 5 and view.tolist() == [5, 5]


def test_masked_select_writes_into_out():
    out = md.zeros(0)
    assert md.masked_select(md.arange(4.0), md.tensor([True, False, True, False]), out=out) is out
    assert out.tolist() == [0, 2]
    with pytest.raises(TypeError, match="out"):
        md.where(md.ones(2) > 0, out=out)
