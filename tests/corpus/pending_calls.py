"""Python code called by a builtin, generators that stop half-way, operators of classes, unusual uses of super()."""

import functools
import itertools
import operator

from differential import snippet, whole

from minidynamo import tensor
from minidynamo._dynamo import graph_break


def x():
    return tensor([1.0, -2.0, 3.0])


@whole(lambda: (x(), []))
def key_with_a_side_effect(x, log):
    def key(v):
        log.append(v)
        return -v

    return x + 1, sorted([3, 1, 2], key=key), log


@snippet(lambda: (x(), []))
def key_with_a_side_effect_and_a_break(x, log):
    def key(v):
        log.append(v)
        graph_break()
        return -v

    return x + 1, sorted([3, 1, 2], key=key), log


@snippet(lambda: (x(), []), raises=TypeError)
def keys_that_do_not_compare(x, log):
    def key(v):
        log.append(v)
        return v if v > 1 else "one"

    x = x + 1
    return sorted([3, 1, 2], key=key)


@snippet(lambda: (x(), []), raises=KeyError)
def key_that_raises(x, log):
    def key(v):
        log.append(v)
        return {}[v]

    return max([1, 2], key=key)


@whole()
def sort_sees_an_empty_list(x):
    items = [3, 1, 2]
    seen = []
    items.sort(key=lambda v: seen.append(len(items)) or v)
    return x + 1, items, seen


@whole()
def sort_order_and_stability(x):
    rows = [(2, "b"), (1, "a"), (2, "a"), (1, "b")]
    return (
        x,
        sorted(rows, key=lambda r: r[0]),
        sorted(rows, key=lambda r: r[0], reverse=True),
        sorted([1, True, 0.0, False], reverse=True),
        sorted([float("nan"), 1.0, float("nan"), 0.0]),
        min(rows, key=lambda r: r[1]),
        max([], default=x),
        max(3, 1, 2),
        min("bca"),
    )


def numbers(log, n):
    try:
        for i in range(n):
            log.append(i)
            yield i
    finally:
        log.append("closed")


def plain_numbers(log, n):
    for i in range(n):
        log.append(i)
        yield i
    log.append("end")


@whole(lambda: (x(), []))
def generator_left_half_way(x, log):
    for i in numbers(log, 5):
        x = x + i
        if i == 2:
            break
    return x, log


@whole(lambda: (x(), []))
def plain_generator_left_half_way(x, log):
    for i in plain_numbers(log, 5):
        x = x + i
        if i == 2:
            break
    return x, log


@whole(lambda: (x(), []))
def any_stops_early(x, log):
    found = any(i == 1 for i in plain_numbers(log, 5))
    every = all(i < 1 for i in plain_numbers(log, 5))
    return x + 1, found, every, log


@snippet(lambda: (x(), []), raises=ValueError)
def unpacking_takes_one_too_many(x, log):
    x = x + 1
    a, b = plain_numbers(log, 9)
    return x


@whole(lambda: (x(), []))
def zip_takes_from_the_first(x, log):
    one = plain_numbers(log, 5)
    pairs = list(zip(one, [1, 2]))
    return x + 1, pairs, list(one), log


@snippet(lambda: (x(), []), raises=ValueError)
def zip_strict_and_generators(x, log):
    return x, list(zip(plain_numbers(log, 2), plain_numbers(log, 3), strict=True))


@snippet(lambda: (x(), []), breaks=1)
def break_inside_a_generator(x, log):
    def inner():
        for i in range(3):
            log.append(i)
            if i == 1:
                graph_break()
            yield x + i

    total = x
    for y in inner():
        total = total + y
    return total, log


@snippet(lambda: (x(), []))
def break_while_a_generator_is_suspended(x, log):
    total = x
    for i in plain_numbers(log, 4):
        total = total + i
        if i == 1:
            graph_break()
    return total, log


@snippet(lambda: (x(), []))
def generator_kept_over_a_break(x, log):
    g = plain_numbers(log, 3)
    first = next(g)
    graph_break()
    return x + first, list(g), log


@snippet(lambda: (x(), []))
def exhausted_generator_kept(x, log):
    g = plain_numbers(log, 2)
    items = list(g)
    graph_break()
    return x + 1, items, list(g), next(g, "none"), type(g).__name__


@whole(lambda: (x(), []))
def generator_with_send_and_return(x, log):
    def inner():
        got = yield 1
        log.append(got)
        got = yield 2
        log.append(got)
        return "result"

    def outer():
        log.append((yield from inner()))
        yield 3

    g = outer()
    return x + 1, next(g), g.send("a"), g.send("b"), next(g, "end"), log


@snippet(lambda: (x(), []), raises=RuntimeError)
def stop_iteration_inside_a_generator(x, log):
    def inner():
        yield 1
        raise StopIteration

    x = x + 1
    return x, list(inner())


