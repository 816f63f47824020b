"""Built-in functions on known values."""

import copy
import itertools
import time

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


@whole()
def len_of(x):
    return x * len([1, 2]), len("abc"), len({"a": 1}), len(range(5)), len(x)


@snippet()
def isinstance_of(x):
    return (
        x,
        isinstance(x, minidynamo.Tensor),
        isinstance(1, (str, int)),
        isinstance(True, int),
        isinstance("a", list),
        issubclass(bool, int),
    )


@snippet()
def type_of(x):
    return x, type(x) is minidynamo.Tensor, type(1) is int, type([]).__name__


@whole()
def hasattr_getattr(x):
    return x, hasattr(x, "shape"), hasattr(x, "nothing"), getattr(x, "nothing", 5), getattr(x, "ndim")


@snippet(raises=AttributeError)
def attribute_missing(x):
    return x.nothing


@whole()
def callable_of(x):
    return x, callable(len), callable(3), callable(lambda: 0)


@whole()
def zip_enumerate_lists(x):
    return x, list(zip([1, 2], "ab")), list(enumerate("ab", 1)), dict(zip("ab", [1, 2]))


@whole()
def reversed_sorted_lists(x):
    return x, list(reversed([1, 2, 3])), sorted([3, 1, 2]), sorted("hello"), sorted([3, 1], reverse=True)


@whole()
def sorted_with_key(x):
    return x, sorted(["bb", "a", "ccc"], key=len), sorted([3, -1, 2], key=lambda n: -n)


@snippet()
def sorted_tensors_by_key(x):
    return sorted([x, x - 1, x - 2], key=lambda y: y.sum().item())


@whole()
def min_max_with_key(x):
    return x, min(["bb", "a"], key=len), max([1, -5], key=abs), max([1, -5], key=lambda n: n * n)


@whole()
def list_sort_with_key(x):
    items = [(2, "a"), (1, "b")]
    items.sort(key=lambda pair: pair[0])
    return x, items


@whole()
def any_all(x):
    return x, any([0, 1]), all([1, 0]), any([]), all([])


@whole()
def sum_of_tensors(x):
    return sum([x, x + 1, x + 2])


@whole()
def map_with_builtin(x):
    return x, list(map(abs, [-1, 2])), list(map(str, [1, 2]))


@whole()
def map_with_lambda(x):
    return list(map(lambda y: y * 2, [x, x + 1]))


@whole()
def map_of_two(x):
    return list(map(lambda a, b: a * b, [x, x + 1], [2, 3]))


@whole()
def filter_with_lambda(x):
    return list(filter(lambda n: n > 1, [1, 2, 3])), list(filter(None, [0, 1])), x


@snippet()
def id_and_hash(x):
    y = x
    return id(x) == id(y), hash("a") == hash("a"), hash(3)


@snippet()
def vars_of(x):
    class Box:
        pass

    box = Box()
    box.a = x
    return vars(box), dir(box) != []


@whole()
def setattr_delattr(x):
    class Box:
        pass

    box = Box()
    setattr(box, "a", x + 1)
    setattr(box, "b", 2)
    delattr(box, "b")
    return box.a, hasattr(box, "b")


@whole()
def itertools_chain(x):
    return x, list(itertools.chain([1], [2, 3])), list(itertools.islice(itertools.count(), 3))


@whole()
def itertools_product(x):
    for a, b in itertools.product([1, 2], [3, 4]):
        x = x + a * b
    return x


@whole()
def itertools_zip_longest(x):
    return x, list(itertools.zip_longest([1], [2, 3], fillvalue=0)), list(itertools.accumulate([1, 2, 3]))


@snippet()
def time_in_the_middle(x):
    y = x + 1
    start = time.perf_counter()
    z = y * 2
    return z, time.perf_counter() >= start


@snippet()
def copy_of_list(x):
    items = [x, [1]]
    other = copy.copy(items)
    other.append(2)
    return items, other, other[1] is items[1]


@snippet()
def eval_and_exec(x):
    n = 2
    namespace = {}
    exec("m = 3", namespace)
    return x * eval("n + 1"), namespace["m"]


@snippet()
def print_strings(x):
    y = x + 1
    print("a", 1, 2.5, None, sep="-", end="!\n")
    return y * 2


@snippet()
def print_tensor(x):
    y = x + 1
    print("y:", y)
    return y * 2


@snippet()
def print_first(x):
    print("start")
    return x + 1


@snippet()
def print_last(x):
    y = x + 1
    print("end")
    return y


@snippet()
def print_only(x):
    print("nothing else")


@whole()
def super_of_builtin(x):
    class Items(list):
        def append(self, item):
            super().append(item + 1)

    items = Items()
    items.append(x)
    return list(items)


@whole()
def slice_and_range_objects(x):
    return x, slice(1, 3), range(3), [1, 2, 3, 4][slice(1, 3)]


@whole()
def iter_next_default(x):
    items = iter(())
    return x, next(items, "none")


@whole(lambda: (tensor([1.0, 2.0]),))
def type_call_makes_class(x):
    Box = type("Box", (), {"k": 3})
    return x * Box.k
