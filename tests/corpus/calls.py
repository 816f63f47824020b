"""Calls of every form, inlined."""

import functools
import typing

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


def add(a, b=10, *rest, k=100, **more):
    total = a + b + k
    for item in rest:
        total = total + item
    for value in more.values():
        total = total + value
    return total


@whole()
def positional(x):
    return add(x, 1)


@whole()
def defaults(x):
    return add(x)


@whole()
def keywords(x):
    return add(b=2, a=x, k=3)


@whole()
def extra_positional(x):
    return add(x, 1, 2, 3)


@whole()
def extra_keywords(x):
    return add(x, m=1, n=2)


@whole()
def star_call(x):
    args = (1, 2)
    return add(x, *args)


@whole()
def double_star_call(x):
    options = {"b": 1, "k": 2, "m": 3}
    return add(x, **options)


@whole()
def star_and_double_star_call(x):
    return add(*[x, 1], *(2, 3), k=5, **{"m": 1}, **{"n": 2})


def positional_only(a, b, /, c):
    return a * b + c


@whole()
def positional_only_call(x):
    return positional_only(x, 2, c=3)


def keyword_only(a, *, b, c=3):
    return a * b + c


@whole()
def keyword_only_call(x):
    return keyword_only(x, b=2)


@snippet(raises=TypeError)
def missing_argument(x):
    return positional_only(x)


@snippet(raises=TypeError)
def unexpected_keyword(x):
    return keyword_only(x, b=1, d=2)


@snippet(raises=TypeError)
def too_many_arguments(x):
    return keyword_only(x, 2)


@snippet(raises=TypeError)
def keyword_twice(x):
    return add(x, **{"a": 1})


@snippet(raises=TypeError)
def call_of_number(x):
    three = 3
    return three(x)


@whole()
def lambda_call(x):
    double = lambda y: y * 2
    return double(x)


@whole()
def lambda_at_once(x):
    return (lambda a, b: a - b)(x, 1)


@whole()
def nested_function(x):
    def inner(a, b=2):
        return a * b

    return inner(x) + inner(x, 3)


@whole()
def default_evaluated_at_definition(x):
    n = 1

    def inner(a, b=n):
        return a + b

    n = 100
    return inner(x)


@whole()
def function_passed(x):
    def apply(f, y):
        return f(y)

    return apply(minidynamo.relu, x) + apply(lambda y: y * 2, x)


@whole(lambda: (tensor([1.0]), minidynamo.relu), lambda: (tensor([1.0]), add))
def function_argument(x, f):
    return f(x)


@whole()
def function_in_container(x):
    table = {"relu": minidynamo.relu, "double": lambda y: y * 2}
    for name in ("relu", "double"):
        x = table[name](x)
    return x


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@whole()
def recursion(x):
    return x * factorial(5)


def apply_times(x, n):
    if n == 0:
        return x
    return apply_times(x * 2, n - 1)


@whole()
def recursion_on_tensor(x):
    return apply_times(x, 5)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@whole()
def mutual_recursion(x):
    return x * 2 if is_even(6) else x


@whole()
def recursion_in_closure(x):
    def down(n):
        return x if n == 0 else down(n - 1) + n

    return down(4)


@whole()
def deep_calls(x):
    return apply_times(x, 40)


class Scaler:
    factor = 2.0

    def __init__(self, shift):
        self.shift = shift

    def scale(self, x):
        return x * self.factor + self.shift

    def twice(self, x):
        return self.scale(self.scale(x))

    @staticmethod
    def plus_one(x):
        return x + 1

    @classmethod
    def by_class(cls, x):
        return x * cls.factor

    def __call__(self, x, n=1):
        return x + self.shift * n


class Double(Scaler):
    factor = 4.0

    def scale(self, x):
        return super().scale(x) + 1


SCALER = Scaler(1.0)
DOUBLE = Double(2.0)


@whole()
def method_call(x):
    return SCALER.scale(x)


@whole()
def method_calls_method(x):
    return SCALER.twice(x)


@whole()
def bound_method(x):
    f = SCALER.scale
    return f(x)


@whole()
def unbound_method(x):
    return Scaler.scale(SCALER, x)


@whole()
def static_method(x):
    return Scaler.plus_one(x) + SCALER.plus_one(x)


