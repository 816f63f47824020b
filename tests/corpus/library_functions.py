"""Functions of the standard library: functools, itertools, operator, math, copy, and functions on strings."""

import abc
import bisect
import contextlib
import copy
import functools
import heapq
import itertools
import math
import operator
import os
import re
import string
import struct
import types
import typing
import weakref

from differential import snippet
from differential import whole_on_311 as whole

from minidynamo import tensor


def scaled(x, by, *, plus=0):
    return x * by + plus


@whole()
def partial_created(x):
    double = functools.partial(scaled, by=2)
    return double(x) + double(x, plus=1)


@whole()
def partial_positional(x):
    return functools.partial(scaled, x)(3)


@whole()
def partial_nested(x):
    return functools.partial(functools.partial(scaled, by=2), plus=5)(x)


@whole()
def partial_returned(x):
    return functools.partial(scaled, x + 1, by=2)


@snippet()
def partial_attributes(x):
    p = functools.partial(scaled, x, by=2)
    return p.args[0] + 1, p.keywords["by"], p.func is scaled


TWICE = functools.partial(scaled, by=2)


@whole()
def partial_global(x):
    return TWICE(x, plus=1)


@whole(
    lambda: (tensor([1.0]), functools.partial(scaled, by=2)), lambda: (tensor([1.0]), functools.partial(scaled, by=3))
)
def partial_of_caller(x, p):
    return p(x)


@whole()
def partial_in_map(x):
    return list(map(functools.partial(operator.mul, 3), [x, x + 1]))


class Scaler:
    def __init__(self, by):
        self.by = by

    def apply(self, x, plus):
        return x * self.by + plus

    apply_one = functools.partialmethod(apply, plus=1)

    @functools.cached_property
    def square(self):
        return self.by * self.by


@snippet()
def partial_method(x):
    return Scaler(2).apply_one(x)


@whole()
def partial_of_method(x):
    return functools.partial(Scaler(2).apply, plus=3)(x)


@snippet()
def cached_property_of_a_created_object(x):
    s = Scaler(x)
    return s.square + s.square


@snippet(lambda: (Scaler(tensor([2.0])),))
def cached_property_of_caller(s):
    return s.square + s.square


@whole()
def reduce_function(x):
    return functools.reduce(lambda a, b: a + b, [x, x + 1, x + 2]), functools.reduce(operator.mul, [1, 2, 3], 2)


@functools.lru_cache(maxsize=None)
def slow_power(n):
    return 1 if n == 0 else 2 * slow_power(n - 1)


@functools.cache
def cached_square(n):
    return n * n


@whole()
def lru_cache_called(x):
    return x * slow_power(3)


@whole()
def cache_called(x):
    return x * cached_square(3)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    return wrapper


@logged
def decorated(x, by=2):
    return x * by


@whole()
def wraps_called(x):
    return decorated(x) + decorated(x, by=3), decorated.__name__


@whole()
def wraps_created_inside(x):
    @functools.wraps(scaled)
    def inner(y):
        return y + 1

    return inner(x), inner.__name__


@functools.singledispatch
def described(value):
    return 1


@described.register
def _(value: int):
    return 2


@described.register(list)
def _(value):
    return 3


@whole()
def single_dispatch(x):
    return x * described(1) + described([]) + described("a")


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@whole()
def total_ordering(x):
    return x, Version(1) < Version(2), Version(1) >= Version(2), Version(3) > Version(2), Version(1) <= Version(1)


@snippet()
def compare_by_key_function(x):
    return x, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


@whole()
def chained(x):
    return sum(itertools.chain([x], [x + 1])), list(itertools.chain.from_iterable([[1], [2, 3]]))


@snippet()
def grouped(x):
    return (
        x,
        [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 3, 3])],
        [k for k, _ in itertools.groupby(["a", "bb", "cc"], key=len)],
    )


@snippet()
def teed(x):
    a, b = itertools.tee([x, x + 1])
    return next(a) + next(b), list(a)


@whole()
def permuted(x):
    return x, list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations_with_replacement("ab", 2))


@whole()
def counted(x):
    return [x * i for i in itertools.islice(itertools.count(1), 3)], list(zip("ab", itertools.count()))


@whole()
def product_function(x):
    return [x * a + b for a, b in itertools.product([1, 2], [3, 4])]


@snippet()
def iterator_to_sentinel(x):
    steps = iter([1, 2, 0, 3])
    return x, list(iter(lambda: next(steps), 0))


@whole()
def operator_getters(x):
    get, pick, call = operator.itemgetter(1), operator.attrgetter("shape"), operator.methodcaller("sum")
    return get([1, x]) + 1, pick(x), call(x)


@whole()
def operator_getters_of_several(x):
    return operator.itemgetter(0, 1)([x, 2]), operator.attrgetter("ndim", "shape")(x)


@whole()
def itemgetter_as_key(x):
    return (
        x,
        sorted([(1, "b"), (0, "a")], key=operator.itemgetter(0)),
        max([("a", 1), ("b", 3)], key=operator.itemgetter(1)),
    )


@snippet()
def operator_others(x):
    items = [1, 2]
    operator.setitem(items, 0, 5)
    return x, items, operator.index(3), operator.truth([]), operator.concat([1], [2]), operator.countOf([1, 1], 1)


@whole()
def math_functions(x):
    return (
        x * math.sqrt(4.0),
        math.pi,
        math.floor(2.5),
        math.prod([1, 2, 3]),
        math.gcd(4, 6),
        math.inf > 1,
        math.isclose(1, 1),
    )


