"""Python versions of functions of the standard library that are not written in Python.

Capture traces these instead. They access no globals: the builtins they need are keyword defaults.
A generator here advances its iterable exactly when the original does. Their frames and generators are never
visible: where one would be, the original is called instead, as it is if one fails, which is signalled by a call
of None.
"""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import types

from . import _operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
    from typing import Any, TypeVar

    _T = TypeVar("_T")

    # Of the builtins that are keyword defaults, and of a comparison of heap elements.
    _Iter = Callable[[Iterable[Any]], Iterator[Any]]
    _Len = Callable[[Sized], int]
    _List = type[list[Any]]
    _Tuple = type[tuple[Any, ...]]
    _Before = Callable[[Any, Any], bool]


def _chain(*iterables: Iterable[_T]) -> Iterator[_T]:
    for iterable in iterables:
        yield from iterable


def _islice(
    iterable: Iterable[_T],
    start: Any,
    *rest: Any,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
) -> Iterator[_T]:
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


def _count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    while True:
        yield start
        start = start + step


def _cycle(iterable: Iterable[_T]) -> Iterator[_T]:
    saved = []
    for item in iterable:
        saved.append(item)
        yield item
    while saved:
        for item in saved:
            yield item


def _repeat(item: _T, *times: int) -> Iterator[_T]:
    if times:
        count = times[0]
        while count > 0:
            yield item
            count -= 1
    else:
        while True:
            yield item


def _accumulate(
    iterable: Iterable[Any],
    func: Callable[[Any, Any], Any] | None = None,
    *,
    initial: Any = None,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
) -> Iterator[Any]:
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


def _takewhile(predicate: Callable[[_T], object], iterable: Iterable[_T]) -> Iterator[_T]:
    for item in iterable:
        if not predicate(item):
            return
        yield item


def _dropwhile(predicate: Callable[[_T], object], iterable: Iterable[_T]) -> Iterator[_T]:
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def _filterfalse(predicate: Callable[[_T], object] | None, iterable: Iterable[_T]) -> Iterator[_T]:
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def _starmap(function: Callable[..., _T], iterable: Iterable[Iterable[Any]]) -> Iterator[_T]:
    for args in iterable:
        yield function(*args)


def _compress(
    data: Iterable[_T], selectors: Iterable[object], *, _zip: type[zip[tuple[Any, Any]]] = zip
) -> Iterator[_T]:
    for item, selected in _zip(data, selectors):
        if selected:
            yield item


def _pairwise(
    iterable: Iterable[_T], *, _iter: _Iter = iter, _next: Callable[..., Any] = next
) -> Iterator[tuple[_T, _T]]:
    end: list[Any]
    iterator, end = _iter(iterable), []
    left = _next(iterator, end)
    if left is end:
        return
    for right in iterator:
        yield left, right
        left = right


def _product(*iterables: Iterable[Any], repeat: int = 1, _tuple: _Tuple = tuple) -> Iterator[tuple[Any, ...]]:
    results: list[tuple[Any, ...]] = [()]
    for pool in [_tuple(iterable) for iterable in iterables] * repeat:
        results = [(*result, item) for result in results for item in pool]
    yield from results


def _combinations(
    iterable: Iterable[_T],
    r: int,
    *,
    _tuple: _Tuple = tuple,
    _range: type[range] = range,
    _len: _Len = len,
    _list: _List = list,
) -> Iterator[tuple[_T, ...]]:
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


def _chain_from_iterable(cls: type, iterables: Iterable[Iterable[_T]]) -> Iterator[_T]:
    for iterable in iterables:
        yield from iterable


def _permutations(
    iterable: Iterable[_T],
    r: int | None = None,
    *,
    _tuple: _Tuple = tuple,
    _range: type[range] = range,
    _len: _Len = len,
    _list: _List = list,
) -> Iterator[tuple[_T, ...]]:
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


def _combinations_with_replacement(
    iterable: Iterable[_T],
    r: int,
    *,
    _tuple: _Tuple = tuple,
    _range: type[range] = range,
    _len: _Len = len,
) -> Iterator[tuple[_T, ...]]:
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


