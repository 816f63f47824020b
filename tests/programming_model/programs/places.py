"""Breaks in every place of the language: the frame keeps its graphs on both sides."""

import contextlib
import functools

import minidynamo as torch
from minidynamo._dynamo import graph_break

from .registry import RUNS, program, whole


def inner(x):
    x = x + 1
    graph_break()  # break
    return x * 2


def middle(x):
    y = inner(x - 1)
    return y + 3


def outer(x):
    y = middle(x * 2)
    return y * y


@torch.compiler.disable
def note(log, what):
    log.append(what)
    return what


@program()
def straight(x, log):
    x = x + 1
    graph_break()  # break
    return x * 2


@program()
def first_instruction(x, log):
    graph_break()  # break
    return x * 2


@program()
def last_instruction(x, log):
    x = x * 2
    graph_break()  # break


@program()
def four_in_a_row(x, log):
    x = x + 1
    graph_break()  # break
    graph_break()
    x = x * 2
    graph_break()
    graph_break()
    return x - 3


@program()
def in_for(x, log):
    for i in range(3):
        x = x + i
        graph_break()  # break
        log.append(i)
    return x * 2


@program()
def in_for_with_else(x, log):
    for i in range(3):
        if i == 2:
            graph_break()  # break
        x = x + i
    else:
        x = x * 10
    return x


@program()
def in_for_that_is_left(x, log):
    for i in range(10):
        x = x + i
        if i == 3:
            graph_break()  # break
            break
        if i % 2:
            continue
        log.append(i)
    else:
        x = x * 10
    return x


@program()
def in_nested_for(x, log):
    for i in range(2):
        x = x * 2
        for j in range(2):
            x = x + j
            graph_break()  # break
        log.append(i)
    return x


@program()
def in_for_over_a_generator(x, log):
    def numbers():
        for i in range(3):
            yield x + i

    total = x
    for y in numbers():
        total = total + y
        graph_break()  # break
    return total


@program()
def in_a_generator(x, log):
    def numbers():
        for i in range(2):
            y = x + i
            graph_break()  # break
            yield y * 2

    total = x
    for y in numbers():
        total = total + y
    return total


@program()
def in_a_generator_delegated_to(x, log):
    def numbers():
        yield x + 1
        graph_break()  # break
        yield x + 2
        return x * 3

    def around():
        log.append((yield from numbers()))
        yield x

    return [y + 1 for y in around()]


@program()
def in_while(x, log):
    n = 0
    while n < 3:
        x = x + n
        graph_break()  # break
        n += 1
    return x * n


@program()
def in_the_condition_of_while(x, log):
    n = 0
    while note(log, n) < 2:  # break
        x = x + n
        n += 1
    return x


@program()
def on_a_tensor_in_while(x, log):
    while x.sum() < 10:  # break
        x = x + 1
    return x


@program()
def on_a_tensor_in_for(x, log):
    for i in range(3):
        if x.sum() > i:  # break
            x = x + 1
        else:
            x = x * 2
    return x


@program()
def on_a_tensor_in_if(x, log):
    y = x * 2
    if y.sum() > 0:  # break
        y = y + 1
    else:
        y = y - 1
    return y * 3


@program()
def on_a_tensor_in_elif(x, log):
    if len(log) > 0:
        return x
    elif (x > 100).any():  # break
        return x + 1
    elif x.sum() > 0:
        return x + 2
    return x + 3


@program()
def on_a_tensor_in_and_or(x, log):
    y = x + 1
    first = y.sum() > 0 and y.max() > 3  # break
    second = y.min() > 0 or y.mean() > 0
    return y, bool(first), bool(second)


@program()
def on_a_tensor_in_not(x, log):
    y = x + 1
    return y * 2 if not y.sum() > 0 else y * 3  # break


@whole()
def on_a_tensor_in_assert(x, log):
    y = x + 1
    assert y.sum() > 0, "never"
    return y * 2


@program(fullgraph=RUNS)
def on_an_item(x, log):
    y = x + 1
    n = y.sum().item()  # break
    return y * n


@program(fullgraph=RUNS)
def on_a_list_of_numbers(x, log):
    y = x + 1
    log.extend(y.tolist())  # break
    return y * len(log)


@program()
def in_with(x, log):
    with torch.no_grad():
        x = x + 1
        graph_break()  # break
        x = x * 2
    return x - 1


class Manager:
    def __init__(self, log, swallows=False):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else None)
        return self.swallows