@whole()
def math_of_many(x):
    return x, math.fsum([0.1, 0.2]), math.hypot(3.0, 4.0), math.factorial(5), math.comb(5, 2), math.dist([0], [1])


@whole()
def copied(x):
    items = [1, [2, 3]]
    shallow = copy.copy(items)
    return x, shallow, shallow[1] is items[1], copy.copy({"a": 1}), copy.copy((1, 2)), copy.copy(3)


@snippet()
def copied_deeply(x):
    items = [1, [2, 3], {"a": (4,)}]
    deep = copy.deepcopy(items)
    return x, deep, deep[1] is items[1], copy.deepcopy(7), copy.deepcopy("a")


@snippet()
def copied_object(x):
    s = Scaler(2)
    return x * copy.copy(s).by


@snippet()
def regular_expression(x):
    return x * len(re.match(r"a+", "aaab").group(0))


@whole()
def string_constants(x):
    return x, string.ascii_lowercase[:3], string.digits


@whole()
def paths(x):
    return x, os.path.join("a", "b"), os.path.basename("/a/b.c"), os.path.splitext("b.c")


@whole()
def environment(x):
    return x, os.environ.get("NOT_SET_ANYWHERE", "d")


@whole()
def struct_packed(x):
    return x, struct.calcsize("ii"), struct.pack("<i", 3)


@whole()
def bisected(x):
    return x, bisect.bisect([1, 3, 5], 3), bisect.bisect_left([1, 3, 5], 3)


@snippet()
def heap(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x, heapq.heappop(h), heapq.nlargest(2, [1, 5, 2])


@whole()
def null_context(x):
    with contextlib.nullcontext(3) as three:
        return x * three


@whole()
def exit_stack(x):
    with contextlib.ExitStack() as stack:
        value = stack.enter_context(contextlib.nullcontext(x))
    return value + 1


@whole()
def exit_stack_callback(x):
    seen = []
    with contextlib.ExitStack() as stack:
        stack.callback(seen.append, 1)
        y = x + 1
    return y, seen


@whole()
def suppressed(x):
    with contextlib.suppress(KeyError):
        {}["a"]
    return x + 1


@contextlib.contextmanager
def added(items):
    items.append("in")
    try:
        yield 3
    finally:
        items.append("out")


@whole()
def context_manager_function(x):
    items = []
    with added(items) as three:
        y = x * three
    return y, items


@added([])
def under_a_manager(x):
    return x + 1


@whole()
def context_manager_as_decorator(x):
    return under_a_manager(x)


class Closing:
    def close(self):
        self.closed = True


@whole()
def closed(x):
    with contextlib.closing(Closing()) as c:
        y = x + 1
    return y, c.closed


@whole()
def weak_reference(x):
    s = Scaler(3)
    return x * weakref.ref(s)().by


@snippet()
def typing_functions(x):
    return typing.cast(int, x) + 1, typing.get_origin(list[int]) is list


T = typing.TypeVar("T")


class Holder(typing.Generic[T]):
    def __init__(self, value):
        self.value = value


@whole()
def generic_class(x):
    return Holder(x).value + 1


@snippet()
def generic_class_subscripted(x):
    return Holder[int](x).value + 1


@typing.runtime_checkable
class HasClose(typing.Protocol):
    def close(self): ...


@typing.runtime_checkable
class Sized(typing.Protocol):
    size: int

    def close(self): ...


@whole()
def protocol(x):
    return x, isinstance(Closing(), HasClose), isinstance(3, HasClose), isinstance(x, HasClose)


@whole()
def protocol_of_classes(x):
    return x, issubclass(Closing, HasClose), issubclass(int, HasClose)


@snippet()
def protocol_with_an_attribute(x):
    closing = Closing()
    before = isinstance(closing, Sized)
    closing.size = 3
    return x, before, isinstance(closing, Sized)


@snippet()
def protocol_checked_for_the_first_time(x):
    """Up to 3.11 the result depends on the calling frames."""

    @typing.runtime_checkable
    class Sized(typing.Protocol):
        size: int

    class Plain(typing.Protocol):
        def close(self): ...

    found = [isinstance(Closing(), Sized)]
    for check, protocol in ((isinstance, Plain), (issubclass, Plain), (issubclass, Sized)):
        try:
            found.append(check(Closing if check is issubclass else Closing(), protocol))
        except TypeError as error:
            found.append(str(error))
    return x + 1, found


@snippet()
def protocol_of_classes_with_an_attribute(x):
    try:
        return x, issubclass(Closing, Sized)
    except TypeError as error:
        return x + 1, str(error)


@snippet()
def annotations_of_classes(x):
    return x, Sized.__annotations__, Holder.__annotations__


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


@whole()
def abstract_base(x):
    return Square(x).area()


@whole()
def abstract_isinstance(x):
    return x, isinstance(Square(2), Shape), isinstance(3, Shape), issubclass(Square, Shape)


@whole()
def collection_abstracts(x):
    import collections.abc as cabc

    return (
        x,
        isinstance([], cabc.Sequence),
        isinstance({}, cabc.Mapping),
        isinstance(3, cabc.Iterable),
        isinstance(len, cabc.Callable),
    )


@whole()
def dynamic_types(x):
    return x, isinstance(scaled, types.FunctionType), isinstance(math, types.ModuleType)
