"""Builtins and methods of built-in types with all arguments that they take: results as eager Python's, and none taken for a
call that raises."""

import collections
import itertools

import pytest

import minidynamo as md

CALLS = """
[1,2,1].index(1, 1)
[1,2,1].index(1, -1)
[1,2,1].index(1, 0, 2)
(1,2,1).index(1, 1)
collections.deque([1,2,1]).index(1, 1)
collections.deque([1,2,1]).index(1, 1, 3)
[1,2,3].pop(0)
[3,1,2].sort(key=lambda v: -v, reverse=True)
{'a': 1}.pop('b', 2)
{'a': 1}.get('b')
{'a': 1}.setdefault('b')
dict.fromkeys('ab')
dict.fromkeys('ab', 3)
{'a': 1}.update([('b', 2)], c=3)
{'a': 1}.update(b=2)
{'a': 1}.update()
{1}.union({2}, {3})
{1}.union()
{1,2}.intersection({2}, {2,3})
{1,2}.difference({2}, {3})
{1,2}.update({2}, [3])
{1,2}.difference_update({2}, [3])
{1,2}.intersection_update({2}, [2, 3])
frozenset({1}).union([2], [3])
collections.deque([1,2], maxlen=1)
collections.deque([1,2], 1)
collections.deque([1,2]).insert(0, 3)
collections.deque([1,2]).rotate()
collections.deque([1,2]).rotate(1)
sum([1,2], start=3)
sum([1,2], 3)
list(enumerate('ab', start=2))
list(enumerate('ab', 2))
list(zip('ab', [1,2], strict=True))
round(1.5, ndigits=None)
round(1.25, 1)
getattr(3, 'x', 4)
getattr(3, 'real')
max([1,2], key=lambda v: -v)
max([], default=3)
min(1, 2, key=lambda v: -v)
sorted([2,1], key=lambda v: -v, reverse=True)
list(range(1, 5, 2))
int('11', 2)
int('11', base=2)
int()
float()
str()
bool()
tuple()
list()
set()
dict()
dict([('a', 1)], b=2)
dict({'a': 1}, b=2)
isinstance(3, (int, float))
'a,b'.split(',')
'a,b'.split(sep=',', maxsplit=1)
'a'.join(['b','c'])
'abc'.find('c', 1, 3)
'abc'.startswith(('a','b'), 0)
'abc'.encode()
b'abc'.decode('utf-8')
divmod(7, 2)
pow(2, 3, 5)
pow(base=2, exp=3)
next(iter([1,2]), 3)
next(iter([]), 3)
list(map(lambda a, b: a + b, [1], [2]))
list(filter(None, [0, 1]))
list(reversed([1,2]))
all([1]), any([])
hash((1,2))
len('ab')
abs(-1)
list(itertools.chain([1], [2]))
list(itertools.islice([1,2,3], 2))
list(itertools.islice([1,2,3], 1, None, 2))
list(itertools.accumulate([1,2,3]))
list(itertools.accumulate([1,2,3], initial=3))
list(itertools.product('ab', repeat=2))
list(itertools.zip_longest('ab', 'c', fillvalue='d'))
list(itertools.repeat(1, 2))
list(itertools.groupby('aab'))[0][0]
collections.Counter('aab').most_common(1)
collections.OrderedDict(a=1).popitem(last=False)
collections.OrderedDict(a=1, b=2).move_to_end('a', last=False)
collections.defaultdict(list)['a']
[1, 2].copy()
[1, 2].count(1)
(1, 2).count(1)
[1, 2].insert(1, 3)
[1, 2].extend((3,))
{'a': 1}.items()
list({'a': 1}.popitem())
slice(1, 2).indices(3)
'{} {a}'.format(1, a=2)
format(3, '03d')
'abc'.replace('a', 'b', 1)
'abc'.center(5, '*')
'a b'.partition(' ')
'abc'.translate({97: 'b'})
""".strip().splitlines()

NAMES = {"collections": collections, "itertools": itertools}
SEQUENCES = {"list": [1, 2, 1, 3, 1], "tuple": (1, 2, 1, 3, 1), "deque": collections.deque([1, 2, 1, 3, 1])}
PLACES = [(), (0,), (1,), (3,), (5,), (9,), (-1,), (-4,), (-9,)]
PLACES += [(first, last) for first in (0, 1, -2, 9) for last in (0, 2, 4, 9, -1, -9)]


def outcome(function, *arguments):
    try:
        return function(*arguments)[1]
    except Exception as error:
        return type(error), str(error)


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()
    md._dynamo.utils.counters.clear()


@pytest.mark.parametrize("call", CALLS)
def test_arguments(call):
    names = dict(NAMES)
    exec(f"def f(x):\n    y = x + 1\n    value = {call}\n    return y * 2, value", names)
    expected = outcome(names["f"], md.ones(2))
    found = outcome(md.compile(names["f"]), md.ones(2))
    assert type(found) is type(expected) and repr(found) == repr(expected)
    breaks = md._dynamo.utils.counters["graph_break"]
    assert not [text for text in breaks if text.startswith("Exception that was not raised")]


@pytest.mark.parametrize("kind", SEQUENCES)
@pytest.mark.parametrize("places", PLACES, ids=str)
def test_index_in_a_range(kind, places):
    items = SEQUENCES[kind]

    def f(x):
        try:
            return x + 1, items.index(1, *places)
        except ValueError as error:
            return x + 2, str(error)

    def of_sizes(x):
        sizes = (*x.shape, 1)
        try:
            return x + 1, sizes.index(x.shape[0], *places)
        except ValueError:
            return x + 2, None

    for function in (f, of_sizes):
        # An exception that the program handles is raised by Python.
        is_found = type(outcome(function, md.ones(2, 3, 2))) is int
        compiled = md.compile(function, fullgraph=is_found, dynamic=True)
        for size in (2, 3, 1):
            x = md.ones(size, 3, size)
            if is_found or size == 2:
                assert outcome(compiled, x) == outcome(function, x)
