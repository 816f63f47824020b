"""inspect.signature() and what it uses: mappingproxy, the __dict__ of classes, the recursion limit."""

import collections
import functools
import inspect
import sys
import types

from differential import snippet, whole

from minidynamo import tensor


def scaled(x, by: float = 2, *rest, shift=3, **more) -> int:
    return x * by + shift


@functools.wraps(scaled)
def wrapper(*args, **kwargs):
    return scaled(*args, **kwargs)


HALVED = functools.partial(scaled, by=0.5)
SIGNATURE = inspect.signature(scaled)


# Since 3.13 inspection of a class uses weak references and a cache.
of_classes = whole if sys.version_info < (3, 13) else snippet


class Point:
    unit = 3

    def __init__(self, across, down=0):
        self.across = across

    def moved(self, by, *, twice=False):
        return self.across + by

    @staticmethod
    def origin(kind=None):
        return Point(0)

    @classmethod
    def of(cls, pair):
        return cls(*pair)


class Further(Point):
    limit = 4


class Loud(dict):
    def items(self):
        print("items")
        return super().items()

    def __getitem__(self, key):
        print("get", key)
        return super().__getitem__(key)


def with_proxies():
    held = {"a": 1, "b": 2}
    return tensor([1.0, 2.0]), held, types.MappingProxyType(held)


def with_loud_proxy():
    return tensor([1.0, 2.0]), types.MappingProxyType(Loud(a=1))


def with_attributes():
    point = Point(2)
    return tensor([1.0, 2.0]), point, types.MappingProxyType(vars(point))


@whole()
def signature_of_a_function(x):
    found = inspect.signature(scaled)
    kinds = [(name, each.kind.name, each.default is each.empty) for name, each in found.parameters.items()]
    return x + len(found.parameters), kinds, found.return_annotation, str(found)


@whole()
def signature_of_a_wrapped_function(x):
    return x, list(inspect.signature(wrapper).parameters)


@whole()
def signature_of_a_nested_function(x):
    def inner(a, /, b, *, c=x):
        return a

    found = inspect.signature(inner)
    return found.parameters["c"].default + 1, list(found.parameters)


@whole()
def signature_of_methods(x):
    point = Point(1)
    found = [inspect.signature(each) for each in (point.moved, Point.moved, Point.of, Point.origin)]
    return x, [list(each.parameters) for each in found]


@of_classes()
def signature_of_a_class(x):
    return x, str(inspect.signature(Point)), str(inspect.signature(Further))


@snippet()
def signature_of_a_partial(x):
    return x, str(inspect.signature(HALVED))


@whole()
def arguments_bound_to_a_signature(x):
    bound = inspect.signature(scaled).bind(x, 4, shift=1)
    bound.apply_defaults()
    return scaled(*bound.args, **bound.kwargs), dict(bound.arguments)


@of_classes()
def arguments_that_a_signature_does_not_take(x):
    try:
        inspect.signature(Point).bind()
    except TypeError as error:
        return x + 1, error.args


@whole()
def full_argument_names(x):
    return x, inspect.getfullargspec(scaled)


@whole()
def keywords_that_a_function_takes(x):
    given = {"by": 3, "shift": 1, "unknown": 9}
    names = SIGNATURE.parameters
    return scaled(x, **{name: value for name, value in given.items() if name in names})


@whole(with_proxies)
def proxy_that_is_read(x, held, proxy):
    got = [key for key in proxy], [*proxy.items()], sum(proxy.values()), proxy.get("z", 7), proxy.get("z")
    return x + proxy["a"] + len(proxy), got, "b" in proxy, bool(proxy), {**proxy}, dict(proxy), proxy.copy()


@whole(with_proxies)
def proxy_sees_what_is_written(x, held, proxy):
    before = proxy["b"]
    held["b"] = 7
    held["c"] = x
    return before + proxy["b"], list(proxy), proxy["c"]


@whole()
def proxy_created(x):
    held = {"x": x}
    proxy, numbers = types.MappingProxyType(held), types.MappingProxyType({"a": 1})
    held["n"] = 1
    same = numbers == {"a": 1}, numbers != {"a": 2}, numbers == types.MappingProxyType({"a": 1})
    return proxy, held, proxy["x"] + len(proxy), type(proxy) is types.MappingProxyType, same


@whole()
def proxy_of_a_proxy(x):
    inner = types.MappingProxyType(collections.OrderedDict(a=x, b=2))
    outer = types.MappingProxyType(inner)
    return outer["a"] + outer["b"], list(outer), bool(types.MappingProxyType({}))


@whole(with_loud_proxy)
def proxy_calls_the_methods_of_its_mapping(x, proxy):
    return x, list(proxy.items()), proxy["a"], proxy.get("b", 4), list(proxy)


@snippet(with_loud_proxy)
def copy_of_a_proxy_reads_each_item_of_its_mapping(x, proxy):
    return x, {**proxy}, dict(proxy), dict(proxy, b=2)


@snippet()
def proxy_instead_of_a_dict(x):
    try:
        return type("Made", (), types.MappingProxyType({"a": 1}))
    except TypeError as error:
        return x + 1, str(error)


@snippet()
def attributes_of_a_class_method_and_its_function(x):
    def method(cls, a: int): ...

    each = [hasattr(made, "__annotations__") for made in (classmethod(method), staticmethod(method), property(method))]
    return x, each, classmethod(method).__annotations__


@whole(with_proxies)
def proxy_without_the_key(x, held, proxy):
    try:
        return proxy["nothing"]
    except KeyError as error:
        return x + 1, error.args


@snippet(with_proxies)
def proxy_that_is_written_to(x, held, proxy):
    try:
        proxy["a"] = 2
    except TypeError as error:
        return x + 1, str(error), proxy | {"d": 4}, sorted(proxy), str(proxy)


@snippet(with_attributes)
def proxy_of_attributes(x, point, proxy):
    point.across = 5
    point.other = 6
    seen = proxy["across"], list(proxy)
    del point.other
    return x + seen[0], seen, list(proxy)


@whole()
def dict_of_a_class(x):
    own = [name for name in vars(Further) if not name.startswith("__")]
    return x + Point.__dict__["unit"], "moved" in Point.__dict__, "unit" in Further.__dict__, own, Point.__dict__


@whole()
def dict_of_a_built_in_class(x):
    return x, "__len__" in list.__dict__, dict.__dict__["get"] is dict.get, "get" in vars(list)


@snippet()
def dict_of_a_class_that_changes(x):
    shown = Point.__dict__
    Point.unit = 9
    seen = shown["unit"], Point.__dict__["unit"]
    Point.unit = 3
    return x + seen[0], seen, shown["unit"]


@whole()
def recursion_limit(x):
    return x + 1, sys.getrecursionlimit()


@whole()
def missing_attributes_of_functions(x):
    def inner(a):
        return a

    part = functools.partial(inner, x)
    names = [hasattr(each, "__wrapped__") for each in (inner, scaled, wrapper, part)]
    return part(), names, getattr(inner, "other", 5), inner.__globals__ is globals(), part in (Point, scaled)


@whole()
def ids_of_created_objects(x):
    part = functools.partial(scaled, x)
    memo = {id(part): part}
    return memo[id(part)](1), id(part) == id(scaled), id(part) in {id(x)}
