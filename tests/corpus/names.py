"""Locals, constants, globals, closures, attributes of modules and classes, imports."""

import math
import types

from differential import snippet, whole

import minidynamo
from minidynamo import tensor

SCALE = 2.5
TABLE = {"scale": 3.0, "shift": [1, 2, 3]}
WEIGHT = tensor([1.0, 2.0, 4.0])
COUNTER = 0
LATE = None
SPACE = types.SimpleNamespace(scale=4.0, inner=types.SimpleNamespace(shift=1.0))


class Settings:
    scale = 2.0
    names = ("a", "b")

    class Inner:
        shift = 5.0


SETTINGS = Settings()


@whole()
def return_argument(x):
    return x


@whole()
def local_reassigned(x):
    y = x + 1
    y = y * 2
    x = y
    return x


@whole()
def constants(x):
    return (x * 2, 1, 2.5, "text", b"bytes", None, True, ..., 3j, (1, (2, 3)))


@whole()
def swap(x):
    a, b = x + 1, x + 2
    a, b = b, a
    return a, b


@whole()
def rotate_three(x):
    a, b, c = x, x + 1, x + 2
    a, b, c = c, a, b
    return a - b, c


@whole()
def chained_assignment(x):
    a = b = x * 2
    return a, b


@whole()
def augmented(x):
    y = x
    y = y + 1
    y *= 2
    y -= 3
    y /= 4
    return y


@whole()
def global_number(x):
    return x * SCALE


@whole()
def global_dict(x):
    return x * TABLE["scale"] + TABLE["shift"][1]


@whole()
def global_tensor(x):
    return x * WEIGHT


@whole()
def module_function(x):
    return minidynamo.relu(x)


@whole()
def module_constant(x):
    return x * math.pi


@whole()
def class_attribute(x):
    return x * Settings.scale, Settings.names


@whole()
def nested_class_attribute(x):
    return x + Settings.Inner.shift


@whole()
def instance_falls_back_to_class(x):
    return x * SETTINGS.scale


@whole()
def namespace_object(x):
    return x * SPACE.scale + SPACE.inner.shift


@whole()
def builtin_name(x):
    return x * abs(-3)


@whole()
def closure_read(x):
    scale = 3.0

    def inner(y):
        return y * scale

    return inner(x)


@whole()
def closure_of_tensor(x):
    y = x + 1

    def inner():
        return y * 2

    return inner() + y


@whole()
def closure_rebound_before_call(x):
    scale = 1.0

    def inner(y):
        return y * scale

    scale = 5.0
    return inner(x)


@whole()
def nonlocal_write(x):
    count = 0

    def bump():
        nonlocal count
        count += 1
        return count

    bump()
    bump()
    return x * count, count


@whole()
def nonlocal_tensor(x):
    total = x

    def add(y):
        nonlocal total
        total = total + y

    add(x)
    add(x * 2)
    return total


@whole()
def closure_two_deep(x):
    a = 2

    def outer():
        b = 3

        def inner():
            return x * a + b

        return inner()

    return outer()


def make_scaler(scale):
    def scaler(x):
        return x * scale

    return scaler


THRICE = make_scaler(3.0)


@whole()
def closure_created_outside(x):
    return THRICE(x)


def make_counter():
    count = 0

    def counter(x):
        nonlocal count
        count += 1
        return x + count

    return counter


@whole(lambda: (tensor([1.0]), make_counter()))
def closure_state_outside(x, counter):
    return counter(x), counter(x)


@whole()
def return_closure(x):
    y = x + 1
    return lambda z: y + z


@whole()
def return_closures_sharing_a_cell(x):
    count = 0

    def get():
        return count, x

    def bump():
        nonlocal count
        count += 1

    bump()
    return get, bump


@whole(state="COUNTER")
def global_write(x):
    global COUNTER
    COUNTER += 1
    return x + COUNTER


@whole(state="LATE")
def global_tensor_write(x):
    global LATE
    LATE = x * 2
    return LATE + 1


@snippet(state="LATE")
def global_delete(x):
    global LATE
    del LATE
    try:
        return LATE
    except NameError as error:
        return x + len(str(error))


@snippet(raises=NameError)
def global_missing(x):
    return x + does_not_exist  # noqa: F821


@snippet(raises=UnboundLocalError)
def local_unbound(x):
    if len(x) > 100:
        y = x
    return y


@snippet(raises=NameError)
def free_variable_unbound(x):
    def inner():
        return y

    if len(x) > 100:
        y = x
    return inner()


@whole()
def delete_local(x):
    y = x + 1
    z = y * 2
    del y
    return z


@snippet(raises=UnboundLocalError)
def delete_local_and_read(x):
    y = x + 1
    del y
    return y  # noqa: F821


@snippet()
def import_inside(x):
    import math

    return x * math.e


@snippet()
def import_from_inside(x):
    from math import floor
    from math import pi as circle

    return x * floor(circle)


@snippet()
def import_dotted(x):
    import os.path

    return x, os.path.join("a", "b")


@whole()
def walrus(x):
    if (n := len(x)) > 2:
        return x * n
    return x


@whole()
def walrus_tensor(x):
    return (y := x + 1) * y


@whole()
def annotated_local(x):
    y: int = 3
    z: float  # noqa: F842
    return x * y


@whole()
def underscore_names(x):
    _, __ = 1, 2
    return x + _ + __


@whole()
def read_locals(x):
    y = 3
    names = sorted(locals())
    return x * y, names


@whole()
def read_globals(x):
    return x * globals()["SCALE"]


@snippet()
def name_of_function(x):
    return x, closure_read.__name__, closure_read.__defaults__


@whole(
    lambda: (tensor([1.0, 2.0]), 3),
    lambda: (tensor([1.0, 2.0]), 4),
    lambda: (tensor([1.0, 2.0]), 2.5),
    lambda: (tensor([1.0, 2.0]), True),
)
def number_argument(x, n):
    return x * n


@whole(
    lambda: (tensor([1.0, 2.0]), None),
    lambda: (tensor([1.0, 2.0]), tensor([3.0, 4.0])),
    lambda: (tensor([1.0, 2.0]), "text"),
)
def argument_of_several_types(x, y):
    if y is None:
        return x
    if isinstance(y, str):
        return x * len(y)
    return x + y


@whole(
    lambda: (tensor([1.0, 2.0]),),
    lambda: (tensor([1.0, 2.0, 3.0]),),
    lambda: (tensor([[1.0, 2.0, 3.0]]),),
    lambda: (tensor([1, 2, 3]),),
)
def several_shapes_and_dtypes(x):
    return (x + 1) * 2


@whole(lambda: (lambda t: (t, t))(tensor([1.0, 2.0])), lambda: (tensor([1.0, 2.0]), tensor([1.0, 2.0])))
def same_tensor_twice(x, y):
    return x + y, x is y
