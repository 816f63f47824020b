"""locals(), and vars() and dir() without an argument."""

import sys

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


@whole()
def all_locals(x):
    y = x + 1
    unset = 1
    del unset
    return locals(), list(locals()), sorted(vars()), dir(), y


@whole()
def arguments_of_every_kind(x, *rest, key=2, **more):
    return locals()


@whole()
def cells_and_free_names(x):
    y = x + 1
    late = 0

    def inner(z):
        w = y
        return locals(), x

    z = 3
    found = locals()
    result = inner(z), found
    late = 1
    return result, late


@whole()
def called_twice(x):
    one = locals()
    y = 2
    one["added"] = 5
    two = locals()
    y = 3
    del y
    three = locals()
    return one is two, two is three, list(one), list(two), list(three)


@whole()
def one_dict_kept_in_itself(x):
    d = locals()
    e = locals()
    return list(d), list(e), d is e


@whole()
def in_an_inlined_call(x):
    def inner(a, b=2):
        c = a + b
        names = locals()
        c = 0
        return names

    return inner(x), inner(1, b=3), x


@snippet()
def as_format_arguments(x):
    name, count = "x", 3
    return "{name} {count}".format(**locals()), "%(count)d" % locals(), x


def product(a, b):
    return a * b


def call_product(a, b):
    return product(**locals())


@whole()
def passed_on(x):
    return call_product(x, 2)


@whole()
def in_a_lambda_and_a_loop(x):
    found = []
    for i in range(2):
        found.append((lambda n: dict(locals()))(i))
    return found, x


@whole()
def vars_of_an_object(x):
    class Box:
        pass

    box = Box()
    box.a = x
    vars(box)["b"] = 2
    return vars(box), box.b


@snippet()
def in_a_comprehension(x):
    return [sorted(locals()) for n in range(1)], x


@snippet()
def in_a_class_body(x):
    class Local:
        a = 1
        names = sorted(name for name in locals() if not name.startswith("__"))
        locals()["b"] = 2

    return Local.names, Local.b, x


@snippet()
def before_a_break(x):
    y = x + 1
    found = locals()
    minidynamo._dynamo.graph_break()
    z = 2
    again = locals()
    return found is again, list(found), y, z


@snippet()
def before_a_break_in_a_callee(x):
    def inner(a):
        found = locals()
        minidynamo._dynamo.graph_break()
        b = 1
        again = locals()
        return found is again, list(found), b

    return inner(x)


@snippet()
def after_a_break(x):
    found = locals()
    minidynamo._dynamo.graph_break()
    y = 2
    return found, list(locals()), y


@snippet()
def seen_by_the_callee(x):
    def look():
        return sorted(sys._getframe(1).f_locals)

    y = 1
    found = locals()
    return look(), list(found), y


@snippet()
def in_a_generator(x):
    def generate():
        y = 1
        yield locals()
        z = 2
        yield locals()
        return y, z

    return [list(each) for each in generate()], x


@snippet(raises=ZeroDivisionError)
def before_an_error(x):
    found = locals()
    y = 1 // 0
    return found, y


@whole()
def before_an_error_that_is_caught(x):
    found = locals()
    try:
        y = 1 // 0
    except ZeroDivisionError as error:
        text = str(error)
    return list(found), text, list(locals())


@snippet(raises=TypeError)
def with_an_argument(x):
    return locals(x)


def numbers():
    return tensor([1.0]), 2


@whole(numbers, lambda: (tensor([1.0]), 5))
def dynamic_numbers(x, n):
    m = n + 1
    return locals(), x * m
