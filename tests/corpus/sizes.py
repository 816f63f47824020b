"""Sizes of tensors as Python objects: their methods and operators, numbers computed from them, and sizes that depend on data."""

import functools
import itertools
import math
import operator

from differential import snippet, whole

import minidynamo
from minidynamo import arange, ones, tensor


def rows(*counts):
    """Tensors that differ in their first size: what was captured for one is captured again for the next."""
    return [lambda count=count: (ones(count, 3),) for count in counts]


def data(*lists):
    return [lambda elements=elements: (tensor(elements),) for elements in lists]


def numbers(*values):
    return [lambda value=value: (tensor([1.0, 2.0]), value) for value in values]


@whole(*rows(2, 4))
def methods_of_a_size(x):
    return x.shape.numel(), x.shape.count(3), x.shape.index(3), len(x.shape), x.shape


@whole(*rows(2, 4))
def iteration_over_a_size(x):
    return x.sum(), [n * 2 for n in x.shape], list(reversed(x.shape)), dict(enumerate(x.shape)), max(x.shape)


@whole(*rows(2, 4))
def slices_of_a_size(x):
    return x[:1], x.shape[:-1], x.shape[::-1], x.shape[-1], x.view(*x.shape[1:], -1).shape


@whole(*rows(2, 4))
def comparisons_of_sizes(x):
    y = x.t()
    return x.shape == y.shape, x.shape != (2, 3), x.shape[1:] == (3,), x.shape < (9, 9), (2, 3) == x.shape, 3 in x.shape


@whole(*rows(2, 4))
def sums_and_products_of_sizes(x):
    return x.reshape(x.shape + (1,)).shape, (1,) + x.shape, x.shape * 2, ones(x.shape[:1] + (2,)).shape


@whole(*rows(2, 4))
def unpacked_sizes(x):
    first, second = x.shape
    head, *tail = x.size()
    return x.reshape(second, first), head, tail, (*x.shape, 1), {**{"n": x.shape[0]}}


@whole(*rows(2, 4))
def a_size_passed_on_whole(x):
    def inner(shape, *, like):
        return ones(shape) + like.reshape(shape)

    return inner(x.shape, like=x), inner(tuple(x.shape), like=x), inner([*x.shape], like=x)


@whole(*rows(2, 4, 7))
def integer_arithmetic_of_sizes(x):
    n = x.shape[0]
    return x + (n << 1), n >> 1, n // 2, -n, n % 3, divmod(n, 2), n**2, abs(n), n | 8, n & 6, n ^ 1, ~n


@whole(*rows(2, 4, 9))
def floats_of_sizes(x):
    n = x.shape[0]
    return x * n**0.5, math.sqrt(n), n / 2, float(n), math.ceil(n / 2), math.floor(n * 0.5), int(n * 1.5), math.log2(n)


@whole(*numbers(1.26, 2.51, 4.0))
def rounded_numbers(x, v):
    return x * v**0.5, round(v, 1), round(v), math.sqrt(v), v.is_integer(), int(v), math.floor(v)


@whole(*rows(2, 4))
def index_of_a_size(x):
    return x, operator.index(x.shape[0]), int.__index__(x.shape[0]), x.shape[0].__index__(), int(x.shape[0])


@whole(*rows(2, 4))
def extreme_sizes(x):
    return x[: min(x.shape[0], 3)], max(2, x.shape[1]), min(*x.shape), max([*x.shape]), sum(x.shape), math.prod(x.shape)


@whole(*rows(2, 4))
def sizes_as_keys(x):
    table = {x.shape: "whole", (x.shape[0], 1): "column", slice(None).stop: 0}
    table[x.t().shape] = "turned"
    return x + len(table), table[(x.shape[0], 1)], {x.shape, tuple(x.shape)} == {x.shape}, x.shape in table


@functools.lru_cache
def _recipe(shape, turned=False):
    return [*reversed(shape)] if turned else [*shape]


def _recipes(filled):
    def make(count):
        _recipe.cache_clear()
        if filled:
            _recipe(ones(count, 3).shape, turned=True)
        return ones(count, 3), _recipe

    return [functools.partial(make, count) for count in (2, 4, 5)]


@whole(*_recipes(filled=False))
def cached_calls_of_sizes_are_missed(x, recipe):
    turned = recipe(x.shape, turned=True)
    return x.reshape(turned), turned is recipe((x.shape[0], 3), turned=True), turned, recipe(x.t().shape)


@whole(*_recipes(filled=True))
def cached_calls_of_sizes_are_found(x, recipe):
    turned = recipe(x.shape, turned=True)
    turned.append(1)
    return x.reshape(turned), recipe(x.shape, turned=True)