@program()
def in_with_of_a_user(x, log):
    with Manager(log) as manager:
        x = x + len(manager.log)
        graph_break()  # break
        x = x * 2
    return x - 1


@program()
def in_two_withs(x, log):
    with Manager(log), Manager(log) as second:
        x = x + 1
        graph_break()  # break
        x = x * len(second.log)
    return x


@program()
def in_with_that_is_left_by_return(x, log):
    for i in range(3):
        with Manager(log):
            x = x + i
            graph_break()  # break
            if i == 1:
                return x * 2
    return x


@program()
def in_with_that_swallows(x, log):
    with Manager(log, swallows=True):
        x = x + 1
        graph_break()  # break
        raise KeyError("swallowed")
    return x * 2


class BreakingManager:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        y = self.x + 1
        graph_break()  # break
        return y * 2

    def __exit__(self, *error):
        self.x = self.x * 2
        graph_break()
        self.x = self.x + 1


@program()
def in_enter_and_exit(x, log):
    manager = BreakingManager(x)
    with manager as y:
        y = y - 1
    return y, manager.x


@program()
def in_a_contextmanager(x, log):
    @contextlib.contextmanager
    def manager(y):
        log.append("before")
        graph_break()  # break
        yield y + 1
        graph_break()
        log.append("after")

    with manager(x) as y:
        y = y * 2
    return y + x


@program()
def in_an_exit_stack(x, log):
    with contextlib.ExitStack() as stack:  # break
        stack.callback(log.append, "callback")
        stack.enter_context(Manager(log))
        x = x + 1
        graph_break()  # break
        x = x * 2
    return x


@program()
def in_try(x, log):
    try:
        x = x + 1
        graph_break()  # break
        x = x * 2
    except ValueError:
        x = x - 100
    return x


@program()
def in_try_with_everything(x, log):
    try:
        x = x + 1
        graph_break()  # break
    except ValueError:
        log.append("except")
    else:
        x = x * 2
        graph_break()
        log.append("else")
    finally:
        x = x - 1
        graph_break()
        log.append("finally")
    return x


@program()
def in_except(x, log):
    try:
        x = x + 1
        raise KeyError("k")
    except KeyError as error:
        x = x * 2
        graph_break()  # break
        log.append(str(error))
        x = x + 1
    return x


@program()
def in_except_of_a_callee(x, log):
    def fails(y):
        y = y + 1
        graph_break()  # break
        raise ValueError(len(y))

    try:
        x = x + 1
        fails(x)
    except ValueError as error:
        x = x * error.args[0]
    return x


@program()
def in_finally(x, log):
    try:
        x = x + 1
    finally:
        x = x * 2
        graph_break()  # break
        log.append("finally")
    return x + 1


@program()
def in_finally_on_the_way_of_return(x, log):
    try:
        return x + 1
    finally:
        graph_break()  # break
        log.append("finally")


@program(raises=KeyError)
def in_finally_on_the_way_of_an_exception(x, log):
    try:
        x = x + 1
        raise KeyError("k")
    finally:
        graph_break()  # break
        log.append("finally")


@program()
def in_nested_try(x, log):
    try:
        try:
            x = x + 1
            graph_break()  # break
            raise KeyError("inner")
        except ValueError:
            log.append("wrong")
        finally:
            log.append("inner finally")
            graph_break()
    except KeyError as error:
        log.append(type(error).__name__)
        x = x * 2
    return x


