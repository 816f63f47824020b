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


def _plan(n, k=2):
    return [n * k, n + k]


def _shape_plan(shape, k=1):
    return {"first": shape[0] * k, "all": [*shape]}


def _large_fails(n):
    if n > 5:
        raise ValueError(f"{n} is too large")
    return (n,)


def _new_tensor(n):
    return tensor([1.0] * 3).repeat(n)


def of_a_size(cached, x):
    return x + cached(x.shape[0])[0], cached(x.shape[0])


def of_two_sizes(cached, x):
    first, second = cached(x.shape[0]), cached(x.shape[1])
    return x * first[0] - second[1], first is second, first, second


def of_a_number_and_a_size(cached, x):
    fixed, by_size = cached(3), cached(x.shape[0])
    return x * by_size[0], fixed is by_size, by_size


def of_a_size_and_its_double(cached, x):
    small, large = cached(x.shape[0]), cached(x.shape[0] * 2)
    return x * small[0] + large[0], large, cached(4)


def of_shapes(cached, x):
    whole, turned, pair = cached(x.shape), cached(x.t().shape), cached((x.shape[0], 4))
    return x * whole["first"], whole is turned, whole is pair, whole, pair


def by_keyword(cached, x):
    return x + cached(n=x.shape[0], k=x.shape[1])[0], cached(x.shape[0], k=3), cached(x.shape[0], 3)


def of_a_fraction(cached, x):
    return x * cached(x.shape[0] / 2)[0], cached(x.shape[0] * 1.0)


def written_results(cached, x):
    result = cached(x.shape[0])
    result.append(x.shape[1])
    return x + len(result), result


def raised_for_large_sizes(cached, x):
    try:
        return x + cached(x.shape[0])[0], cached(x.shape[1])
    except ValueError as error:
        return x - 1, error.args


def a_tensor_of_that_size(cached, x):
    made = cached(x.shape[0])
    return x.sum() + made.sum(), made, cached(x.shape[0]) is made


def of_a_len(cached, x):
    return x + cached(len(x))[1], cached(x.numel() // x.shape[1])


SIZED = {
    of_a_size: _plan,
    of_two_sizes: _plan,
    of_a_number_and_a_size: _plan,
    of_a_size_and_its_double: _plan,
    of_shapes: _shape_plan,
    by_keyword: _plan,
    of_a_fraction: _plan,
    written_results: _plan,
    raised_for_large_sizes: _large_fails,
    a_tensor_of_that_size: _new_tensor,
    of_a_len: _plan,
}
SIZES = [(2, 3), (4, 4), (6, 3), (3, 7), (2, 3), (4, 4), (8, 4), (3, 3), (5, 4), (6, 3), (8, 4), (7, 7), (9, 3), (9, 3)]


def _plain_form(value):
    if isinstance(value, minidynamo.Tensor):
        return value.tolist(), str(value.dtype)
    return [_plain_form(item) for item in value] if isinstance(value, (tuple, list)) else value


class Counted:
    """A cached function, the calls that reached it, and the compiled or plain function that calls it."""

    def __init__(self, function, wrapped, maxsize, typed, backend=None):
        self.seen = []

        @functools.lru_cache(maxsize, typed)
        def cached(*args, **kwargs):
            return wrapped(*args, **kwargs)

        self.cached = cached
        self.run = minidynamo.compile(function, backend=backend) if backend else function

    def observed(self, sizes):
        result = self.run(self.cached, minidynamo.ones(*sizes))
        repeated = self.run(self.cached, minidynamo.ones(*sizes))
        # Which results are one object: those of a call, and those of the call after it.
        same = [a is b for a in result for b in (*result, *repeated)]
        return _plain_form(result), _plain_form(repeated), same, self.cached.cache_info()


@pytest.mark.parametrize("checked", [0, 10], ids=["unchecked", "checked"])
@pytest.mark.parametrize("maxsize", [None, 0, 1, 3, 128])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("function", SIZED)
def test_sizes_that_vary_find_and_add_the_entries_of_plain_python(function, typed, maxsize, checked):
    wrapped = SIZED[function]
    plain = Counted(function, wrapped, maxsize, typed)
    compiled = Counted(function, wrapped, maxsize, typed, backend="eager")
    with minidynamo._dynamo.config.patch(check_captures=checked):
        for position, sizes in enumerate(SIZES):
            if position == 9:
                plain.cached.cache_clear()
                compiled.cached.cache_clear()
            assert compiled.observed(sizes) == plain.observed(sizes), sizes


@pytest.mark.parametrize("function", [of_a_size, of_shapes, of_a_len, by_keyword, a_tensor_of_that_size])
def test_sizes_stay_symbolic(function):
    """The number of graphs does not depend on the number of sizes."""
    graphs = []

    def backend(gm, args):
        graphs.append(gm)
        return gm.forward

    @functools.cache
    def cached(*args, **kwargs):
        return SIZED[function](*args, **kwargs)

    compiled = minidynamo.compile(function, backend=backend, fullgraph=True)
    for size in range(5, 12):
        compiled(cached, minidynamo.ones(size, size + 3))
    of_misses = len(graphs)
    assert of_misses <= 2
    for size in (20, 23, 26, 29, 32):
        compiled(cached, minidynamo.ones(size, size + 3))
        compiled(cached, minidynamo.ones(size, size + 3))
    of_both = len(graphs)
    for size in (50, 53, 56, 59, 62):
        compiled(cached, minidynamo.ones(size, size + 3))
        compiled(cached, minidynamo.ones(size, size + 3))
    assert len(graphs) == of_both <= of_misses + 4


def test_an_entry_of_another_size_does_not_retrace():
    """A bounded cache is guarded to have room, not to have as many entries as at the capture."""
    graphs = []

    def backend(gm, args):
        graphs.append(gm)
        return gm.forward

    cached = functools.lru_cache(64)(_plan)
    compiled = minidynamo.compile(lambda x: x + cached(7)[0], backend=backend, fullgraph=True)
    for other in range(20, 30):
        cached.cache_clear()
        for n in range(20, other):
            cached(n)
        assert compiled(minidynamo.ones(2)).tolist() == [15.0, 15.0]
    assert len(graphs) == 1


def test_a_cache_without_room_drops_its_oldest_entry():
    plain, caught = functools.lru_cache(3)(_plan), functools.lru_cache(3)(_plan)
    compiled = minidynamo.compile(of_a_size)
    for size in (2, 3, 4, 5, 2, 3, 2, 6, 7, 3):
        assert _plain_form(compiled(caught, minidynamo.ones(size))) == _plain_form(
            of_a_size(plain, minidynamo.ones(size))
        )
        assert caught.cache_info() == plain.cache_info()
