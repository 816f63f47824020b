"""Tensors indexed by lists, tensors and masks, read and written."""

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


def _grid():
    return (minidynamo.arange(12, dtype=minidynamo.float32).reshape(3, 4),)


def _grid_and(*more):
    return lambda: (*_grid(), *(make() for make in more))


def _rows():
    return tensor([2, 0])


def _columns():
    return tensor([1, 3])


@whole(_grid)
def by_a_list(x):
    return x[[0, 2]], x[[1]]


@whole(_grid)
def by_a_list_in_a_tuple(x):
    return x[:, [0, 2]], x[[0, 1], [2, 3]], x[[0, 1], 2]


@whole(_grid)
def by_nested_lists(x):
    return x[[[0, 1], [2, 0]]]


@whole(_grid)
def by_negative_numbers_in_a_list(x):
    return x[[-1, -2]], x[..., [-1]]


@whole(_grid_and(_rows))
def by_a_tensor(x, rows):
    return x[rows], x[rows].sum()


@whole(_grid_and(_rows, _columns))
def by_two_tensors(x, rows, columns):
    return x[rows, columns], x[rows[:, None], columns]


@whole(_grid_and(_columns))
def by_a_slice_and_a_tensor(x, columns):
    return x[:, columns], x[1:, columns], x[..., columns]


@whole(_grid_and(_rows))
def by_a_tensor_and_none(x, rows):
    return x[rows, None], x[None, rows]


@whole(_grid_and(_rows))
def by_a_tensor_and_a_number(x, rows):
    return x[rows, 1], x[1, rows]


@snippet(_grid, breaks=1, fullgraph=True)
def by_a_mask(x):
    return x[x > 3]


@snippet(_grid, breaks=1, fullgraph=True)
def by_a_mask_of_rows(x):
    return x[tensor([True, False, True])]


@snippet(_grid, breaks=1, fullgraph=True)
def by_a_mask_of_columns(x):
    return x[:, x[0] > 1] * 2


@snippet(_grid)
def by_a_list_of_bools(x):
    return x[[True, False, True]]


@whole(_grid)
def written_by_a_mask(x):
    y = x.clone()
    y[y > 3] = 0.0
    return y


@whole(_grid)
def written_by_a_mask_with_a_tensor(x):
    y = x.clone()
    y[y > 3] = tensor(7.0)
    return y


@whole(_grid)
def added_to_by_a_mask(x):
    y = x.clone()
    y[x > 3] = -1
    y[x < 1] = 5
    return y * 2


@whole(_grid_and(_rows))
def written_by_a_tensor(x, rows):
    y = x.clone()
    y[rows] = 0.0
    return y


@whole(_grid_and(_rows, _columns))
def written_by_two_tensors(x, rows, columns):
    y = x.clone()
    y[rows, columns] = tensor([10.0, 20.0])
    return y


@whole(_grid)
def written_by_a_list(x):
    y = x.clone()
    y[[0, 2]] = 1.0
    return y


@whole(_grid_and(_columns))
def written_by_a_slice_and_a_tensor(x, columns):
    y = x.clone()
    y[:, columns] = 0.5
    return y


@whole(_grid_and(_rows))
def augmented_by_a_tensor(x, rows):
    y = x.clone()
    y[rows] += 1
    return y


@whole(_grid_and(_rows))
def written_argument_by_a_tensor(x, rows):
    x[rows] = x[rows] * 2


@whole(_grid)
def written_argument_by_a_mask(x):
    x[x > 5] = 0


@whole(_grid)
def number_as_index(x):
    return x[0][1], x[-1, -1], x[1, :2], x[::2], x[..., 0], x[None].shape


@whole(_grid, raises=IndexError)
def list_out_of_range(x):
    return x[[0, 9]]


@whole(_grid)
def gathered(x):
    return x.gather(1, tensor([[0], [1], [2]])), x.index_select(0, tensor([0, 2]))


@whole(_grid)
def arg_sorted_then_indexed(x):
    order = (-x[:, 0]).argsort()
    return x[order]


@whole(_grid)
def last_step_of_each_row(x):
    lengths = tensor([1, 4, 2])
    return x[minidynamo.arange(3), lengths - 1]


@whole(_grid)
def one_hot_by_index(x):
    out = minidynamo.zeros(3, 4)
    out[minidynamo.arange(3), tensor([1, 0, 3])] = 1.0
    return out + x


@whole(_grid)
def iterated_and_unpacked(x):
    first, second, third = x
    return first + second, [row.sum() for row in x], len(x)


@whole()
def by_lists_of_known_bools(x):
    rows = x.shape[0]
    mask = [i % 2 == 0 for i in range(rows)]
    y = x.clone()
    y[mask] = 7
    y[[not each for each in mask]] += 1
    return x[mask], x[[False] * rows], y


@snippet()
def by_a_list_of_too_many_bools(x):
    try:
        return x[[True] * (x.shape[0] + 1)]
    except IndexError as error:
        return type(error).__name__