@program()
def in_an_exception_group(x, log):
    try:
        x = x + 1
        graph_break()  # break
        raise ExceptionGroup("several", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        log.append(len(group.exceptions))
        x = x * 2
    except* KeyError:
        x = x + 5
    return x


@program()
def in_a_list_comprehension(x, log):
    return [inner(x + i) for i in range(3)]


@program()
def in_a_dict_comprehension(x, log):
    return {i: inner(x + i) for i in range(2)}


@program()
def in_a_set_comprehension(x, log):
    return {note(log, i) for i in range(3)}, x + 1  # break


@program()
def in_a_condition_of_a_comprehension(x, log):
    return [x + i for i in range(4) if note(log, i) % 2]  # break


@program()
def in_a_nested_comprehension(x, log):
    return [[inner(x + i * j) for j in range(2)] for i in range(2)]


@program()
def in_a_generator_expression(x, log):
    return sum(inner(x + i) for i in range(2))  # break, below sum


@program()
def in_arguments(x, log):
    def add(a, b, c, *rest, k, **more):
        return a + b * c + rest[0] * k + more["z"]

    return add(x, x + 1, inner(x), x * 3, k=inner(x * 2), z=x - 1)


@program()
def in_starred_arguments(x, log):
    def add(*values, **more):
        return sum(values) + more["k"]

    return add(x, *[inner(x), x + 1], **{"k": inner(x)})


@program()
def in_operands(x, log):
    return (x + 1) * (x + inner(x)) - (inner(x) + x * 2)


@program()
def in_a_display(x, log):
    return [x + 1, (inner(x), x * 2), {"a": x - 1, "b": inner(x + 1)}]


@program()
def in_an_f_string(x, log):
    return f"{len(x)} {note(log, 'noted')} {x.shape[0]:>3}", x + 1  # break


@program()
def in_a_subscript(x, log):
    values = [x, x + 1, x + 2]
    return values[note(log, 1)] * 2  # break


@program()
def in_a_subscript_that_is_stored(x, log):
    values = {"a": x + 1}
    values[note(log, "b")] = x * 2  # break
    return values


@program()
def in_an_augmented_assignment(x, log):
    values = [x + 1, x + 2]
    values[note(log, 1)] += inner(x)  # break
    return values


@program()
def in_a_chained_comparison(x, log):
    y = x + 1
    return y * 2 if 0 < note(log, 1) < 2 else y * 3  # break


@program()
def in_an_assignment_expression(x, log):
    if (n := note(log, 3)) > 2:  # break
        x = x + n
    return x * n


@program()
def in_a_lambda(x, log):
    double = lambda y: inner(y) + y  # noqa: E731
    return double(x) + double(x + 1)


@program()
def in_a_closure(x, log):
    total = x

    def add(y):
        nonlocal total
        total = total + y
        graph_break()  # break
        total = total * 2

    add(x)
    add(x + 1)
    return total


@program()
def in_recursion(x, log):
    def down(y, n):
        if n == 0:
            return y
        y = y + n
        graph_break()  # break
        return down(y, n - 1) * 2

    return down(x, 3)


@program()
def in_a_default(x, log):
    def make(y=note(log, 2)):  # break
        return x + y

    return make() * 2


@program()
def in_a_decorator(x, log):
    def decorate(function):
        log.append(function.__name__)
        graph_break()  # break
        return lambda y: function(y) + 1

    @decorate
    def add(y):
        return y + x

    return add(x)


@program()
def one_call_deep(x, log):
    return inner(x) - 1


@program()
def two_calls_deep(x, log):
    return middle(x) - 1


@program()
def three_calls_deep(x, log):
    y = x + 1
    return outer(y) - y


@program()
def three_calls_deep_twice(x, log):
    return outer(x) + outer(x + 1)


@program()
def in_a_callee_of_a_loop(x, log):
    for i in range(3):
        x = x + middle(x) * i
    return x


@program()
def in_a_callee_in_with_and_try(x, log):
    try:
        with Manager(log):
            x = middle(x)
    finally:
        x = x + 1
    return x


class Layer:
    scale = 2

    def __init__(self, x):
        self.bias = x + 1

    def method(self, x):
        y = x * self.scale
        graph_break()  # break
        return y + self.bias

    def __call__(self, x):
        return self.method(x) - 1

    @property
    def doubled(self):
        y = self.bias * 2
        graph_break()  # break
        return y + 1

    @doubled.setter
    def doubled(self, value):
        value = value / 2
        graph_break()  # break
        self.bias = value

    @classmethod
    def of_class(cls, x):
        y = x * cls.scale
        graph_break()  # break
        return y

    @staticmethod
    def of_none(x):
        y = x * 3
        graph_break()  # break
        return y

    def __getattr__(self, name):
        y = self.bias + len(name)
        graph_break()  # break
        return y

    def __getitem__(self, key):
        y = self.bias + key
        graph_break()  # break
        return y * 2

    def __setitem__(self, key, value):
        value = value * 2
        graph_break()  # break
        self.bias = value + key

    def __len__(self):
        self.bias = self.bias + 1
        graph_break()  # break
        return 3

    def __bool__(self):
        self.bias = self.bias * 2
        graph_break()  # break
        return True

    def __contains__(self, item):
        self.bias = self.bias - 1
        graph_break()  # break
        return item == 2

    def __add__(self, other):
        y = self.bias + other
        graph_break()  # break
        return y

    def __radd__(self, other):
        y = self.bias * other
        graph_break()  # break
        return y

    def __lt__(self, other):
        y = self.bias.sum()
        graph_break()  # break
        return y < other

    def __iter__(self):
        y = self.bias + 1
        graph_break()  # break
        return iter([y, y + 1])


@program()
def in_a_method(x, log):
    layer = Layer(x)
    return layer.method(x) + 1


@program()
def in_a_bound_method_kept(x, log):
    method = Layer(x).method
    return method(x) + method(x + 1)


@program()
def in_call(x, log):
    return Layer(x)(x + 1) * 2


@program()
def in_a_property(x, log):
    return x + Layer(x).doubled * 2


@program()
def in_the_setter_of_a_property(x, log):
    layer = Layer(x)
    layer.doubled = x * 6
    return layer.bias + 1


@program()
def in_a_class_method(x, log):
    return Layer.of_class(x + 1) - 1


@program()
def in_a_static_method(x, log):
    return Layer.of_none(x + 1) - 1


@program()
def in_getattr(x, log):
    return Layer(x).absent + 1


@program()
def in_getitem(x, log):
    return Layer(x)[3] + 1


@program()
def in_setitem(x, log):
    layer = Layer(x)
    layer[1] = x + 5
    return layer.bias - 1


@program()
def in_len(x, log):
    layer = Layer(x)
    return layer.bias * len(layer), layer.bias


@program()
def in_bool(x, log):
    layer = Layer(x)
    return layer.bias + 1 if layer else layer.bias


@program()
def in_contains(x, log):
    layer = Layer(x)
    return layer.bias + (2 in layer), layer.bias


@program()
def in_add(x, log):
    return (Layer(x) + x) * 2  # break


@program()
def in_the_reflected_add(x, log):
    return (3 + Layer(x)) * 2


@program()
def in_a_comparison(x, log):
    return x + (Layer(x) < 100).sum()


@program()
def in_iter(x, log):
    return [y * 2 for y in Layer(x)]


class BreakingInit:
    def __init__(self, x):
        self.a = x + 1
        graph_break()  # break
        self.b = self.a * 2


class DerivedInit(BreakingInit):
    def __init__(self, x):
        super().__init__(x * 2)
        self.c = self.b + 1


@program()
def in_init(x, log):
    made = BreakingInit(x)
    return made.a + made.b


@program()
def in_init_of_a_base_class(x, log):
    made = DerivedInit(x)
    return made.a + made.c


@whole()
def in_a_class_body(x, log):
    class Made:
        value = 3

        def method(self, y):
            return y + self.value

    return Made().method(x) * 2


@program()
def in_a_partial(x, log):
    add = functools.partial(Layer.method, Layer(x))  # break
    return add(x + 1) * 2


@program()
def in_a_sort_key(x, log):
    def key(n):
        note(log, n)  # break
        return -n

    y = x + 1
    return y * sorted([1, 2, 3], key=key)[0]


@program()
def in_map(x, log):
    return [y + 1 for y in map(inner, [x, x + 1])]  # break, below map


@program()
def in_reduce(x, log):
    def add(a, b):
        graph_break()  # break, below reduce
        return a + b

    y = x + 1
    return functools.reduce(add, [y, y + 1, y + 2])


@program()
def in_a_match_guard(x, log):
    match len(x):
        case n if note(log, n) > 100:  # break
            return x
        case 3:
            x = x + 3
            graph_break()
            return x * 2
    return x


@program()
def of_print(x, log):
    y = x + 1
    print("of", len(y), y.sum() > 0)  # break
    return y * 2


@program()
def of_a_c_function(x, log):
    y = x + 1
    log.append(id(log) > 0)  # break
    return y * 2


@program()
def with_writes_on_both_sides(x, log):
    log.append(1)
    x.add_(1)
    graph_break()  # break
    log.append(2)
    x.mul_(2)
    graph_break()
    return x.sum(), len(log)


@program()
def with_dead_and_live_locals(x, log):
    dead = x + 1
    live = dead * 2
    graph_break()  # break
    del dead
    alias = live
    graph_break()
    return live + 1, alias


@program()
def with_unset_locals(x, log):
    if len(log) > 5:
        y = x
    graph_break()  # break
    try:
        return y
    except UnboundLocalError as error:
        return x + 1, str(error)


@program()
def next_on_an_iterator(x, log):
    items = iter([x, x + 1])
    first = next(items)
    graph_break()  # break
    return first + next(items), next(items, None)


@whole()
def nothing(x, log):
    return x


@whole()
def captured_whole(x, log):
    for i in range(3):
        with torch.no_grad():
            x = x + i
        log.append(i)
    return [y * 2 for y in (x, x + 1)]
