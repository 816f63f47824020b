"""The programs whose traces are recorded: one for each mechanism of capture, small enough for a person to read the record.

A program is a function and the arguments of its calls; each call is traced or hits the capture of an earlier one.
"""

import collections
import contextlib
import dataclasses
import functools
from collections.abc import Callable

import minidynamo as md
from minidynamo import nn


@dataclasses.dataclass
class Program:
    function: Callable
    calls: Callable[[], list[tuple]]
    options: dict


PROGRAMS: dict[str, Program] = {}


def program(*arguments: Callable[[], tuple], **options):
    """Each of arguments returns those of one call, new in each run."""

    def register(function):
        PROGRAMS[function.__name__] = Program(function, lambda: [make() for make in arguments or (vector,)], options)
        return function

    return register


def vector():
    return (md.arange(4.0),)


def matrix():
    return (md.ones(3, 4),)


def of_lengths(*lengths):
    return [lambda n=n: (md.ones(n),) for n in lengths]


# Tensors


@program()
def pointwise_chain(x):
    return ((x + 1) * 2).exp().sub(3)


@program(matrix)
def reduction_of_a_chain(x):
    return (x * x).sum(dim=1).sqrt(), x.mean()


@program(lambda: (md.ones(2, 3), md.ones(3, 5), md.ones(5)))
def product_with_bias_and_relu(x, weight, bias):
    return md.relu(x @ weight + bias)


@program(matrix)
def views_of_an_argument(x):
    return x[1:, ::2], x.t(), x.reshape(4, 3)[0]


@program()
def write_to_an_argument(x):
    x[1:3] = 0
    x += 1
    return x.sum()


@program()
def write_to_a_view_of_an_intermediate(x):
    y = x * 2
    y[0].fill_(5)
    return y


@program()
def dtypes_that_promote(x):
    return x.to(md.float64) + 1, x > 2, x.long() * 2.5


@program(lambda: (md.arange(4.0), md.tensor([3, 0])))
def indexed_rows(x, index):
    return x[index], x[x > 1]


@program(lambda: (md.ones(2, 3, requires_grad=True),))
def gradient_flags(x):
    with md.no_grad():
        frozen = x * 2
    return frozen, frozen.requires_grad, (x + 1).requires_grad


@program()
def random_numbers(x):
    return md.rand_like(x) + x


# Numbers and sizes


@program(*of_lengths(4, 5, 6))
def dynamic_length(x):
    return x * x.shape[0]


@program(*of_lengths(4, 6, 3))
def branch_on_a_length(x):
    if x.shape[0] > 5:
        return x + 1
    return x - 1


@program(lambda: (md.ones(2), 2), lambda: (md.ones(2), 3), lambda: (md.ones(2), 4))
def dynamic_number(x, n):
    return x * n + n // 2


@program(lambda: (md.ones(2), 1.5), lambda: (md.ones(2), 2.5))
def dynamic_float(x, factor):
    return x * factor


@program()
def number_from_a_tensor(x):
    total = x.sum().item()
    return x / total


@program()
def branch_on_a_tensor(x):
    if x.sum() > 3:
        return x + 1
    return x - 1


# Built-in types


@program(lambda: ({"a": md.ones(2), "b": 3},))
def dict_argument(d):
    d["c"] = d["a"] * d["b"]
    return list(d)


@program(lambda: ([md.ones(2), md.zeros(2)],))
def list_that_is_written(xs):
    xs.append(xs[0] + xs[1])
    return xs.pop(0)


@program(lambda: (md.ones(2), None), lambda: (md.ones(2), "text"))
def guard_on_a_value(x, mode):
    return x if mode is None else x.neg()


SCALE = 2
counter = 0


@program()
def global_that_is_read(x):
    return x * SCALE


@program()
def global_that_is_written(x):
    global counter
    counter += 1
    return x * 1


@program()
def comprehension_and_sort(x):
    parts = sorted(((-i, name) for i, name in enumerate("abc")), key=lambda pair: pair[0])
    return [x * i for i, _ in parts]


