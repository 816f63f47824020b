"""Python versions of functions of the standard library that are not written in Python.

Capture traces these instead. They access no globals: the builtins they need are keyword defaults.
A generator here advances its iterable exactly when the original does. Their frames and generators are never
visible: where one would be, the original is called instead, as it is if one fails, which is signalled by a call
of None.
"""

import bisect
import collections
import functools
import heapq
import itertools
import operator
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _chain(*iterables):
    for iterable in iterables:
        yield from iterable


def _islice(iterable, start, *rest, _iter=iter, _next=next):
    stop, step = start, 1
    if rest:
        stop = rest[0]
        if rest[1:] and rest[1] is not None:
            step = rest[1]
    else:
        start = 0
    if start is None:
        start = 0
    end: list[Any]
    end, count, target = [], 0, start
    iterator = _iter(iterable)
    while stop is None or target < stop:
        while count <= target:
            item = _next(iterator, end)
            if item is end:
                return
            count += 1
        yield item
        target += step
    while count < stop:
        if _next(iterator, end) is end:
            return
        count += 1


def _count(start=0, step=1):
    while True:
        yield start
        start = start + step


def _cycle(iterable):
    saved = []
    for item in iterable:
        saved.append(item)
        yield item
    while saved:
        for item in saved:
            yield item


def _repeat(item, *times):
    if times:
        count = times[0]
        while count > 0:
            yield item
            count -= 1
    else:
        while True:
            yield item


def _accumulate(iterable, func=None, *, initial=None, _iter=iter, _next=next):
    end: list[Any]
    iterator, end = _iter(iterable), []
    total = initial
    if initial is None:
        total = _next(iterator, end)
        if total is end:
            return
    yield total
    for item in iterator:
        total = total + item if func is None else func(total, item)
        yield total


def _takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            return
        yield item


def _dropwhile(predicate, iterable):
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def _filterfalse(predicate, iterable):
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def _starmap(function, iterable):
    for args in iterable:
        yield function(*args)


def _compress(data, selectors, *, _zip=zip):
    for item, selected in _zip(data, selectors):
        if selected:
            yield item


def _pairwise(iterable, *, _iter=iter, _next=next):
    end: list[Any]
    iterator, end = _iter(iterable), []
    left = _next(iterator, end)
    if left is end:
        return
    for right in iterator:
        yield left, right
        left = right


def _product(*iterables, repeat=1, _tuple=tuple):
    results: list[tuple[Any, ...]] = [()]
    for pool in [_tuple(iterable) for iterable in iterables] * repeat:
        results = [(*result, item) for result in results for item in pool]
    yield from results


def _combinations(iterable, r, *, _tuple=tuple, _range=range, _len=len, _list=list):
    pool = _tuple(iterable)
    n = _len(pool)
    if r > n:
        return
    indices = _list(_range(r))
    yield _tuple([pool[i] for i in indices])
    while True:
        i = r - 1
        while i >= 0 and indices[i] == i + n - r:
            i -= 1
        if i < 0:
            return
        indices[i] += 1
        for j in _range(i + 1, r):
            indices[j] = indices[j - 1] + 1
        yield _tuple([pool[i] for i in indices])


def _chain_from_iterable(cls, iterables):
    for iterable in iterables:
        yield from iterable


def _permutations(iterable, r=None, *, _tuple=tuple, _range=range, _len=len, _list=list):
    pool = _tuple(iterable)
    n = _len(pool)
    r = n if r is None else r
    if r > n:
        return
    indices, cycles = _list(_range(n)), _list(_range(n, n - r, -1))
    yield _tuple([pool[i] for i in indices[:r]])
    while n:
        i = r - 1
        while i >= 0:
            cycles[i] -= 1
            if cycles[i] == 0:
                indices[i:] = indices[i + 1 :] + indices[i : i + 1]
                cycles[i] = n - i
                i -= 1
                continue
            j = cycles[i]
            indices[i], indices[-j] = indices[-j], indices[i]
            yield _tuple([pool[k] for k in indices[:r]])
            break
        if i < 0:
            return


def _combinations_with_replacement(iterable, r, *, _tuple=tuple, _range=range, _len=len):
    pool = _tuple(iterable)
    n = _len(pool)
    if not n and r:
        return
    indices = [0] * r
    yield _tuple([pool[i] for i in indices])
    while True:
        i = r - 1
        while i >= 0 and indices[i] == n - 1:
            i -= 1
        if i < 0:
            return
        indices[i:] = [indices[i] + 1] * (r - i)
        yield _tuple([pool[k] for k in indices])


