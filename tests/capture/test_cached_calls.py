"""After compiled calls a functools.lru_cache is in the same state as after uncompiled calls."""

import functools

import pytest

import minidynamo
from minidynamo import tensor


def _make(maxsize, typed):
    seen = []

    @functools.lru_cache(maxsize, typed)
    def cached(n, k=1):
        seen.append((n, k))
        if n == 13:
            raise ValueError("13")
        return tensor([float(n * k)]) if n > 5 else [n, k]

    return cached, seen


def hits_and_misses(cached, x):
    first, second = cached(1), cached(1)
    return x + cached(7), first is second, cached(2, k=3), cached(1.0)


def failures(cached, x):
    texts = []
    for n in (13, 2, 13):
        try:
            cached(n)
        except ValueError as error:
            texts.append(error.args)
    return x * 2, texts


def failure_for_the_caller(cached, x):
    return x + cached(2)[0] + cached(13)


def more_than_fit(cached, x):
    for n in (1, 2, 3, 4, 1, 2, 3, 4, 2):
        x = x + cached(n)[0]
    return x


def _observed(function, made, x):
    cached, seen = made
    try:
        result = str(function(cached, x))
    except ValueError as error:
        result = repr(error)
    return result, list(seen), cached.cache_info()


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("maxsize", [None, 0, 1, 2, 3, 128])
@pytest.mark.parametrize("function", [hits_and_misses, failures, failure_for_the_caller, more_than_fit])
def test_the_cache_is_updated(function, maxsize, typed):
    compiled = minidynamo.compile(function)
    plain_cache, compiled_cache = _make(maxsize, typed), _make(maxsize, typed)
    x = tensor([1.0, 2.0])
    for call in range(4):
        if call == 2:
            plain_cache[0].cache_clear()
            compiled_cache[0].cache_clear()
        assert _observed(compiled, compiled_cache, x) == _observed(function, plain_cache, x)


def test_the_order_of_use_is_updated():
    """The least recently used entry is dropped first."""
    plain_cache, compiled_cache = _make(2, False), _make(2, False)
    compiled = minidynamo.compile(lambda cached, x: x + cached(1)[0])
    for cached, _ in (plain_cache, compiled_cache):
        cached(1), cached(2)
    x = tensor([1.0])
    compiled(compiled_cache[0], x), plain_cache[0](1)
    for cached, seen in (plain_cache, compiled_cache):
        cached(3), cached(1)
        assert seen == [(1, 1), (2, 1), (3, 1)]
    assert plain_cache[0].cache_info() == compiled_cache[0].cache_info()


def test_cleared_results_are_computed_again():
    cached, seen = _make(None, False)
    compiled = minidynamo.compile(lambda x: x + cached(2)[0], fullgraph=True)
    for _ in range(3):
        compiled(tensor([1.0]))
    assert seen == [(2, 1)]
    cached.cache_clear()
    compiled(tensor([1.0]))
    assert seen == [(2, 1)] * 2
    assert cached.cache_info()[:2] == (0, 1)


def test_a_replaced_result_is_noticed():
    """Replaces the result of the same call, as a call does after a change of something that the function reads."""
    scale = [1.0]

    @functools.cache
    def cached(n):
        return n * scale[0]

    compiled = minidynamo.compile(lambda x: x + cached(2), fullgraph=True)
    assert compiled(tensor([0.0])).tolist() == [2.0]
    assert compiled(tensor([0.0])).tolist() == [2.0]
    scale[0] = 5.0
    assert compiled(tensor([0.0])).tolist() == [2.0]
    cached.cache_clear()
    cached(2)
    assert compiled(tensor([0.0])).tolist() == [10.0]


def test_not_a_number_is_found_by_identity():
    calls = []

    @functools.cache
    def cached(value):
        calls.append(value)
        return 1.0

    def function(x, value):
        return x + cached(value)

    compiled = minidynamo.compile(function)
    x, nan = tensor([1.0]), float("nan")
    compiled(x, nan), compiled(x, nan), compiled(x, float("nan"))
    assert len(calls) == 2


def test_equal_constants_share_an_entry():
    """Constants share an entry exactly if functools considers them equal."""
    plain_cache, compiled_cache = _make(None, False), _make(None, False)
    compiled = minidynamo.compile(lambda cached, n: cached(n)[0], fullgraph=True)
    for n in (1, True, 1.0, 2.0, 2, 1 + 0j, 1):
        result, expected = compiled(compiled_cache[0], n), plain_cache[0](n)[0]
        assert (result, type(result)) == (expected, type(expected))
    assert compiled_cache[1] == plain_cache[1]
    assert compiled_cache[0].cache_info() == plain_cache[0].cache_info()


class Row:
    def __init__(self, scale):
        self.scale = scale
        self.calls = 0

    @functools.lru_cache(maxsize=16)
    def at(self, n):
        self.calls += 1
        return n * self.scale


def test_methods_have_an_entry_for_each_object():
    compiled = minidynamo.compile(lambda row, x: x + row.at(3), fullgraph=True)
    first, second = Row(1.0), Row(2.0)
    x = tensor([0.0])
    for _ in range(3):
        assert compiled(first, x).tolist() == [3.0]
        assert compiled(second, x).tolist() == [6.0]
    assert (first.calls, second.calls) == (1, 1)


def test_an_object_that_gets_a_user_hash_is_left_to_python():
    class Equal(Row):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return True

    function = lambda row, x: x + row.at(3)  # noqa: E731
    compiled = minidynamo.compile(function)
    row = Row(4.0)
    x = tensor([0.0])
    assert compiled(row, x).tolist() == [12.0]
    compiled(row, x)
    row.__class__ = Equal
    assert compiled(row, x).tolist() == [12.0]
    assert row.calls == 2
    assert compiled(Equal(9.0), x).tolist() == [12.0]


def test_results_are_dropped_with_the_cache():
    """No capture keeps the results alive."""
    import gc
    import weakref

    class Held:
        pass

    cached = functools.cache(lambda n: Held())
    compiled = minidynamo.compile(lambda x: (x + 1, cached(1)))
    compiled(tensor([1.0])), compiled(tensor([1.0]))
    alive = weakref.ref(cached(1))
    assert alive() is not None
    cached.cache_clear()
    gc.collect()
    assert alive() is None