@program()
def text_of_numbers(x):
    return f"{x.dim()} of {tuple(x.shape)!r:>6}"


@program()
def deque_over_a_break(x):
    waiting = collections.deque([x, x + 1], maxlen=3)
    rest = iter(waiting)
    next(rest)
    md._dynamo.graph_break()
    return next(rest) * 2


# Calls


def twice(x, *, plus=0):
    return x * 2 + plus


@program()
def inlined_call(x):
    return twice(twice(x), plus=1)


@program()
def partial_and_lambda(x):
    add = functools.partial(twice, plus=3)
    return (lambda y: add(y) + 1)(x)


@program()
def closure_that_is_returned(x):
    total = x

    def add(y):
        nonlocal total
        total = total + y
        return total

    add(x)
    return add


@program()
def generator_that_is_used_up(x):
    def halves(y, count):
        for _ in range(count):
            y = y / 2
            yield y

    return sum(halves(x, 3))


@program()
def generator_that_is_returned(x):
    def later():
        yield x + 1
        yield x + 2

    made = later()
    next(made)
    return made


@program()
def loop_over_a_range(x):
    for i in range(3):
        x = x + i
    return x


class Counted:
    limit = 3

    def __init__(self):
        self.calls = 0

    @property
    def half(self):
        return self.limit / 2

    def __call__(self, x):
        self.calls += 1
        return x * self.half


@program(lambda: (md.ones(2), Counted()))
def object_with_state(x, counted):
    return counted(x) + counted.calls


@dataclasses.dataclass
class Pair:
    first: object
    second: object = 2


@program()
def object_created_inside(x):
    return Pair(x + 1)


@program()
def class_created_inside(x):
    class Local:
        factor = 3

        def apply(self, y):
            return y * self.factor

    return Local().apply(x), Local


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.register_buffer("seen", md.zeros(()))

    def forward(self, x):
        self.seen += 1
        return self.linear(x).relu()


@program(lambda: (md.ones(1, 4), Small()))
def module_with_a_buffer(x, module):
    return module(x)


# Exceptions and contexts


@program()
def exception_that_is_caught(x):
    try:
        {}["missing"]
    except KeyError as error:
        return x + len(error.args)
    finally:
        x = x + 1


@program()
def exception_that_leaves(x):
    y = x * 2
    raise ValueError(f"of {y.dim()} dimensions")


@contextlib.contextmanager
def entered(log):
    log.append("in")
    try:
        yield 2
    finally:
        log.append("out")


@program()
def context_manager(x):
    log = []
    with entered(log) as factor:
        x = x * factor
    return x, log


# Graph breaks


@program()
def deferred_print(x):
    print("before", x.dim())
    return x + 1


@program()
def break_between(x):
    y = x + 1
    md._dynamo.graph_break()
    return y * 2


def breaks_inside(x):
    y = x.exp()
    md._dynamo.graph_break()
    return y.log()


@program()
def break_in_a_call(x):
    return breaks_inside(x + 1) - 1


@program()
def break_in_a_with_block(x):
    with md.no_grad():
        x = x + 1
        md._dynamo.graph_break()
        x = x * 2
    return x


@program()
def break_in_a_loop(x):
    for i in range(2):
        x = x + i
        md._dynamo.graph_break()
    return x


@program()
def break_with_a_live_iterator(x):
    parts = enumerate([x, x + 1])
    next(parts)
    md._dynamo.graph_break()
    return [i * part for i, part in parts]


@md.compiler.disable
def opaque(x):
    return x.numpy().sum() if hasattr(x, "numpy") else 0


@program()
def call_of_a_disabled_function(x):
    y = x + 1
    return y * float(opaque(y))


@program(matrix, dynamic=True)
def sizes_that_are_symbolic_at_once(x):
    rows, columns = x.shape
    return x.reshape(columns * rows).cumsum(0)[: rows + 1]
