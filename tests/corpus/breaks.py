"""Graph breaks at every kind of place in the language, in the function and in its callees."""

import sys
import time

from differential import snippet

import minidynamo
from minidynamo import tensor
from minidynamo._dynamo import graph_break


def inner(x):
    x = x + 1
    graph_break()
    return x * 2


def middle(x):
    y = inner(x)
    return y + 3


@snippet()
def once(x):
    x = x + 1
    graph_break()
    return x * 2


@snippet()
def first_and_last(x):
    graph_break()
    y = x + 1
    graph_break()
    return y


@snippet()
def twice_in_a_row(x):
    x = x + 1
    graph_break()
    graph_break()
    return x * 2


@snippet()
def one_call_deep(x):
    return inner(x) - 1


@snippet()
def two_calls_deep(x):
    y = x * 5
    return middle(x) - y


@snippet()
def in_callee_called_twice(x):
    return inner(x) + inner(x * 2)


@snippet()
def with_values_on_the_stack(x):
    return [x, x + 1, (inner(x), x * 3)], {"k": x + inner(x)}


@snippet()
def in_arguments(x):
    def add(a, b, *, c):
        return a + b * c

    return add(x, inner(x), c=inner(x + 1))


@snippet()
def in_for(x):
    for i in range(3):
        x = x + i
        graph_break()
    return x


@snippet()
def in_while(x):
    n = 0
    while n < 3:
        x = x * 2
        graph_break()
        n += 1
    return x


@snippet()
def in_comprehension(x):
    return [inner(x + i) for i in range(3)]


@snippet()
def in_lambda(x):
    return (lambda y: inner(y) + 1)(x)


@snippet()
def in_closure(x):
    total = x

    def add(y):
        nonlocal total
        total = total + y
        graph_break()
        total = total * 2

    add(x)
    add(x + 1)
    return total


@snippet(breaks=1)
def in_generator(x):
    def values():
        yield x + 1
        graph_break()
        yield x + 2

    total = x
    for y in values():
        total = total * y
    return total


@snippet()
def in_recursion(x):
    def down(y, n):
        if n == 0:
            return y
        y = y + n
        graph_break()
        return down(y, n - 1) * 2

    return down(x, 3)


@snippet()
def c_function(x):
    y = x + 1
    before = time.time()
    y = y * 2
    return y, before > 0


@snippet()
def callers_frame(x):
    def name():
        frame = sys._getframe(1)
        return frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno

    y = x + 1
    return y * 2, name()


@snippet()
def callers_locals(x):
    def names():
        frame = sys._getframe(1)
        return sorted(frame.f_locals), frame.f_locals["k"]

    k = 7
    y = x + 1
    seen = names()
    return y, seen


@snippet()
def disabled_function(x):
    @minidynamo.compiler.disable
    def plain(y):
        return y * 3

    return plain(x + 1) - 1


@snippet()
def caught_after_break(x):
    try:
        x = x + 1
        graph_break()
        x = x * 2
        raise ValueError("after")
    except ValueError as error:
        return x - 1, str(error)


@snippet(raises=ValueError)
def uncaught_after_break(x):
    x = x + 1
    graph_break()
    x = x * 2
    raise ValueError("after")


@snippet(lambda: ([tensor([1.0])],))
def mutation_seen_at_break(items):
    items.append(items[0] + 1)
    print(len(items))
    items.append(items[1] * 2)
    return items


@snippet()
def object_across_break(x):
    class Box:
        pass

    box = Box()
    box.value = x + 1
    graph_break()
    box.value = box.value * 2
    return box.value


@snippet()
def aliases_across_break(x):
    items = [x + 1]
    same = items
    graph_break()
    same.append(2)
    return items, same is items


@snippet()
def dict_across_break(x):
    table = {"a": x, "b": [x * 2]}
    graph_break()
    table["b"].append(table["a"] + 1)
    return table


@snippet()
def iterator_across_break(x):
    items = iter([1, 2, 3])
    x = x + next(items)
    graph_break()
    x = x * next(items)
    return x, list(items)


@snippet()
def enumerate_across_break(x):
    for i, y in enumerate([x, x + 1]):
        graph_break()
        x = x + y * i
    return x


@snippet()
def zip_across_break(x):
    for a, b in zip([1, 2, 3], [4, 5, 6]):
        x = x + a
        graph_break()
        x = x * b
    return x


@snippet()
def cell_across_break(x):
    count = 1

    def bump():
        nonlocal count
        count += 1
        return count

    bump()
    graph_break()
    bump()
    return x * count, bump


@snippet()
def exception_state_across_break(x):
    try:
        raise ValueError("v")
    except ValueError:
        graph_break()
        seen = sys.exc_info()[0]
        x = x + 1
    return x, seen, sys.exc_info()[0]


@snippet()
def keyword_call_breaks(x):
    print("value", sep="", end="\n", flush=True)
    return x + 1


@snippet()
def result_of_break_used_as_condition(x):
    def positive(y):
        graph_break()
        return y.sum().item() > 0

    return x + 1 if positive(x) and not positive(-x) else x


@snippet()
def ten(x):
    for _ in range(2):
        x = x + 1
        graph_break()
        x = x * 2
        graph_break()
        x = x - 1
        graph_break()
        x = x * 3
        graph_break()
        x = x + 5
        graph_break()
    return x