def _count_elements(mapping: Any, iterable: Iterable[Any], /) -> None:
    for element in iterable:
        mapping[element] = mapping.get(element, 0) + 1


def _zip_longest(
    *iterables: Iterable[Any],
    fillvalue: Any = None,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
    _tuple: _Tuple = tuple,
    _len: _Len = len,
    _range: type[range] = range,
) -> Iterator[tuple[Any, ...]]:
    iterators: list[Any] = [_iter(iterable) for iterable in iterables]
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


def _reduce(
    function: Callable[[Any, Any], Any],
    iterable: Iterable[Any],
    /,
    *initial: Any,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
    _fail: Any = None,
) -> Any:
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


def _groupby(
    iterable: Iterable[Any],
    key: Callable[[Any], Any] | None = None,
    *,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
) -> Iterator[tuple[Any, Iterator[Any]]]:
    end: list[Any]
    iterator, end = _iter(iterable), []
    value = current = target = end
    turn = 0

    def step() -> bool:
        nonlocal value, current
        item = _next(iterator, end)
        if item is end:
            return False
        made = item if key is None else key(item)
        value, current = item, made
        return True

    def group(own_turn: int, own_key: Any) -> Iterator[Any]:
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


def _tee(
    iterable: Iterable[Any],
    n: int = 2,
    /,
    *,
    _iter: _Iter = iter,
    _next: Callable[..., Any] = next,
    _range: type[range] = range,
    _tuple: _Tuple = tuple,
) -> tuple[Iterator[Any], ...]:
    end: list[Any]
    iterator, end = _iter(iterable), []
    waiting: list[list[Any]] = [[] for _ in _range(n)]

    def tee_branch(own: list[Any]) -> Iterator[Any]:
        while True:
            if not own:
                item = _next(iterator, end)
                if item is end:
                    return
                for queue in waiting:
                    queue.append(item)
            yield own.pop(0)

    return _tuple([tee_branch(queue) for queue in waiting])


def _iter_until(
    function: Callable[[], _T], sentinel: object, *, _stop: type[StopIteration] = StopIteration
) -> Iterator[_T]:
    while True:
        try:
            value = function()
        except _stop:
            return
        if sentinel is value or sentinel == value:
            return
        yield value


def _items_by_number(items: Any, *, _ended: tuple[type[Exception], ...] = (IndexError, StopIteration)) -> Iterator[Any]:
    at = 0
    while True:
        try:
            item = items[at]
        except _ended:
            return
        yield item
        at += 1


def _sum(items: Iterable[Any], start: Any) -> Any:
    for item in items:
        start = start + item
    return start


def _is_less(a: Any, b: Any) -> bool:
    return a < b


def _is_more(a: Any, b: Any) -> bool:
    return b < a