@whole(*rows(2, 4))
def sizes_as_texts(x):
    return x, f"{x.shape[0]}x{x.shape[1]}", str(tuple(x.shape)), "%d rows" % x.shape[0], repr(x.shape[0])


@whole(*rows(2, 4))
def loops_over_sizes(x):
    total = x.sum()
    for i in range(x.shape[0]):
        total = total + x[i, 0] * i
    return total, [*itertools.accumulate(x.shape)]


@snippet(*data([1, 0, 2], [0, 0, 5]), fullgraph=True)
def elements_at_a_mask(x):
    picked = x[x > 0]
    return picked * 2, picked.shape[0], x.masked_select(x == 0) + 1


@snippet(*data([1, 0, 2], [3, 4, 5]), fullgraph=True)
def places_of_elements(x):
    places = x.nonzero()
    return places, x[minidynamo.where(x > 0)[0]].sum(), minidynamo.argwhere(x).shape[1], places.numel()


@snippet(*data([1, 1, 2], [3, 4, 5]), fullgraph=True)
def unique_elements(x):
    values, counts = minidynamo.unique(x, return_counts=True)
    return values * 2, counts.sum(), minidynamo.unique_consecutive(x)


@snippet(*data([1, 1, 2], [0, 4, 1]), fullgraph=True)
def counts_and_repetitions(x):
    return minidynamo.bincount(x), minidynamo.repeat_interleave(arange(3), x), minidynamo.bincount(x, minlength=8)


@snippet(*data([1, 2, 1], [2, 1, 1]))
def lists_of_elements_as_sizes(x):
    parts = arange(4).split(x.tolist())
    return parts[0] + 1, parts[2].sum()


@snippet(*data([2, 3], [3, 1]), fullgraph=True)
def an_element_as_a_size(x):
    n = x[0].item()
    return minidynamo.zeros(n), arange(5)[:n], n + 1


@snippet(*data([1, 4], [2, 3]), fullgraph=True)
def tensors_as_bounds_of_slices(x):
    return arange(6)[x[0] :], arange(6)[: x[1]], arange(6)[x[0] : x[1]], ones(6, 2)[x[0] :, :1]


@snippet(lambda: (arange(6), tensor(2)), lambda: (arange(6), tensor(5)))
def tensors_of_the_caller_as_bounds_of_slices(x, t):
    return x[t:], x[:t] * 2, [1, 2, 3, 4, 5, 6][t:], (1, 2, 3)[t - 2 :]


@snippet(lambda: (arange(6), tensor([2])), lambda: (arange(6), tensor([[-1]])), fullgraph=True)
def tensors_with_one_element_as_bounds_of_slices(x, t):
    return x[t:], x[-4:t]


@snippet(lambda: (ones(6), tensor(2)), lambda: (ones(6), tensor(4)), fullgraph=True)
def stores_into_slices_bounded_by_tensors(x, t):
    x[t:] = 5.0
    x[:t] += 1
    return x.sum()


@snippet(lambda: (arange(6), tensor(2)), lambda: (arange(6), tensor(3)))
def a_tensor_as_the_step_of_a_slice(x, t):
    return x[::t], x[1::t]


@snippet(lambda: (arange(6), tensor([1, 2])), raises=TypeError)
def a_bound_of_a_slice_with_two_elements(x, t):
    return x[t:]


@snippet(lambda: (arange(6), tensor(1.0)), raises=TypeError)
def a_bound_of_a_slice_that_is_no_integer(x, t):
    return x[t:]


@snippet(*data([2, 3], [3, 4]), fullgraph=True)
def checks_of_elements(x):
    n = x[0].item()
    minidynamo._check(n > 1)
    minidynamo._check_is_size(n)
    return minidynamo.ones(n) * 2


@snippet(*data([1, 3], [1, 4]), raises=RuntimeError)
def a_check_that_fails(x):
    n = x[0].item()
    minidynamo._check(n > 1, lambda: "too few")
    return x + n


@snippet(*data([2, 3], [5, 3]), fullgraph=True)
def numbers_without_a_decision(x):
    a, b = x[0].item(), x[1].item()
    return (
        minidynamo.sym_min(a, b),
        minidynamo.sym_max(a, b),
        minidynamo.sym_not(a > b),
        minidynamo.sym_float(a),
        minidynamo.sym_int(a),
        minidynamo.sym_ite(a > b, a, b),
    )


@snippet(*data([2, 3], [5, 3]))
def a_branch_on_a_count(x):
    return x * 2 if x[x > 2].shape[0] > 1 else x - 1