@whole()
def class_method(x):
    return Scaler.by_class(x) + Double.by_class(x) + DOUBLE.by_class(x)


@whole()
def overridden_method_with_super(x):
    return DOUBLE.twice(x)


@whole()
def instance_is_called(x):
    return SCALER(x) + SCALER(x, n=3)


@whole(lambda: (Scaler(1.0), tensor([1.0])), lambda: (Scaler(2.0), tensor([1.0])), lambda: (Double(1.0), tensor([1.0])))
def object_argument(scaler, x):
    return scaler.scale(x)


@whole(lambda: (Scaler(1.0).scale, tensor([1.0])))
def bound_method_argument(f, x):
    return f(x)


def replace_method(x):
    return x * 1000


@whole()
def method_on_instance(x):
    scaler = Scaler(1.0)
    scaler.scale = replace_method
    return scaler.twice(x)


@snippet()
def partial_call(x):
    return functools.partial(add, x, k=5)(1)


PARTIAL = functools.partial(add, b=2, k=3)


@snippet()
def partial_created_outside(x):
    return PARTIAL(x) + PARTIAL(x, b=5)


@whole()
def reduce_over_tensors(x):
    return functools.reduce(lambda a, b: a * b, [x, x + 1, x + 2])


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


@logged
def decorated(x, n=2):
    return x * n


@whole()
def decorated_call(x):
    return decorated(x) + decorated(x, n=3)


Parameters = typing.ParamSpec("Parameters")
Result = typing.TypeVar("Result")


def with_annotations(function: typing.Callable[Parameters, Result]) -> typing.Callable[Parameters, Result]:
    @functools.wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return function(*args, **kwargs)

    return wrapper


@whole()
def decorator_with_the_parameters_of_another(x):
    @with_annotations
    def scaled(y, by=2):
        return y * by

    return scaled(x) + scaled(x, by=3), with_annotations(scaled)


@whole()
def parameters_of_another_made(x):
    first, names = Parameters.args, Parameters.kwargs
    return x + 1, first, names, first is Parameters.args


@snippet()
def decorator_used_inside(x):
    @logged
    def inner(y):
        return y * 2

    return inner(x)


@whole()
def returns_several(x):
    def both(y):
        return y + 1, y * 2

    a, b = both(x)
    return a, b


@whole()
def returns_nothing(x):
    def nothing(y):
        y + 1

    return x, nothing(x)


@whole()
def argument_rebound_in_callee(x):
    def callee(y):
        y = y + 1
        return y

    z = callee(x)
    return x, z


@whole()
def list_filled_by_callee(x):
    def fill(items, y):
        items.append(y)

    items = []
    fill(items, x)
    fill(items, x + 1)
    return items


@whole()
def mutable_default_created_inside(x):
    def inner(y, items=[]):  # noqa: B006
        items.append(y)
        return len(items)

    return inner(x) + inner(x), x


@whole()
def call_result_is_called(x):
    def outer(n):
        def inner(y):
            return y * n

        return inner

    return outer(3)(x)


@whole()
def curried_lambdas(x):
    return (lambda a: lambda b: a - b)(x)(1)


@whole(lambda: (tensor([1.0]), tensor([2.0]), tensor([3.0])), lambda: (tensor([1.0]),))
def star_parameters(*tensors):
    total = tensors[0]
    for other in tensors[1:]:
        total = total + other
    return total, len(tensors)


@whole()
def default_parameter(x, n=3, *, k=2):
    return x * n + k


@whole(lambda: (tensor([1.0]), {"a": 1}))
def keywords_are_a_new_dict(x, options):
    def change(**kwargs):
        kwargs["b"] = 2
        return kwargs

    return x, change(**options), options


@snippet()
def lru_cached(x):
    @functools.lru_cache
    def square(n):
        return n * n

    return x * square(3) + square(3)


@snippet()
def function_attributes(x):
    def inner(y):
        inner.calls += 1
        return y * 2

    inner.calls = 0
    return inner(inner(x)), inner.calls


@whole()
def call_through_getattr(x):
    return getattr(SCALER, "scale")(x) + getattr(x, "sum")()


@snippet()
def method_of_literal(x):
    return x, "a-b".split("-"), (1).bit_length(), [1].__len__()
