"""Functions called with one size after another. Each program: (compile's options, function, calls); torch accepts
them as well."""

import minidynamo
from minidynamo import _dynamo


def vectors(*sizes):
    return [(lambda n=n: (minidynamo.ones(n),)) for n in sizes]


def marked(mark, *sizes, **options):
    def make(n):
        tensor = minidynamo.ones(n)
        mark(tensor, 0, **options)
        return (tensor,)

    return [(lambda n=n: make(n)) for n in sizes]


def pairs(*sizes):
    return [(lambda n=n: (minidynamo.ones(n), minidynamo.ones(n))) for n in sizes]


def matrices(*shapes):
    return [(lambda shape=shape: (minidynamo.ones(*shape),)) for shape in shapes]


def with_numbers(*numbers):
    return [(lambda n=n: (minidynamo.ones(3), n)) for n in numbers]


def add_one(x):
    return x + 1


def branch(x):
    return x + 1 if x.shape[0] > 4 else x - 1


def parity(x):
    return x + 1 if x.size(0) % 2 == 0 else x - 1


def times(x, n):
    return x * n


def zeros_like_number(x, n):
    return minidynamo.zeros(n) + x.sum()


def first_rows(x, n):
    return x[:n] + 1


def add(x, y):
    return x + y


def product(x):
    return x @ minidynamo.ones(4, 3)


def flatten(x):
    return x.reshape(-1) * 2


def halves(x):
    return x[: x.shape[0] // 2] + 1


def shape_arithmetic(x):
    return x.view(x.shape[0] * 2, x.size(1) // 2) + x.shape[0]


def loop_over_rows(x):
    total = x[0]
    for i in range(x.shape[0]):
        total = total + x[i]
    return total


def squeeze(x):
    return x.squeeze(0) + 1


def softmax(x):
    return x.softmax(-1).sum(0)


def join(x, y):
    return minidynamo.cat([x, y]) + 1


def new_of_sizes(x):
    return minidynamo.zeros(x.shape[0], len(x)) + minidynamo.arange(x.shape[0])


def write_in_place(x):
    y = x.clone()
    y[: x.shape[0] // 2] += 1
    y.mul_(2)
    return y


SIZES = (3, 4, 5, 6, 1, 0, 2)
PROGRAMS = {
    "automatic": ({}, add_one, vectors(*SIZES)),
    "dynamic_true": ({"dynamic": True}, add_one, vectors(3, 4, 1, 0)),
    "dynamic_false": ({"dynamic": False}, add_one, vectors(3, 4, 5, 6)),
    "mark_dynamic": ({}, add_one, marked(_dynamo.mark_dynamic, 3, 4, 5, 1)),
    "mark_dynamic_in_range": ({}, add_one, marked(_dynamo.mark_dynamic, 3, 4, 5, min=2, max=8)),
    "maybe_mark_dynamic": ({}, add_one, marked(_dynamo.maybe_mark_dynamic, 3, 4, 5, 1)),
    "mark_static": ({}, add_one, marked(_dynamo.mark_static, 3, 4, 5)),
    "mark_unbacked": ({}, add_one, marked(_dynamo.mark_unbacked, 3, 1, 0, 5)),
    "ints_that_are_operands": ({}, times, with_numbers(*range(10))),
    "floats_that_are_operands": ({}, times, with_numbers(0.5, 1.5, 2.5, 3.5)),
    "ints_that_are_sizes": ({}, zeros_like_number, with_numbers(*range(2, 10))),
    "ints_that_are_bounds": ({}, first_rows, with_numbers(1, 2, 3)),
    "branch": ({}, branch, vectors(3, 4, 5, 6, 2, 9)),
    "parity": ({}, parity, vectors(3, 4, 5, 6, 7)),
    "two_equal_tensors": ({}, add, pairs(3, 4, 5)),
    "product": ({}, product, matrices((2, 4), (3, 4), (5, 4), (1, 4), (0, 4))),
    "reshape": ({}, flatten, matrices((2, 3), (3, 3), (4, 5), (1, 1), (6, 6))),
    "halves": ({}, halves, vectors(4, 6, 7, 9, 2)),
    "shape_arithmetic": ({}, shape_arithmetic, matrices((2, 4), (3, 4), (5, 6), (4, 8))),
    "loop_over_rows": ({}, loop_over_rows, matrices((2, 3), (3, 3), (4, 3))),
    "squeeze": ({}, squeeze, matrices((1, 3), (2, 3), (3, 3), (4, 3))),
    "softmax": ({}, softmax, matrices((2, 3), (3, 4), (4, 5), (1, 6))),
    "join": ({}, join, pairs(3, 4, 5, 6)),
    "new_of_sizes": ({}, new_of_sizes, vectors(3, 4, 5, 6)),
    "write_in_place": ({}, write_in_place, vectors(4, 5, 6, 7, 8)),
    "rank": ({}, add_one, matrices((3,), (3, 3), (3, 3, 3))),
}