@snippet(raises=ValueError)
def generator_runs_itself(x):
    def inner():
        yield next(g)

    g = inner()
    return x, next(g)


@whole()
def extend_by_a_generator_that_reads_the_list(x):
    items = [1]
    items.extend(len(items) for _ in range(3))
    items += (sum(items) for _ in range(2))
    return x + 1, items


@whole()
def itertools_of_many_kinds(x):
    return (
        x + 1,
        list(itertools.chain([1], (2,), "3")),
        list(itertools.islice(range(10), 2, 8, 3)),
        list(itertools.islice(itertools.count(5, 2), 3)),
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.accumulate([1, 2, 3], operator.mul, initial=10)),
        list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(itertools.filterfalse(None, [0, 1, 2, 0])),
        list(itertools.starmap(lambda a, b: a + b, [(1, 2), (3, 4)])),
        list(itertools.compress("abcd", [1, 0, 1, 0])),
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.product([1, 2], "ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.combinations([1, 2, 3], 2)),
        list(itertools.zip_longest([1, 2, 3], "a", fillvalue=None)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
        list(itertools.repeat(7, 2)),
    )


@whole()
def islice_leaves_the_rest(x):
    it = iter([1, 2, 3, 4, 5, 6])
    first = list(itertools.islice(it, 1, 4, 2))
    return x + 1, first, list(it)


@snippet(lambda: (x(), [3, 1]))
def itertools_returned_to_the_caller(x, items):
    it = itertools.chain(items, [x])
    next(it)
    return x + 1, type(it).__name__, it


@snippet(raises=TypeError)
def reduce_of_nothing(x):
    x = x + 1
    return functools.reduce(lambda a, b: a + b, [])


len_was = len


def shadowed(x):
    return x


@whole()
def user_names_are_not_seen_by_polyfills(x):
    tuple = list = range = len = iter = next = zip = None  # noqa: A001
    return x + 1, [p for p in itertools.product([1, 2], [3])], tuple, list, range, len, iter, next, zip


class Vector:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        if isinstance(other, Vector):
            return Vector(self.v + other.v)
        return NotImplemented

    def __radd__(self, other):
        return ("radd", other, self.v)

    def __iadd__(self, other):
        self.v = self.v + 100
        return self

    def __neg__(self):
        return Vector(-self.v)

    def __eq__(self, other):
        return self.v == other.v if isinstance(other, Vector) else NotImplemented

    def __lt__(self, other):
        return NotImplemented

    def __getitem__(self, key):
        return (key, self.v)

    def __setitem__(self, key, value):
        self.v = (key, value)

    def __delitem__(self, key):
        self.v = ("del", key)

    def __len__(self):
        return 4


class Sub(Vector):
    def __radd__(self, other):
        return "the subclass first"


class Shy:
    """Supports only operands of its own kind, and records which methods are called."""

    asked = []

    def __init__(self, v):
        self.v = v

    def ask(self, name, other):
        Shy.asked.append((name, self.v))
        return (name, self.v, other.v) if type(other) is Shy and other.v else NotImplemented

    def __add__(self, other):
        return self.ask("add", other)

    def __radd__(self, other):
        return self.ask("radd", other)

    def __iadd__(self, other):
        return self.ask("iadd", other)

    def __lt__(self, other):
        return self.ask("lt", other)

    def __gt__(self, other):
        return self.ask("gt", other)

    def __eq__(self, other):
        return self.ask("eq", other)


class Number(int):
    def __add__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return "not asked by a float"


def outcome_of(call, a, b):
    try:
        return call(a, b)
    except TypeError as error:
        return str(error)


@whole()
def operators_declined(x):
    results = []
    for a, b in ((Shy(1), Shy(2)), (Shy(1), Shy(0)), (Shy(3), 4), (5, Shy(6)), (Shy(7), None), (2.5, Shy(8))):
        for call in (lambda a, b: a + b, lambda a, b: a < b, lambda a, b: a == b, lambda a, b: a != b):
            results.append(outcome_of(call, a, b))
    a = Shy(9)
    try:
        a += 1
    except TypeError as error:
        results.append(str(error))
    b = Shy(10)
    same = (b == b, b != b)
    asked = list(Shy.asked)
    Shy.asked.clear()
    return x + 1, results, same, asked


@snippet()
def operators_of_a_number_declined(x):
    return x + 1, Number(3) + 4, 4 + Number(3), 4.0 + Number(3), Number(3) + 4.5


@whole()
def operators_of_a_class(x):
    a, b = Vector(x), Vector(2)
    c = Vector(3)
    c += 1
    d = Vector(5)
    d["k"] = 7
    e = Vector(6)
    del e[1]
    return (a + b).v, (-a).v, 1 + b, b == Vector(2), b != Vector(2), c.v, b[1:2], d.v, e.v, len(b), b == 3, b != 3


@whole()
def subclass_on_the_right(x):
    return x + 1, Vector(1) + Sub(2), 5 + Sub(1)


@snippet(raises=TypeError)
def operator_not_implemented(x):
    x = x + 1
    return Vector(x) + 3.5


@snippet(raises=TypeError)
def comparison_not_implemented(x):
    x = x + 1
    return Vector(1) < Vector(2)


@snippet()
def operator_with_a_break_inside(x):
    class Breaking:
        def __add__(self, other):
            graph_break()
            return NotImplemented

        def __lt__(self, other):
            graph_break()
            return other

        def __len__(self):
            graph_break()
            return 3

    class Right:
        def __radd__(self, other):
            return ("right", x + 1)

    return x, Breaking() + Right(), Breaking() < 5, len(Breaking())


@snippet(raises=ValueError)
def negative_length(x):
    class Odd:
        def __len__(self):
            return -1

    x = x + 1
    return len(Odd())


class Base:
    kind = "base"

    def __init__(self, v):
        self.v = v

    @property
    def double(self):
        return self.v * 2

    @classmethod
    def make(cls, v):
        return cls(v)

    @staticmethod
    def helper(v):
        return v + 1

    def f(self, x):
        return x + self.v


class Left(Base):
    def f(self, x):
        return super().f(x) * 2


class Other(Base):
    kind = "other"

    def f(self, x):
        return super().f(x) + 10


class Diamond(Left, Other):
    def __init__(self, v):
        super().__init__(v)
        super().__setattr__("w", v)

    @property
    def double(self):
        return super().double + 1

    @classmethod
    def make(cls, v):
        return super().make(v + 1)

    def f(self, x):
        def inner():
            return super(Diamond, self).f(x)

        return inner() + super().helper(1), super().kind, super().double


@whole()
def super_of_every_kind(x):
    d = Diamond.make(2)
    return d.f(x), d.double, d.v, d.w


@whole(lambda: (x(), Diamond(3)))
def super_of_an_argument(x, d):
    return d.f(x), super(Left, d).f(x)


@snippet(lambda: (x(), super(Left, Diamond(3))))
def super_object_of_the_caller(x, above):
    above_self = above.__self__
    return x + 1, above.__dir__()[:1], above.__reduce_ex__.__self__ is above_self, above.__sizeof__() > 0


@snippet(raises=AttributeError)
def super_without_the_attribute(x):
    class Lonely:
        def f(self):
            return super().nothing

    x = x + 1
    return Lonely().f()


@whole(lambda: (x(), Base(1)), lambda: (x(), {"v": 3}), lambda: (x(), [1, 2]), lambda: (x(), "s"), lambda: (x(), 7))
def match_of_every_kind(x, subject):
    match subject:
        case Base(v=v):
            return x + v, "base"
        case {"v": v, **rest}:
            return x * v, rest
        case [first, *others]:
            return x - first, others
        case str(text):
            return x, text
        case int() as n if n > 3:
            return x + n
    return None


class WithMatchArgs:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


@whole()
def match_positional(x):
    out = []
    for subject in (WithMatchArgs(1, x), WithMatchArgs(2, 3)):
        match subject:
            case WithMatchArgs(1, y):
                out.append(y + 1)
            case WithMatchArgs(a, b=3):
                out.append(a)
    return out


class Probe:
    here = 1

    def __getattr__(self, name):
        if name == "made":
            return "made"
        raise AttributeError(name)


@whole()
def probing_for_attributes(x):
    class Plain:
        pass

    p = Plain()
    p.a = x
    return (
        x + 1,
        hasattr(p, "a"),
        hasattr(p, "b"),
        getattr(p, "b", "default"),
        hasattr(itertools, "chain"),
        hasattr(itertools, "no such name"),
        hasattr([], "append"),
        hasattr(3, "no such name"),
        hasattr(x, "shape"),
        hasattr(Base, "kind"),
        getattr(Base, "nothing", None),
        getattr(Probe(), "made", 0),
        getattr(Probe(), "missing", 0),
        hasattr(Probe(), "missing"),
    )


@whole(lambda: (x(), [1, 2, 3, 4]))
def map_and_filter(x, items):
    m = map(lambda a, b: a * b, items, [10, 20])
    f = filter(lambda v: v % 2, items)
    return x + 1, next(m), list(m), next(f), list(f), list(filter(None, [0, 1, x.shape])), list(map(str, items))


@snippet(lambda: (x(), [1, 2, 3, 4]))
def map_kept_over_a_break(x, items):
    m = map(lambda v: v + 1, items)
    f = filter(lambda v: v > 1, items)
    a = next(m), next(f)
    graph_break()
    return x + 1, a, list(m), list(f), type(m).__name__
