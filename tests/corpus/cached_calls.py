"""Functions wrapped by functools.lru_cache and functools.cache: found in the cache or called, with the cache kept up to date."""

import functools

from differential import snippet, whole

from minidynamo import tensor


def _squares(n):
    return tuple(i * i for i in range(n))


def _cached(maxsize=128, typed=False, function=_squares):
    return functools.lru_cache(maxsize, typed)(function)


def _warm(*calls, **options):
    cached = _cached(**options)
    for call in calls:
        cached(call)
    return cached


def _again(cached, *calls):
    """The same function each time, with only these calls in its cache."""

    def make():
        cached.cache_clear()
        for call in calls:
            cached(call)
        return tensor([1.0]), cached

    return make


@whole(_again(_cached()))
def missed_then_found(x, cached):
    return x * cached(4)[2], cached(4) is cached(4)


@whole(_again(_cached(), 3))
def found(x, cached):
    return x + cached(3)[1]


@whole(_again(_cached(maxsize=None)))
def without_bound(x, cached):
    return x + cached(3)[1] + cached(5)[2]


@whole(_again(_cached(maxsize=0)))
def that_keeps_nothing(x, cached):
    return x + cached(3)[1], cached(3) == cached(3)


@whole(_again(_cached(typed=True)))
def by_type(x, cached):
    return x + cached(3)[1] + cached(True)[0], cached(3) is cached(3)


@snippet(lambda: (tensor([1.0]), _warm(1, 2, 3, maxsize=3)))
def full(x, cached):
    return x + cached(4)[1], cached(2), cached(1)


@snippet(lambda: (tensor([1.0]), _warm(1, 2, maxsize=3)))
def that_becomes_full(x, cached):
    return x + cached(4)[1], cached(5), cached(1)


SEEN = []


@functools.cache
def noting(n, scale=1):
    SEEN.append(n)
    return [n * scale]


def _noted():
    SEEN.clear()
    noting.cache_clear()
    return tensor([1.0]), noting, SEEN


@whole(_noted)
def side_effects_of_a_miss(x, cached, seen):
    first, second = cached(1), cached(1)
    first.append(x)
    return len(second), len(seen), cached(2)


@whole(_noted)
def keywords(x, cached, seen):
    return x, cached(2, scale=3), cached(2, scale=3) is cached(2, 3), cached(n=2) is cached(2), len(seen)


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@whole()
def recursive(x):
    return x * fibonacci(12)


@functools.lru_cache
def ramp(n):
    return tensor([float(i) for i in range(n)])


@whole()
def of_a_tensor(x):
    return x + ramp(3), ramp(3) is ramp(3)


class Table:
    def __init__(self, scale):
        self.scale = scale

    @functools.lru_cache(maxsize=8)
    def row(self, n):
        return [self.scale * i for i in range(n)]

    @functools.cache
    def name(self):
        return type(self).__name__

    @staticmethod
    @functools.cache
    def unit(n):
        return [1] * n


TABLE = Table(2.0)


def _table():
    Table.row.cache_clear(), Table.name.cache_clear()
    return tensor([1.0]), TABLE


@whole(_table)
def of_a_method(x, table):
    return x * table.row(4)[3], table.row(4) is table.row(4), table.name()


@whole(lambda: (tensor([1.0]), Table(2.0)))
def of_a_static_method(x, table):
    return x * table.unit(4)[3], Table.unit(4) is table.unit(4)


@functools.lru_cache
def failing(n):
    SEEN.append(n)
    if n > 2:
        raise ValueError("large")
    return n


def _failing():
    SEEN.clear()
    failing.cache_clear()
    return tensor([1.0]), failing, SEEN


@whole(_failing)
def that_raises(x, cached, seen):
    for n in (1, 3, 3):
        try:
            x = x + cached(n)
        except ValueError as error:
            seen.append(error.args[0])
    return x, len(seen)


@snippet(_failing, raises=ValueError)
def that_raises_to_the_caller(x, cached, seen):
    return x + cached(3)


@snippet(lambda: (tensor([1.0]), _cached(function=type)))
def with_a_nonconstant_argument(x, cached):
    return x, cached([].__class__), cached(Table)


@snippet(lambda: (tensor([1.0]), _cached(function=len)))
def with_an_unhashable_argument(x, cached):
    try:
        return cached([1])
    except TypeError as error:
        return x, error.args


@snippet(lambda: (tensor([1.0]), _cached()))
def statistics(x, cached):
    before = cached(2), cached.cache_info()
    cached.cache_clear()
    return x, before, cached(2), cached.cache_info()


@snippet(lambda: (tensor([1.0]), _cached()))
def wrapped_function(x, cached):
    return x * cached.__wrapped__(3)[1], cached.__name__


def _breaking():
    import minidynamo

    @functools.cache
    def cached(n):
        minidynamo._dynamo.graph_break()
        return [n]

    return tensor([1.0]), cached


@snippet(_breaking)
def with_a_break_inside(x, cached):
    return x + 1, cached(1), cached(1) is cached(1)
