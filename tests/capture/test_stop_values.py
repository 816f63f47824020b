"""The value of the StopIteration that ends an iterator, through the iterators around it, as `yield from` and `next()` see it."""

import itertools

import pytest

import minidynamo as md


class Ends:
    """Three items, then `stop` is called and what it returns raised."""

    def __init__(self, stop):
        self.left, self.stop = [1, 2, 3], stop

    def __iter__(self):
        return self

    def __next__(self):
        if self.left:
            return self.left.pop(0)
        raise self.stop()


class Stop(StopIteration):
    pass


def changed():
    stop = StopIteration(1)
    stop.value = 2
    return stop


KEPT = StopIteration("kept")
ENDS = {
    "a value": lambda: StopIteration(42),
    "none": StopIteration,
    "several": lambda: StopIteration(1, 2),
    "a tuple": lambda: StopIteration((1, 2)),
    "a subclass": lambda: Stop("sub"),
    "another value": changed,
    "made before": lambda: KEPT,
}


def generator(stop):
    yield from [1, 2, 3]
    return stop().value


ITERATORS = {
    "itself": lambda it: it,
    "map": lambda it: map(abs, it),
    "map of two": lambda it: map(max, it, [5, 5, 5, 5]),
    "filter": lambda it: filter(None, it),
    "zip": lambda it: zip(it, "abcd", strict=False),
    "zip, the other first": lambda it: zip("abc", it, strict=False),
    "strict zip": lambda it: zip(it, "abc", strict=True),
    "enumerate": enumerate,
    "map of map": lambda it: map(abs, map(abs, it)),
    "chain": lambda it: itertools.chain(it),
    "islice": lambda it: itertools.islice(it, 7),
    "islice that ends before": lambda it: itertools.islice(it, 2),
    "takewhile": lambda it: itertools.takewhile(bool, it),
    "dropwhile": lambda it: itertools.dropwhile(bool, it),
    "filterfalse": lambda it: itertools.filterfalse(bool, it),
    "accumulate": itertools.accumulate,
    "starmap": lambda it: itertools.starmap(max, ((item, 2) for item in it)),
    "compress": lambda it: itertools.compress(it, [1, 0, 1, 1]),
    "pairwise": itertools.pairwise,
    "zip_longest": lambda it: itertools.zip_longest(it, "ab"),
    "cycle of none": lambda it: itertools.islice(itertools.cycle(it), 5),
}


def delegated(make):
    def outer(found):
        found.append((yield from make()))

    found = []
    return list(outer(found)), found


def stepped(make):
    iterator, items = make(), []
    try:
        for _ in range(20):
            items.append(next(iterator))
    except StopIteration as stop:
        return items, stop.value, stop.args
    return items


def with_default(make):
    iterator = make()
    return [next(iterator, "default") for _ in range(6)]


@pytest.mark.parametrize("see", [delegated, stepped, with_default], ids=lambda see: see.__name__)
@pytest.mark.parametrize("source", [Ends, generator], ids=lambda source: source.__name__)
@pytest.mark.parametrize("around", ITERATORS)
def test_value_that_ends(around, source, see):
    for name, stop in ENDS.items():

        def program(x, stop=stop):
            return see(lambda: ITERATORS[around](source(stop))), x + 1

        expected, _ = program(md.zeros(1))
        got, y = md.compile(program)(md.zeros(1))
        assert got == expected, name
        assert y.tolist() == [1.0]