def _count_elements(mapping, iterable, /):
    for element in iterable:
        mapping[element] = mapping.get(element, 0) + 1


def _zip_longest(*iterables, fillvalue=None, _iter=iter, _next=next, _tuple=tuple, _len=len, _range=range):
    iterators = [_iter(iterable) for iterable in iterables]
    end: list[Any]
    active, end = _len(iterators), []
    while active:
        items = []
        for i in _range(_len(iterators)):
            item = fillvalue
            if iterators[i] is not None:
                item = _next(iterators[i], end)
                if item is end:
                    active -= 1
                    if not active:
                        return
                    iterators[i], item = None, fillvalue
            items.append(item)
        yield _tuple(items)


def _reduce(function, iterable, /, *initial, _iter=iter, _next=next, _fail=None):
    if initial[1:]:
        _fail()
    end: list[Any]
    iterator, end = _iter(iterable), []
    value = initial[0] if initial else _next(iterator, end)
    if value is end:
        _fail()
    for item in iterator:
        value = function(value, item)
    return value


def _groupby(iterable, key=None, *, _iter=iter, _next=next):
    end: list[Any]
    iterator, end = _iter(iterable), []
    value = current = target = end
    turn = 0

    def step():
        nonlocal value, current
        item = _next(iterator, end)
        if item is end:
            return False
        made = item if key is None else key(item)
        value, current = item, made
        return True

    def group(own_turn, own_key):
        nonlocal value
        # The preceding groups have ended.
        while turn == own_turn:
            if value is end and not step():
                return
            if own_key is not current and not own_key == current:
                return
            item, value = value, end
            yield item

    while True:
        turn += 1
        while current is end or (target is not end and (target is current or target == current)):
            if not step():
                return
        target = current
        yield current, group(turn, current)


def _tee(iterable, n=2, /, *, _iter=iter, _next=next, _range=range, _tuple=tuple):
    end: list[Any]
    iterator, end = _iter(iterable), []
    waiting: list[list[Any]] = [[] for _ in _range(n)]

    def tee_branch(own):
        while True:
            if not own:
                item = _next(iterator, end)
                if item is end:
                    return
                for queue in waiting:
                    queue.append(item)
            yield own.pop(0)

    return _tuple([tee_branch(queue) for queue in waiting])


def _iter_until(function, sentinel, *, _stop=StopIteration):
    while True:
        try:
            value = function()
        except _stop:
            return
        if sentinel is value or sentinel == value:
            return
        yield value


def _items_by_number(items, *, _ended=(IndexError, StopIteration)):
    at = 0
    while True:
        try:
            item = items[at]
        except _ended:
            return
        yield item
        at += 1


def _sum(items, start):
    for item in items:
        start = start + item
    return start


def _is_less(a, b):
    return a < b


def _is_more(a, b):
    return b < a


