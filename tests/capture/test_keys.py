"""Which keys are equal is decided anew at each call: objects, tensors and sizes that change between two calls."""

import functools

import pytest

import minidynamo
from minidynamo import ones


class Plain:
    pass


A, B = Plain(), Plain()


def made_dict(x, y):
    return len({x: 1, y: 2}), {x: 1}.get(y, 5)


def stored(x, y):
    table = {}
    table[x] = 1
    table[y] = 2
    table.setdefault(x, 3)
    return list(table.values())


def made_set(x, y):
    found = {x}
    found.add(y)
    return len(found), y in {x}, len({x} | {y}), len({x} & {y}), len(set([x, y, x]))


def from_keys(x, y):
    return len(dict.fromkeys([x, y]))


def in_tuples(x, y):
    return len({(x, 1): 1, (y, 1): 2}), (y, 1) in {(x, 1)}, {(x, (y, y)): 3}.get((x, (x, y)))


@pytest.fixture(autouse=True)
def no_limit():
    minidynamo._dynamo.reset()
    with minidynamo._dynamo.config.patch(recompile_limit=64):
        yield


USES = [made_dict, stored, made_set, from_keys, in_tuples]


@functools.lru_cache
def kept(*args):
    return [*args]


def cached(x, y):
    return kept(x) is kept(y), kept(1, x) is kept(1, y), kept((x, 2)) is kept((y, 2))


def key_pairs():
    t, u = ones(2), ones(2)
    yield "tensors", [(t, t), (t, u), (u, u), (u, t), (ones(2), t)]
    yield "objects", [(A, A), (A, B), (B, B), (Plain(), A), (A, Plain)]
    yield (
        "sizes",
        [(t.shape, (2,)), (t.shape, (3,)), (ones(3).shape, (3,)), (ones(2, 1).shape, t.shape), ((2,), ones(2).shape)],
    )
    yield "mixed", [(A, t.shape), (t.shape, t.shape), (3, t.shape), (Plain, 3), (3, 3.0)]


PAIRS = dict(key_pairs())


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("use", USES + [cached], ids=lambda use: use.__name__)
def test_equality_is_decided_anew(use, pairs):
    def function(x, y, t):
        return use(x, y), t + 1

    # A cached function is not followed for tensors.
    is_whole = use is not cached or pairs != "tensors"
    compiled = minidynamo.compile(function, fullgraph=is_whole)
    t = ones(1)
    for _ in range(3):
        for x, y in PAIRS[pairs]:
            assert compiled(x, y, t)[0] == use(x, y)


def test_keys_are_not_kept_alive():
    """A region that found an object as a key does not own it."""
    import gc
    import weakref

    def function(key, x):
        return x * {(key, 1): 2}[(key, 1)], kept(1)

    compiled = minidynamo.compile(function)
    key = Plain()
    compiled(key, ones(1))
    died = weakref.ref(key)
    del key
    gc.collect()
    assert died() is None
    for key in (Plain(), Plain()):
        assert compiled(key, ones(1))[0].item() == 2


def test_a_dict_of_parameters_that_changes():
    parameters = [ones(1), ones(1) * 2]
    state = {parameters[0]: 3.0}

    def function(x):
        return [x * state[p] if p in state else x for p in parameters]

    compiled = minidynamo.compile(function, fullgraph=True)
    x = ones(1)
    for change in (
        lambda: None,
        lambda: state.update({parameters[1]: 7.0}),
        lambda: parameters.reverse(),
        lambda: state.pop(parameters[0]),
        lambda: parameters.append(ones(1)),
        lambda: state.__setitem__(parameters[-1], 9.0),
    ):
        change()
        assert [r.item() for r in compiled(x)] == [r.item() for r in function(x)]


def test_a_size_of_a_subclass_with_its_own_equality():
    class Odd(tuple):
        def __eq__(self, other):
            seen.append(1)
            return True

        __hash__ = tuple.__hash__

    def function(key, x):
        return {(1, 2): x}.get(key, None)

    for odd in (Odd((1, 2)), Odd((3, 4))):
        seen = []
        plain = function(odd, ones(1))
        asked, seen = len(seen), []
        assert (minidynamo.compile(function)(odd, ones(1)) is None) == (plain is None)
        assert len(seen) == asked


def _ids(a, b):
    table = {(id(a), id(b)): 1}
    table[id(b), id(a)] = 2
    return len(table), table[id(a), id(b)], (id(a), id(a)) in table, len({(id(a), 1), (id(b), 1), (id(a), 1)})


def test_tuples_of_ids():
    compiled = minidynamo.compile(_ids, fullgraph=True)
    for a, b in [(A, B), (A, A), (B, A), (ones(1), B), (A, Plain())]:
        assert compiled(a, b) == _ids(a, b)


def test_ids_beside_numbers_in_tuples():
    def function(a, n):
        return {(id(a), 2): 1, (n, 2): 3}.get((n, 2)), (id(a), 2) in {(n, 2), (5, 2)}

    compiled = minidynamo.compile(function)
    for n in (3, id(A), 4):
        assert compiled(A, n) == function(A, n)


def test_the_order_of_tuples_in_sets():
    def function(*tensors):
        return [key[0] is tensors[0] for key in {(t, 1) for t in tensors}], len({(id(t), 1) for t in tensors})

    compiled = minidynamo.compile(function)
    for _ in range(6):
        tensors = [ones(1) for _ in range(5)]
        assert compiled(*tensors) == function(*tensors)
