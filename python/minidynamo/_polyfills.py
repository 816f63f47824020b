"""What some functions of the standard library that are not written in Python do, in Python.

Capture walks through these instead. They see no globals: what they need of the builtins comes by keyword defaults.
A generator here advances what it iterates over exactly when the original does. Nobody meets their frames or their
generators: where one would have to be shown, the original is called.
"""

import collections
import functools
import itertools
import operator


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
    iterator, end = _iter(iterable), []
    left = _next(iterator, end)
    if left is end:
        return
    for right in iterator:
        yield left, right
        left = right


def _product(*iterables, repeat=1, _tuple=tuple):
    results = [()]
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


def _count_elements(mapping, iterable):
    for element in iterable:
        mapping[element] = mapping.get(element, 0) + 1


def _zip_longest(*iterables, fillvalue=None, _iter=iter, _next=next, _tuple=tuple, _len=len, _range=range):
    iterators = [_iter(iterable) for iterable in iterables]
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


def _reduce(function, iterable, *initial, _iter=iter, _next=next):
    iterator, end = _iter(iterable), []
    value = initial[0] if initial else _next(iterator, end)
    if value is end:
        initial[0]
    for item in iterator:
        value = function(value, item)
    return value


def _operators():
    """Yields the functions of the operator module that are operators."""
    binary = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "truediv": lambda a, b: a / b,
        "floordiv": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "pow": lambda a, b: a**b,
        "matmul": lambda a, b: a @ b,
        "and_": lambda a, b: a & b,
        "or_": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "lshift": lambda a, b: a << b,
        "rshift": lambda a, b: a >> b,
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "is_": lambda a, b: a is b,
        "is_not": lambda a, b: a is not b,
        "getitem": lambda a, b: a[b],
        "contains": lambda a, b: b in a,
        "concat": lambda a, b: a + b,
    }
    unary = {
        "neg": lambda a: -a,
        "pos": lambda a: +a,
        "invert": lambda a: ~a,
        "not_": lambda a: not a,
        "truth": lambda a: not not a,
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


# What each wants of its arguments when it is called, before anything is asked of the iterator: the letters are those of
# register_polyfill() in csrc/symbolic/walk.h. chain() does not look.
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
}


def register(register_polyfill, register_made_class):
    """Hands over each (original, function in Python) and each (class, what calling an object of it does)."""
    register_made_class(operator.itemgetter, _call_itemgetter)
    register_made_class(operator.attrgetter, _call_attrgetter)
    register_made_class(operator.methodcaller, _call_methodcaller)
    for name, parameters in _ITERTOOLS.items():
        register_polyfill(getattr(itertools, name), globals()["_" + name], parameters)
    register_polyfill(itertools.chain.__dict__["from_iterable"], _chain_from_iterable, "")
    register_polyfill(functools.reduce, _reduce, "")
    register_polyfill(collections._count_elements, _count_elements, "")
    for original, function in _operators():
        register_polyfill(original, function, "")