def _rise(heap, start, at, item, before):
    """Puts the item at `at` or above it, down to `start`: the steps and comparisons of heapq's C functions."""
    while at > start:
        parent = (at - 1) >> 1
        if not before(item, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _sink(heap, start, item, before, _len=len, _rise=_rise):
    end, at, child = _len(heap), start, 2 * start + 1
    while child < end:
        if child + 1 < end and not before(heap[child], heap[child + 1]):
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    _rise(heap, start, at, item, before)


def _heapify(heap, /, *, _before=_is_less, _len=len, _range=range, _sink=_sink, _type=type, _list=list, _fail=None):
    if _type(heap) is not _list:
        _fail()
    for at in _range(_len(heap) // 2 - 1, -1, -1):
        _sink(heap, at, heap[at], _before)


def _heappush(heap, item, /, *, _before=_is_less, _len=len, _rise=_rise, _type=type, _list=list, _fail=None):
    if _type(heap) is not _list:
        _fail()
    heap.append(item)
    _rise(heap, 0, _len(heap) - 1, item, _before)


def _heappop(heap, /, *, _before=_is_less, _sink=_sink, _type=type, _list=list, _fail=None):
    if _type(heap) is not _list or not heap:
        _fail()
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    _sink(heap, 0, last, _before)
    return first


def _heapreplace(heap, item, /, *, _before=_is_less, _sink=_sink, _type=type, _list=list, _fail=None):
    if _type(heap) is not _list or not heap:
        _fail()
    first = heap[0]
    _sink(heap, 0, item, _before)
    return first


def _heappushpop(heap, item, /, *, _sink=_sink, _before=_is_less, _type=type, _list=list, _fail=None):
    if _type(heap) is not _list:
        _fail()
    if not heap or not heap[0] < item:
        return item
    first = heap[0]
    _sink(heap, 0, item, _before)
    return first


def _with_defaults(function, **defaults):
    """A copy of the function with other keyword defaults."""
    twin = types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    twin.__kwdefaults__ = {**function.__kwdefaults__, **defaults}
    return twin


_heapify_max = _with_defaults(_heapify, _before=_is_more)
_heappop_max = _with_defaults(_heappop, _before=_is_more)
_heapreplace_max = _with_defaults(_heapreplace, _before=_is_more)


def _bisect_left(a, x, lo=0, hi=None, *, key=None, _len=len, _isinstance=isinstance, _dict=dict, _fail=None):
    if lo < 0 or _isinstance(a, _dict):
        _fail()
    if hi is None:
        hi = _len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        item = a[mid] if key is None else key(a[mid])
        if item < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def _bisect_right(a, x, lo=0, hi=None, *, key=None, _len=len, _isinstance=isinstance, _dict=dict, _fail=None):
    if lo < 0 or _isinstance(a, _dict):
        _fail()
    if hi is None:
        hi = _len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        item = a[mid] if key is None else key(a[mid])
        if x < item:
            hi = mid
        else:
            lo = mid + 1
    return lo


def _insort_left(a, x, lo=0, hi=None, *, key=None, _bisect=_bisect_left):
    at = _bisect(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def _insort_right(a, x, lo=0, hi=None, *, key=None, _bisect=_bisect_right):
    at = _bisect(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def _cached_property_get(self, instance, owner=None, /, *, _missing=itertools, _fail=None):
    """Without the lock used before 3.12, which is never contended during a capture."""
    name = self.attrname
    if instance is None:
        return self
    if name is None:
        _fail()
    cache = instance.__dict__
    value = cache.get(name, _missing)
    if value is _missing:
        value = self.func(instance)
        cache[name] = value
    return value


def _setitem(a, b, c, /):
    a[b] = c


def _delitem(a, b, /):
    del a[b]


def _call(obj, /, *args, **kwargs):
    return obj(*args, **kwargs)


def _index_of(a, b, /, *, _fail=None):
    at = 0
    for item in a:
        if item is b or item == b:
            return at
        at += 1
    _fail()


def _count_of(a, b, /):
    count = 0
    for item in a:
        if item is b or item == b:
            count += 1
    return count


def _in_place_operators():
    """Yields the functions of the operator module that correspond to statements: a += b ..."""

    def iadd(a, b, /):
        a += b
        return a

    def isub(a, b, /):
        a -= b
        return a

    def imul(a, b, /):
        a *= b
        return a

    def itruediv(a, b, /):
        a /= b
        return a

    def ifloordiv(a, b, /):
        a //= b
        return a

    def imod(a, b, /):
        a %= b
        return a

    def ipow(a, b, /):
        a **= b
        return a

    def imatmul(a, b, /):
        a @= b
        return a

    def iand(a, b, /):
        a &= b
        return a

    def ior(a, b, /):
        a |= b
        return a

    def ixor(a, b, /):
        a ^= b
        return a

    def ilshift(a, b, /):
        a <<= b
        return a

    def irshift(a, b, /):
        a >>= b
        return a

    def iconcat(a, b, /):
        a += b
        return a

    arithmetic = iadd, isub, imul, itruediv, ifloordiv, imod, ipow, imatmul
    for function in (*arithmetic, iand, ior, ixor, ilshift, irshift, iconcat):
        yield getattr(operator, function.__name__), function


def _operators():
    """Yields the functions of the operator module that correspond to operators."""
    binary = {
        "add": lambda a, b, /: a + b,
        "sub": lambda a, b, /: a - b,
        "mul": lambda a, b, /: a * b,
        "truediv": lambda a, b, /: a / b,
        "floordiv": lambda a, b, /: a // b,
        "mod": lambda a, b, /: a % b,
        "pow": lambda a, b, /: a**b,
        "matmul": lambda a, b, /: a @ b,
        "and_": lambda a, b, /: a & b,
        "or_": lambda a, b, /: a | b,
        "xor": lambda a, b, /: a ^ b,
        "lshift": lambda a, b, /: a << b,
        "rshift": lambda a, b, /: a >> b,
        "eq": lambda a, b, /: a == b,
        "ne": lambda a, b, /: a != b,
        "lt": lambda a, b, /: a < b,
        "le": lambda a, b, /: a <= b,
        "gt": lambda a, b, /: a > b,
        "ge": lambda a, b, /: a >= b,
        "is_": lambda a, b, /: a is b,
        "is_not": lambda a, b, /: a is not b,
        "getitem": lambda a, b, /: a[b],
        "contains": lambda a, b, /: b in a,
        "concat": lambda a, b, /: a + b,
    }
    unary = {
        "neg": lambda a, /: -a,
        "pos": lambda a, /: +a,
        "invert": lambda a, /: ~a,
        "not_": lambda a, /: not a,
        "truth": lambda a, /: not not a,
    }
    for name, function in {**binary, **unary}.items():
        yield getattr(operator, name), function


def _call_itemgetter(items, keywords, obj):
    if items[1:]:
        result = []
        for item in items:
            result.append(obj[item])
        return (*result,)
    return obj[items[0]]


def _call_attrgetter(names, keywords, obj, _getattr=getattr):
    result = []
    for name in names:
        value = obj
        for part in name.split("."):
            value = _getattr(value, part)
        result.append(value)
    return (*result,) if names[1:] else result[0]


def _call_methodcaller(args, keywords, obj, _getattr=getattr):
    return _getattr(obj, args[0])(*args[1:], **keywords)


# How each checks its arguments when called, before the iterator is advanced: the letters are those of
# register_polyfill() in csrc/symbolic. chain() does not check.
_ITERTOOLS = {
    "chain": "O*",
    "islice": "Innp",
    "count": "VV",
    "cycle": "I",
    "repeat": "OZ",
    "accumulate": "IO",
    "takewhile": "OI",
    "dropwhile": "OI",
    "filterfalse": "OI",
    "starmap": "OI",
    "compress": "II",
    "pairwise": "I",
    "product": "I*",
    "combinations": "IN",
    "zip_longest": "I*",
    "permutations": "In",
    "combinations_with_replacement": "IN",
    "groupby": "IO",
    "tee": "IN",
}


class _ByNumber:
    def __getitem__(self, at):
        raise IndexError


def register(register_polyfill, register_made_class):
    """Registers each (original, Python function) and each (class, Python function for calling its instances)."""
    shown = {"groupby": type(next(itertools.groupby([1]))[1]), "tee": type(itertools.tee([])[0])}
    register_made_class(operator.itemgetter, _call_itemgetter)
    register_made_class(operator.attrgetter, _call_attrgetter)
    register_made_class(operator.methodcaller, _call_methodcaller)
    for name, parameters in _ITERTOOLS.items():
        register_polyfill(getattr(itertools, name), globals()["_" + name], parameters=parameters, inner=shown.get(name))
    register_polyfill(itertools.chain.__dict__["from_iterable"], _chain_from_iterable)
    register_polyfill(functools.reduce, _reduce)
    register_polyfill(vars(collections)["_count_elements"], _count_elements)
    register_polyfill(type(iter(int, 1)), _iter_until)
    register_polyfill(type(iter(_ByNumber())), _items_by_number)
    register_polyfill(sum, _sum)
    register_polyfill(functools.cached_property.__get__, _cached_property_get)
    for name in "heapify heappush heappop heapreplace heappushpop _heapify_max _heapreplace_max _heappop_max".split():
        if hasattr(heapq, name):
            register_polyfill(getattr(heapq, name), globals()["_" + name.lstrip("_")])
    for name in "bisect_left bisect_right insort_left insort_right".split():
        register_polyfill(getattr(bisect, name), globals()["_" + name])
    named = {"setitem": _setitem, "delitem": _delitem, "indexOf": _index_of, "countOf": _count_of}
    for name, function in named.items():
        register_polyfill(getattr(operator, name), function)
    if hasattr(operator, "call"):
        register_polyfill(operator.call, _call)
    for operators in (_operators(), _in_place_operators()):
        for original, function in operators:
            register_polyfill(original, function)
