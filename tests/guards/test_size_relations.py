"""Relations between sizes that a capture depends on: for each, sizes that need another capture and sizes that do not."""

import pytest

import minidynamo
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions


def tensor(*shape):
    count = 1
    for size in shape:
        count *= size
    return (minidynamo.arange(count) + 1).reshape(shape).float() if count else minidynamo.zeros(*shape)


def smaller(x):
    return x + 1 if x.shape[0] < 5 else x - 1


def not_smaller(x):
    return x + 1 if len(x) >= 5 else x - 1


def divisible(x):
    return x + 1 if x.size(0) % 3 == 0 else x - 1


def equal_numbers(x):
    return x + 1 if x.shape[0] == x.shape[1] else x - 1


def equal_shapes(x):
    return x + 1 if x.shape == x.t().shape else x - 1


def shape_in_part(x):
    return x + 1 if x.shape[:1] + (2,) == x.shape else x - 1


def different(x):
    return x + 1 if x.numel() != 12 else x - 1


def product_of_sizes(x):
    return x + 1 if x.shape[0] * x.shape[1] > 10 else x - 1


def truth(x):
    return x + 1 if x.shape[0] else x - 1


def negated(x):
    return x + 1 if not x.shape[0] - 2 else x - 1


def minimum(x):
    return x[: min(x.shape[0], 4)] + 1


def square_matrix(x):
    return x @ x


def in_two_columns(x):
    return x.reshape(-1, 2)


def broadcast(x):
    return x + minidynamo.ones(2, 1, 3)[:, : x.shape[1]].sum(0) if x.shape[1] < 2 else x * 2


def column_of_one(x):
    return x.squeeze(1)


def element(x):
    return x[3]


def head(x):
    return x[:3]


# function, the shapes of two calls that leave a symbolic capture, shapes for which it holds, shapes that need another.
RELATIONS = [
    (smaller, [(2,), (3,)], [(4,), (1,), (0,)], [(5,), (9,)]),
    (not_smaller, [(6,), (7,)], [(5,), (20,)], [(4,), (0,)]),
    (divisible, [(3,), (6,)], [(9,), (0,), (12,)], [(4,), (5,)]),
    (equal_numbers, [(2, 2), (3, 3)], [(5, 5), (1, 1)], [(2, 3), (5, 1)]),
    (equal_shapes, [(2, 2), (3, 3)], [(5, 5), (1, 1)], [(2, 3), (5, 1)]),
    (shape_in_part, [(2, 3), (3, 4)], [(5, 5), (1, 1)], [(4, 2), (2, 2)]),
    (different, [(2, 3), (4, 5)], [(5, 5), (1, 1)], [(3, 4), (12, 1)]),
    (product_of_sizes, [(3, 4), (4, 5)], [(11, 1), (7, 7)], [(3, 3), (1, 10)]),
    (truth, [(3,), (4,)], [(1,), (7,)], [(0,)]),
    (negated, [(3,), (4,)], [(1,), (0,), (5,)], [(2,)]),
    (minimum, [(5,), (6,)], [(9,), (7,)], [(4,), (2,)]),
    (square_matrix, [(2, 2), (3, 3)], [(4, 4), (1, 1)], []),
    (in_two_columns, [(4,), (6,)], [(8,), (2,)], []),
    (column_of_one, [(3, 2), (3, 4)], [(3, 5), (3, 7)], [(3, 1)]),
    (element, [(4,), (5,)], [(6,), (9,)], []),
    (head, [(4,), (5,)], [(3,), (9,)], [(2,), (1,)]),
]


@pytest.mark.parametrize("function, first, held, other", RELATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_relation(function, first, held, other):
    counter = CompileCounter()
    compiled = minidynamo.compile(function, backend=counter)

    def check(shape):
        before = counter.frame_count
        expected, found = function(tensor(*shape)), compiled(tensor(*shape))
        assert found.shape == expected.shape and found.tolist() == expected.tolist()
        return counter.frame_count > before

    for shape in first:
        assert check(shape)
    for shape in held:
        assert not check(shape), shape
    for shape in other:
        assert check(shape), shape
        break
    for shape in [*other, *held, *first]:
        check(shape)


def test_an_exception_for_sizes_that_do_not_fit():
    def multiply(x, y):
        z = x + 1
        return z @ y  # the line

    compiled = minidynamo.compile(multiply)
    for n in (3, 4, 5):
        compiled(tensor(2, n), tensor(n, 2))
    with pytest.raises(RuntimeError) as eager:
        multiply(tensor(2, 7), tensor(6, 2))
    with pytest.raises(RuntimeError) as captured:
        compiled(tensor(2, 7), tensor(6, 2))
    assert str(captured.value) == str(eager.value)
    assert captured.traceback[-1].lineno == eager.traceback[-1].lineno


def test_guards_and_recompiles_name_the_sizes(caplog):
    import logging

    minidynamo._logging.set_logs(guards=True, recompiles=True)
    try:
        with caplog.at_level(logging.DEBUG):
            compiled = minidynamo.compile(smaller)
            for n in (2, 3, 7):
                compiled(tensor(n))
    finally:
        minidynamo._logging.set_logs()
    assert "SHAPE: L['x'].size()[0] < 5  (s0 < 5)" in caplog.text
    assert "L['x'].size()[0] < 5" in caplog.text.partition("Recompiling function smaller")[2]


def test_log_of_sizes(caplog):
    import logging

    minidynamo._logging.set_logs(graph_sizes=True)
    try:
        with caplog.at_level(logging.DEBUG):
            minidynamo.compile(lambda x: (x + 1) @ minidynamo.ones(2, 5), dynamic=True)(tensor(3, 2))
    finally:
        minidynamo._logging.set_logs()
    _, _, sizes = caplog.text.partition("TRACED GRAPH TENSOR SIZES")
    for line in (
        "l_x_: (s0, s1)",
        "l_x_ (concrete): (3, 2)",
        "add: (s0, s1)",
        "matmul: (s0, 5)",
        "matmul (concrete): (3, 5)",
    ):
        assert line in sizes
    assert "ones: (2, 5)" in sizes and "ones (concrete)" not in sizes


def test_more_sizes_than_one_guard_holds():
    def total(parts):
        size = sum(part.shape[0] for part in parts)
        return parts[0] * (1 if size < 100 else 2), size

    compiled = minidynamo.compile(total, dynamic=True)
    for n in (2, 3, 2, 1, 4):
        parts = [minidynamo.ones(n + at % 2) for at in range(40)]
        found, expected = compiled(parts), total(parts)
        assert found[0].tolist() == expected[0].tolist() and found[1] == expected[1]


def test_quotients_of_quotients():
    def deep(x):
        n = x.shape[0]
        for _ in range(12):
            n = n // 2 + 3
        return x * n, n, minidynamo.zeros(n) if n > 4 else None

    compiled = minidynamo.compile(deep, dynamic=True)
    for size in (0, 1, 300, 301, 7, 4096):
        found, expected = compiled(tensor(size)), deep(tensor(size))
        assert found[0].tolist() == expected[0].tolist() and found[1] == expected[1]
        assert found[2].shape == expected[2].shape
