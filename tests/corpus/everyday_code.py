"""Builtins, attributes of functions and types, deletions, sets, strings: common in small helper functions."""

import sys

from differential import snippet
from differential import whole_on_311 as whole

from minidynamo import tensor


@whole()
def hashes(x):
    return x, hash("a") == hash("a"), hash(3), hash((1, 2.0)) == hash((1, 2.0)), hash(None) == hash(None)


@snippet(raises=TypeError)
def hash_of_list(x):
    return x, hash([1])


@whole()
def names_of_types(x):
    return x, type(3).__name__, int.__name__, ValueError.__qualname__, type([]).__module__


class Plain:
    """A plain class."""

    kind = "plain"

    def __init__(self, n):
        self.n = n

    def method(self):
        return self.n


class Derived(Plain):
    def method(self):
        return super().method() * 2


@whole()
def names_of_user_types(x):
    p = Plain(1)
    return x, type(p).__name__, p.__class__.__name__, Plain.__module__, Plain.__qualname__, Plain.__doc__


@whole()
def name_of_caught_exception(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        return x, type(e).__name__, e.args, str(e)


@snippet()
def bases_and_mro(x):
    return x, Derived.__bases__ == (Plain,), Derived.__mro__[1] is Plain, Derived.mro()[0] is Derived


@snippet()
def class_dict_and_attribute(x):
    return x, "kind" in Plain.__dict__, Plain.__dict__["kind"], Derived.kind


def helper(a, b=2, *, c=3):
    """Helps."""
    return a + b + c


@whole()
def attributes_of_functions(x):
    return x, helper.__name__, helper.__doc__, helper.__defaults__, helper.__module__, helper.__kwdefaults__["c"]


@whole()
def code_of_functions(x):
    return x, helper.__code__.co_argcount, helper.__code__.co_varnames[:2], helper.__qualname__


@whole()
def attributes_of_methods(x):
    p = Plain(1)
    return x, p.method.__name__, p.method.__self__ is p, p.method.__func__ is Plain.method


@whole()
def name_of_lambda(x):
    f = lambda a: a  # noqa: E731
    return f(x), f.__name__


@snippet()
def is_and_id(x):
    y = x
    items = []
    return x is y, id(x) == id(y), id(items) == id([]), id(items) == id(items)


@whole()
def locals_read(x):
    y = 2
    return x, sorted(locals())


@whole()
def globals_read(x):
    return x, globals()["helper"] is helper, "not_there" in globals()


@snippet()
def vars_of_object(x):
    p = Plain(x)
    return vars(p)["n"] + 1, p.__dict__["n"] + 1


@snippet(lambda: (Plain(tensor([1.0])),))
def vars_of_object_of_caller(p):
    return vars(p)["n"] + 1, list(p.__dict__)


@snippet()
def dict_of_object_updated(x):
    p = Plain(x)
    p.__dict__.update(m=3)
    p.__dict__["k"] = x + 1
    return p.k * p.m


@snippet()
def dir_of_object(x):
    return x, "method" in dir(Plain(1))


@whole()
def round_and_divmod(x):
    return x, round(2.567, 2), divmod(7, 3), pow(2, 3, 5), abs(-3), bin(5), ord("a"), chr(98), hex(255), oct(8)


@whole()
def repr_of_containers(x):
    return x, repr([1, "a"]), str({"a": 1}), f"{[1, 2]}", repr((1,)), str({1}), repr(None)


@snippet()
def format_of_containers(x):
    items = [1, 2]
    return x, f"{items!r}", "%s" % items, "{}".format(items)


@whole()
def any_of_generator(x):
    return x, any(n > 2 for n in [1, 2, 3]), all(n > 0 for n in (1, 2)), sum(n for n in range(4))


@whole()
def max_of_generator(x):
    return x, max(n * 2 for n in [1, 3, 2]), min((3, 1)), max(1, 2, 3), min([], default=0)


@whole()
def sorted_by_lambda(x):
    d = {"b": 1, "a": 2}
    return x, sorted(d), sorted(d.items(), key=lambda kv: kv[1], reverse=True)


@whole()
def enumerate_and_zip(x):
    return [v * i for i, v in enumerate([x, x], start=1)], dict(zip("ab", (x, 2)))


@whole()
def del_item_and_slice(x):
    items = [0, 1, 2, 3, 4]
    del items[0], items[1:2]
    d = {"a": 1, "b": 2}
    del d["a"]
    return x, items, d


@whole()
def slice_with_step(x):
    items = [0, 1, 2, 3, 4, 5]
    del items[::2]
    more = [0, 1, 2, 3]
    more[::2] = [7, 8]
    return x, items, more, more[::-1]


@whole()
def list_methods(x):
    items = [3, 1, 2]
    items += (4,)
    items *= 2
    items.remove(1)
    return x, items, items.index(2), items.count(3), items == [3], [1, 2] < [1, 3]


@whole()
def set_modified(x):
    s = {1, 2}
    s.add(3)
    s.discard(1)
    s.remove(2)
    s.update([5, 6])
    return x, s, 3 in s, len(s)


@whole()
def set_algebra(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    return x, a | b, a & b, a - b, a ^ b, a <= b, a.union(b), a.intersection(b), a.isdisjoint(b), a.difference(b)


@whole()
def set_iterated(x):
    total = 0
    for n in {1, 2, 3}:
        total += n
    return x * total, sorted({3, 1}), sum({1, 2}), list({1})


@whole()
def set_pop_clear_copy(x):
    s = {4}
    t = s.copy()
    n = s.pop()
    t.clear()
    return x, s, t, n


@whole(lambda: ({1, 2}, tensor([1.0])), lambda: ({1, 2, 3}, tensor([1.0])))
def set_of_caller_read(s, x):
    if 2 in s and 9 not in s:
        return x * len(s)
    return x


@whole(lambda: ({1, 2}, tensor([1.0])), lambda: ({1, 2, 3}, tensor([1.0])))
def set_of_caller_written(s, x):
    s.add(7)
    s.discard(1)
    return x + len(s)


@whole(lambda: ({1, 2}, tensor([1.0])), lambda: ({1, 2, 3}, tensor([1.0])))
def set_of_caller_iterated(s, x):
    for n in s:
        x = x + n
    return x, sorted(s)


@whole(lambda: ({1, 2}, {2, 3}, tensor([1.0])))
def set_of_caller_algebra(s, t, x):
    return x, s & t, s | t, s - t


@whole()
def frozen_set(x):
    s = frozenset([1, 2])
    return x, 1 in s, s | {3}, len(s), {s: 5}[frozenset([2, 1])]


@snippet()
def bytes_and_bytearray(x):
    b = bytearray(b"ab")
    b.append(99)
    return x, bytes(b), bytes(3), b"a" + b"b", b"abc"[1], memoryview(b"ab")[0]


@snippet()
def string_methods(x):
    return (
        x,
        "a-b".split("-"),
        " a ".strip(),
        "abc".upper(),
        "a".zfill(3),
        "a".center(5, "*"),
        "a,b".partition(","),
        "abc".startswith(("a", "b")),
        "a".join(["x", "y"]),
        "abc".replace("b", "c"),
        "{}-{a}".format(1, a=2),
        "%d%s" % (1, "a"),
        "abc".translate(str.maketrans("a", "b")),
        "abc".find("c"),
        "a" in "abc",
        "a".isalpha(),
        "Ab".swapcase(),
        "a\nb".splitlines(),
        "a".rjust(3),
        "x".ljust(2),
        "a b".title(),
        "abc"[::-1],
        "ab" * 2,
        "abc".removeprefix("a"),
        "a\tb".expandtabs(4),
        "%(a)s" % {"a": 1},
        "{a[0]}".format(a=[5]),
        "{0.real}".format(3),
        "a=%5.2f" % 1.5,
        "{:>5}|{:<3}".format("a", "b"),
        "{x}".format_map({"x": 1}),
    )


@whole()
def f_strings(x):
    a, width = 3.14159, 8
    return (
        x,
        f"{a:.2f}",
        f"{a:{width}.3f}",
        f"{'b'!r:>5}",
        f"{a=}",
        f"{x.shape}",
        f"{x.ndim:03d}",
        f"{type(a).__name__}",
    )


@whole()
def big_integers_and_complex(x):
    return x, 2**100 % 7, (1 << 70) >> 68, (1 + 2j) * 1j, abs(3 + 4j), (1j).imag, 7 // -2, -7 % 3, ~5, True + True


@whole()
def number_methods(x):
    return (
        x,
        (5).bit_length(),
        (2.5).is_integer(),
        (0.5).as_integer_ratio(),
        int("ff", 16),
        float("1e3"),
        (10).to_bytes(2, "big"),
        int.from_bytes(b"\x01", "big"),
        float.fromhex("0x1p3"),
    )


@whole()
def conversions_of_containers(x):
    return (
        x,
        list("ab"),
        tuple([1]),
        set([1, 1]),
        dict([("a", 1)]),
        dict(a=1),
        frozenset("a"),
        list({"a": 1}),
        bool([]),
        str(1.5),
    )


@snippet()
def dict_methods(x):
    d = {"a": 1, "b": x}
    e = d | {"c": 3}
    d |= {"z": 0}
    f = dict.fromkeys("ab", 0)
    return (
        x,
        e,
        f,
        list(d.keys() & {"a"}),
        d.keys() - {"a"},
        list(reversed(d)),
        d == e,
        "a" in d.keys(),
        1 in f.values(),
    )


@whole()
def dict_unpacked(x):
    a = {"a": 1}
    return x, {**a, "b": 2}, helper(**{"a": 1, "c": 5}), [*a, *"xy"]


@whole()
def except_star(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError("k")])
    except* ValueError as group:
        y = len(group.exceptions)
    except* KeyError:
        y = 5
    return x + y


@whole()
def class_statement(x):
    class Local:
        factor = 3

        def apply(self, y):
            return y * self.factor

    return Local().apply(x)


@whole()
def class_statement_with_base_and_closure(x):
    scale = 4

    class Local(Plain):
        def method(self):
            return super().method() * scale

    return Local(x).method()


@whole()
def type_with_three_arguments(x):
    made = type("Made", (Plain,), {"extra": 5})
    return made(x).n * made.extra


@whole()
def class_attribute_changed(x):
    Plain.counter = 1
    Plain.counter += 1
    n = Plain.counter
    del Plain.counter
    return x * n


@whole()
def function_attribute_changed(x):
    helper.calls = 3
    n = helper.calls
    del helper.calls
    return x * n


class Forwarding:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        if name == "absent":
            raise AttributeError(name)
        return getattr(self.inner, name)


class Counting:
    def __init__(self):
        self.n = 0

    def __getattribute__(self, name):
        if name == "virtual":
            return 7
        return super().__getattribute__(name)


@whole()
def getattr_hook(x):
    f = Forwarding(Plain(x))
    return f.n + 1, f.method()


@whole()
def getattr_hook_probed(x):
    f = Forwarding(Plain(3))
    return x, hasattr(f, "n"), hasattr(f, "absent"), getattr(f, "absent", 5), getattr(f, "n", 0)


@whole()
def getattribute_hook(x):
    c = Counting()
    return x * c.virtual + c.n


class Celsius:
    def __get__(self, instance, owner):
        return self if instance is None else instance.degrees + 1

    def __set__(self, instance, value):
        instance.degrees = value - 1


class Named:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        setattr(instance, self.name, value)


class Lazy:
    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        return self.function(instance) * 2


class Weather:
    celsius = Celsius()
    named = Named()

    def __init__(self, degrees):
        self.degrees = degrees

    @Lazy
    def lazy(self):
        return self.degrees


@whole()
def data_descriptor_read(x):
    return Weather(x).celsius * 2


@whole()
def data_descriptor_written(x):
    w = Weather(x)
    w.celsius = x + 5
    w.named = 3
    return w.degrees * w.named


@whole()
def non_data_descriptor(x):
    return Weather(x).lazy


class Base:
    @property
    def value(self):
        return 3

    @classmethod
    def build(cls, n):
        return cls(n)

    @staticmethod
    def double(n):
        return n * 2

    def __init__(self, n=0):
        self.n = n


class Leaf(Base):
    @property
    def value(self):
        return super().value + 1

    @classmethod
    def build(cls, n):
        return super().build(n + 1)


@whole()
def property_through_super(x):
    return x * Leaf().value


@whole()
def class_method_through_super(x):
    return Leaf.build(x).n + Leaf.double(2)


class Registered(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = 9
        return made


class Tagged(metaclass=Registered):
    def __init__(self, n):
        self.n = n


class Lengthy(type):
    def __len__(cls):
        return 4

    @property
    def shout(cls):
        return cls.__name__.upper()

    def make(cls):
        return cls()


class Measured(metaclass=Lengthy):
    pass


@whole()
def metaclass_call(x):
    return Tagged(x).n * Tagged(x).tag


@whole()
def metaclass_attributes(x):
    return x, len(Measured), Measured.shout, isinstance(Measured.make(), Measured)


class Singleton:
    instance = None

    def __new__(cls, n):
        made = super().__new__(cls)
        made.made = True
        return made

    def __init__(self, n):
        self.n = n


@whole()
def new_method(x):
    s = Singleton(x)
    return s.n + 1, s.made


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n


@whole()
def user_key(x):
    d = {Key(1): x}
    return d[Key(1)] + 1, Key(2) in d, len({Key(1), Key(1)})


@whole()
def plain_object_as_key(x):
    p = Plain(1)
    return {p: x}[p] + 1, p in {p}, p in [p]


@whole()
def class_as_key(x):
    table = {int: 2, Plain: 3, helper: 4}
    return x * table[Plain] * table[type(1)] * table[helper]


class Text:
    def __init__(self, t):
        self.t = t

    def __str__(self):
        return "<" + self.t + ">"

    def __repr__(self):
        return "T(" + self.t + ")"

    def __format__(self, spec):
        return self.t + spec

    def __len__(self):
        return 3

    def __bool__(self):
        return False

    def __index__(self):
        return 1

    def __int__(self):
        return 5

    def __float__(self):
        return 1.5

    def __iter__(self):
        return iter([1, 2])

    def __contains__(self, item):
        return item == 1

    def __reversed__(self):
        return iter([2, 1])

    def __abs__(self):
        return 4

    def __round__(self, n=None):
        return 6

    def __getitem__(self, i):
        return i

    def __neg__(self):
        return -1

    def __divmod__(self, other):
        return (1, 2)

    def __bytes__(self):
        return b"t"


@snippet()
def user_text(x):
    t = Text("a")
    return x, str(t), repr(t), f"{t}", f"{t!r}", f"{t:>>}", "%s" % t, "{}".format(t), format(t, "!")


@snippet()
def user_conversions(x):
    t = Text("a")
    return (
        x,
        len(t),
        bool(t),
        int(t),
        float(t),
        list(t),
        tuple(t),
        list(reversed(t)),
        abs(t),
        round(t),
        [5, 6][t],
        sum(t),
    )


@snippet()
def user_iterated(x):
    t = Text("a")
    return [x * n for n in t], 1 in t, [*t], max(t), dict(enumerate(t)), list(zip(t, t)), sorted(t), any(t)


class Steps:
    def __init__(self, stop):
        self.at, self.stop = 0, stop

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.stop:
            raise StopIteration
        self.at += 1
        return self.at


@whole()
def user_iterator_consumed(x):
    return [x * n for n in Steps(3)], list(Steps(2)), sum(Steps(3)), next(Steps(1)), next(Steps(0), 5), tuple(Steps(1))


@whole()
def user_iterator_unpacked(x):
    a, b = Steps(2)
    return x * a * b, list(map(lambda n: n + 1, Steps(2))), list(zip(Steps(2), "ab"))


class GeneratorIter:
    def __iter__(self):
        yield 1
        yield 2


@whole()
def user_generator_iter(x):
    return x, list(GeneratorIter()), sum(GeneratorIter()), [n for n in GeneratorIter()], dict.fromkeys(GeneratorIter())


@whole()
def yield_from_result(x):
    def inner():
        yield 1
        return 5

    def outer():
        r = yield from inner()
        yield r

    return x, list(outer())


@whole()
def generator_closed(x):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            seen.append("closed")

    seen = []
    g = numbers()
    first = next(g)
    g.close()
    return x * first, seen


@whole()
def generator_sent_and_thrown(x):
    def echo():
        got = 0
        while True:
            try:
                got = yield got
            except ValueError:
                got = -1

    g = echo()
    next(g)
    return x, g.send(3), g.throw(ValueError("a"))


@whole()
def match_class_patterns(x):
    out = []
    for value in [1, "a", [1, 2], {"k": 3}, Plain(4), None, 2.5, (1, 2, 3)]:
        match value:
            case int(n):
                out.append(n)
            case str() as s:
                out.append(s)
            case [a, b]:
                out.append(a + b)
            case {"k": k}:
                out.append(k)
            case Plain(n=n):
                out.append(n)
            case None:
                out.append("none")
            case [first, *rest]:
                out.append(rest)
            case _:
                out.append("other")
    return x, out


@whole()
def import_inside(x):
    import math
    import os.path as p
    from math import pi as circle

    return x * math.floor(circle), p.join("a", "b")


@snippet()
def modules_read(x):
    return x, "math" in sys.modules, sys.version_info >= (3, 8), sys.maxsize > 5, sys.platform == "nothing"


@snippet()
def getrecursionlimit(x):
    return x, sys.getrecursionlimit() > 10


@whole()
def chained_comparison_and_walrus(x):
    if 1 < (n := len([1, 2])) <= 2:
        return x * n
    return x


@whole()
def nested_functions_counter(x):
    def counter():
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        return step

    step = counter()
    step()
    return x * step()


@whole()
def custom_exception_with_init(x):
    class_seen = []
    try:
        raise Failing(3, "bad")
    except Failing as e:
        class_seen.append(e.code)
        class_seen.append(str(e))
    return x, class_seen


class Failing(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@whole()
def exception_chain_read(x):
    try:
        try:
            raise KeyError("a")
        except KeyError as e:
            raise ValueError("b") from e
    except ValueError as e:
        return x, type(e.__cause__).__name__, e.__context__ is e.__cause__, e.__suppress_context__


@whole()
def slices_created(x):
    s = slice(1, 3)
    return x[s], [0, 1, 2, 3][s], s.start, s.stop, s.step, s.indices(10), s == slice(1, 3)


@whole()
def ranges(x):
    r = range(2, 10, 3)
    return x, r.start, len(r), r[1], 5 in r, r[::-1] == range(8, -1, -3), list(r), r.index(5), r.count(2)


@whole()
def callable_and_issubclass(x):
    return x, callable(Plain), callable(Plain(1)), issubclass(Derived, (int, Plain)), isinstance(Derived(1), Plain)


@snippet()
def instance_of_union(x):
    return x, isinstance(1, int | str), isinstance("a", int | None)