def _rise(heap: list[Any], start: int, at: int, item: Any, before: _Before) -> None:
    """Puts the item at `at` or above it, down to `start`: the steps and comparisons of heapq's C functions."""
    while at > start:
        parent = (at - 1) >> 1
        if not before(item, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _sink(
    heap: list[Any],
    start: int,
    item: Any,
    before: _Before,
    _len: _Len = len,
    _rise: Callable[..., None] = _rise,
) -> None:
    end, at, child = _len(heap), start, 2 * start + 1
    while child < end:
        if child + 1 < end and not before(heap[child], heap[child + 1]):
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    _rise(heap, start, at, item, before)


def _heapify(
    heap: list[Any],
    /,
    *,
    _before: _Before = _is_less,
    _len: _Len = len,
    _range: type[range] = range,
    _sink: Callable[..., None] = _sink,
    _type: Callable[[object], type] = type,
    _list: _List = list,
    _fail: Any = None,
) -> None:
    if _type(heap) is not _list:
        _fail()
    for at in _range(_len(heap) // 2 - 1, -1, -1):
        _sink(heap, at, heap[at], _before)


def _heappush(
    heap: list[Any],
    item: Any,
    /,
    *,
    _before: _Before = _is_less,
    _len: _Len = len,
    _rise: Callable[..., None] = _rise,
    _type: Callable[[object], type] = type,
    _list: _List = list,
    _fail: Any = None,
) -> None:
    if _type(heap) is not _list:
        _fail()
    heap.append(item)
    _rise(heap, 0, _len(heap) - 1, item, _before)


def _heappop(
    heap: list[Any],
    /,
    *,
    _before: _Before = _is_less,
    _sink: Callable[..., None] = _sink,
    _type: Callable[[object], type] = type,
    _list: _List = list,
    _fail: Any = None,
) -> Any:
    if _type(heap) is not _list or not heap:
        _fail()
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    _sink(heap, 0, last, _before)
    return first


def _heapreplace(
    heap: list[Any],
    item: Any,
    /,
    *,
    _before: _Before = _is_less,
    _sink: Callable[..., None] = _sink,
    _type: Callable[[object], type] = type,
    _list: _List = list,
    _fail: Any = None,
) -> Any:
    if _type(heap) is not _list or not heap:
        _fail()
    first = heap[0]
    _sink(heap, 0, item, _before)
    return first


def _heappushpop(
    heap: list[Any],
    item: Any,
    /,
    *,
    _sink: Callable[..., None] = _sink,
    _before: _Before = _is_less,
    _type: Callable[[object], type] = type,
    _list: _List = list,
    _fail: Any = None,
) -> Any:
    if _type(heap) is not _list:
        _fail()
    if not heap or not heap[0] < item:
        return item
    first = heap[0]
    _sink(heap, 0, item, _before)
    return first


def _with_defaults(function: Any, **defaults: Any) -> types.FunctionType:
    """A copy of the function with other keyword defaults."""
    twin = types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    twin.__kwdefaults__ = {**function.__kwdefaults__, **defaults}
    return twin


_heapify_max = _with_defaults(_heapify, _before=_is_more)
_heappop_max = _with_defaults(_heappop, _before=_is_more)
_heapreplace_max = _with_defaults(_heapreplace, _before=_is_more)


def _bisect_left(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    _len: _Len = len,
    _isinstance: Callable[[object, type], bool] = isinstance,
    _dict: type[dict[Any, Any]] = dict,
    _fail: Any = None,
) -> int:
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


def _bisect_right(
    a: Sequence[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    _len: _Len = len,
    _isinstance: Callable[[object, type], bool] = isinstance,
    _dict: type[dict[Any, Any]] = dict,
    _fail: Any = None,
) -> int:
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


def _insort_left(
    a: list[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    _bisect: Callable[..., int] = _bisect_left,
) -> None:
    at = _bisect(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def _insort_right(
    a: list[Any],
    x: Any,
    lo: int = 0,
    hi: int | None = None,
    *,
    key: Callable[[Any], Any] | None = None,
    _bisect: Callable[..., int] = _bisect_right,
) -> None:
    at = _bisect(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def _cached_property_get(
    self: functools.cached_property[Any],
    instance: object,
    owner: type | None = None,
    /,
    *,
    _missing: object = itertools,
    _fail: Any = None,
) -> Any:
    """Without the lock used before 3.12, which is never contended during a capture."""
    name: Any = self.attrname
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


def _reversed(
    sequence: Any, at: int, _ended: tuple[type[Exception], ...] = (IndexError, StopIteration)
) -> Iterator[Any]:
    def items() -> Iterator[Any]:
        place = at
        while place >= 0:
            try:
                item = sequence[place]
            except _ended:
                return
            yield item
            place -= 1

    return items()


def _pairs_of_mapping(mapping: Any) -> list[tuple[Any, Any]]:
    keys = []
    for key in mapping.keys():  # noqa: SIM118 - the method, whatever iterating over the mapping does
        keys.append(key)
    pairs = []
    for key in keys:
        pairs.append((key, mapping[key]))
    return pairs


def _ordered_update(
    self: Any,
    /,
    *args: Any,
    _dict: type[dict[Any, Any]] = dict,
    _type: Callable[[object], type] = type,
    _hasattr: Callable[[object, str], bool] = hasattr,
    _list: Callable[[Any], list[Any]] = list,
    _fail: Any = None,
    **kwargs: Any,
) -> None:
    if args[1:]:
        _fail()
    for other in args:
        if _type(other) is _dict:
            for key, value in _list(other.items()):
                self[key] = value
        elif _hasattr(other, "keys"):
            for key in other.keys():
                self[key] = other[key]
        else:
            for key, value in other.items() if _hasattr(other, "items") else other:
                self[key] = value
    for key, value in kwargs.items():
        self[key] = value


def _index_of(a: Iterable[Any], b: Any, /, *, _fail: Any = None) -> int:  # type: ignore[return]  # _fail() does not return
    at = 0
    for item in a:
        if item is b or item == b:
            return at
        at += 1
    _fail()


def _count_of(a: Iterable[Any], b: Any, /) -> int:
    count = 0
    for item in a:
        if item is b or item == b:
            count += 1
    return count


# The functions of the operator module.
_OPERATORS: dict[str, Callable[..., Any]] = {
    **_operators.WHOLE,
    **_operators.COMPARISONS,
    **_operators.ARITHMETIC,
    **_operators.IN_PLACE,
    "is_": lambda a, b, /: a is b,
    "is_not": lambda a, b, /: a is not b,
    "not_": lambda a, /: not a,
    "truth": lambda a, /: not not a,
    "indexOf": _index_of,
    "countOf": _count_of,
}


def _call_itemgetter(items: tuple[Any, ...], keywords: dict[str, Any], obj: Any) -> Any:
    if items[1:]:
        result = []
        for item in items:
            result.append(obj[item])
        return (*result,)
    return obj[items[0]]


def _call_attrgetter(
    names: tuple[str, ...], keywords: dict[str, Any], obj: Any, _getattr: Callable[[Any, str], Any] = getattr
) -> Any:
    result = []
    for name in names:
        value = obj
        for part in name.split("."):
            value = _getattr(value, part)
        result.append(value)
    return (*result,) if names[1:] else result[0]


def _call_methodcaller(
    args: tuple[Any, ...], keywords: dict[str, Any], obj: Any, _getattr: Callable[[Any, str], Any] = getattr
) -> Any:
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
    def __getitem__(self, at: int) -> Any:
        raise IndexError


def register(register_polyfill: Callable[..., object], register_made_class: Callable[..., object]) -> None:
    """Registers each (original, Python function) and each (class, Python function for calling its instances)."""
    shown = {"groupby": type(next(itertools.groupby([1]))[1]), "tee": type(itertools.tee([])[0])}
    register_made_class(operator.itemgetter, _call_itemgetter)
    register_made_class(operator.attrgetter, _call_attrgetter)
    register_made_class(operator.methodcaller, _call_methodcaller)
    for name, parameters in _ITERTOOLS.items():
        register_polyfill(getattr(itertools, name), globals()["_" + name], parameters=parameters, inner=shown.get(name))
    register_polyfill(itertools.chain.__dict__["from_iterable"], _chain_from_iterable)
    register_polyfill(functools.reduce, _reduce, parameters="OIO")
    register_polyfill(vars(collections)["_count_elements"], _count_elements)
    register_polyfill(type(iter(int, 1)), _iter_until)
    register_polyfill(type(iter(_ByNumber())), _items_by_number)
    register_polyfill(sum, _sum)
    register_polyfill(reversed, _reversed)
    register_polyfill(dict.update, _pairs_of_mapping)
    register_polyfill(collections.OrderedDict.update, _ordered_update)
    register_polyfill(collections.OrderedDict.__init__, _ordered_update)
    register_polyfill(functools.cached_property.__get__, _cached_property_get)
    for name in "heapify heappush heappop heapreplace heappushpop _heapify_max _heapreplace_max _heappop_max".split():
        if hasattr(heapq, name):
            register_polyfill(getattr(heapq, name), globals()["_" + name.lstrip("_")])
    for name in "bisect_left bisect_right insort_left insort_right".split():
        register_polyfill(getattr(bisect, name), globals()["_" + name])
    for name, function in _OPERATORS.items():
        register_polyfill(getattr(operator, name), function)
    # Unlike +, these ask no __radd__ and take sequences alone.
    register_polyfill(operator.concat, _operators.ARITHMETIC["__add__"], parameters="SS")
    register_polyfill(operator.iconcat, _operators.IN_PLACE["__iadd__"], parameters="SS")
