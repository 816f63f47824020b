"""Tuples, lists, dicts, sets and slices: built, unpacked, read, modified."""

from collections import OrderedDict, defaultdict, deque

from differential import snippet, whole

from minidynamo import tensor


@whole()
def build_tuple(x):
    return (x, x + 1)


@whole()
def build_list(x):
    return [x, x + 1, 3]


@whole()
def build_dict(x):
    return {"a": x, "b": x + 1, 3: None}


@whole()
def build_set(x):
    return x, {1, 2, 3}


@whole()
def build_nested(x):
    return {"a": [x, (x + 1, {"b": x * 2})]}


@whole()
def one_object_in_two_places(x):
    y = [x + 1]
    return y, {"again": y}, y[0]


@whole()
def unpack_tuple(x):
    a, (b, c) = x, (x + 1, x + 2)
    return a + b * c


@whole()
def unpack_star(x):
    first, *rest = [x, x + 1, x + 2]
    *start, last = rest
    return first, rest, start, last


@whole()
def star_in_displays(x):
    parts = (x, x + 1)
    return [*parts, 3], (*parts, *parts), {**{"a": x}, "b": 2}


@snippet(raises=ValueError)
def unpack_too_few(x):
    a, b, c = (x, x + 1)
    return a


@snippet(raises=ValueError)
def unpack_too_many(x):
    a, b = (x, x + 1, x + 2)
    return a


@whole(lambda: ((tensor([1.0]), [tensor([2.0]), tensor([3.0])]),))
def unpack_argument(pair):
    a, (b, c) = pair
    return a * b - c


@whole(lambda: ({"x": tensor([1.0]), "k": 3},), lambda: ({"x": tensor([1.0]), "k": 4},))
def read_dict_argument(d):
    return d["x"] * d["k"]


@whole(lambda: ([tensor([1.0]), tensor([2.0])],), lambda: ([tensor([1.0]), tensor([2.0]), tensor([3.0])],))
def read_list_argument(items):
    total = items[0]
    for item in items[1:]:
        total = total + item
    return total, len(items)


@whole()
def index_list(x):
    items = [x, x + 1, x + 2]
    return items[0], items[-1], items[1:]


@whole()
def slices(x):
    items = list(range(10))
    return x, items[2:5], items[::2], items[::-1], items[-3:], items[5:2:-1], items[:]


@whole()
def slice_of_tuple(x):
    return (x, x + 1, x + 2)[1:]


@whole()
def store_item(x):
    items = [None, None]
    items[0] = x
    items[1] = x + 1
    return items


@whole()
def store_slice(x):
    items = [1, 2, 3, 4]
    items[1:3] = [x]
    return items


@whole()
def delete_item(x):
    items = [1, 2, 3]
    del items[0]
    table = {"a": x, "b": 2}
    del table["b"]
    return items, table


@whole()
def augment_item(x):
    items = [1, x]
    items[0] += 5
    items[1] = items[1] * 2
    return items


@whole()
def list_append_extend(x):
    items = []
    items.append(x)
    items.extend([x + 1, x + 2])
    items.insert(0, 7)
    return items


@whole()
def list_pop_and_more(x):
    items = [3, 1, 2]
    last = items.pop()
    first = items.pop(0)
    items += [5, 4]
    items.reverse()
    items.sort()
    return x * last + first, items, items.index(4), items.count(5)


@whole()
def list_arithmetic(x):
    return [1] + [2, 3], [x] * 2, (1, 2) + (3,), (x,) * 3


@whole()
def list_copy_is_new(x):
    items = [x]
    other = items.copy()
    other.append(1)
    return items, other, list(items)


@whole()
def list_compare(x):
    return x, [1, 2] == [1, 2], (1, 2) < (1, 3), [1] != [2], 2 in [1, 2], 3 not in (1, 2)


@whole()
def list_remove_clear(x):
    items = [1, 2, 3]
    items.remove(2)
    other = [x]
    other.clear()
    return x, items, other


@whole()
def dict_methods(x):
    table = {"a": 1}
    table["b"] = x
    table.update({"c": 3}, d=4)
    table.setdefault("e", 5)
    return table, table.get("a"), table.get("z"), table.get("z", 7), table.pop("c"), "a" in table, len(table)


@whole()
def dict_iteration(x):
    table = {"a": 1, "b": 2}
    total = x
    for key in table:
        total = total + len(key)
    for value in table.values():
        total = total * value
    for key, value in table.items():
        total = total + value
    return total, list(table), list(table.items())


@snippet()
def dict_merge(x):
    return {"a": 1} | {"b": x}, dict([("k", x)]), dict(a=x, b=2)


@whole()
def dict_of_tensors_updated(x):
    state = {"h": x}
    for _ in range(3):
        state["h"] = state["h"] * 2
    return state


@snippet(raises=KeyError)
def dict_missing_key(x):
    return {"a": x}["b"]


@snippet(raises=IndexError)
def list_index_out_of_range(x):
    return [x, x + 1][2]


@whole()
def dict_keys_of_kinds(x):
    return {1: x, "1": 2, (1, 2): 3, None: 4, 2.5: 5}


@snippet()
def dict_views(x):
    table = {"a": 1, "b": 2}
    return x, table.keys() & {"a"}, sorted(table.values()), ("a", 1) in table.items()


@snippet()
def set_algebra(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    return x, a & b, a | b, a - b, a ^ b, a <= b, 2 in a, frozenset(a) == a


@snippet()
def set_methods(x):
    items = set()
    items.add(1)
    items.update([2, 3])
    items.discard(3)
    return x * len(items), items


@snippet()
def dict_from_keys(x):
    return x, dict.fromkeys(["a", "b"], 0)


@snippet()
def default_dict(x):
    table = defaultdict(list)
    table["a"].append(x)
    table["a"].append(1)
    return table


@snippet()
def ordered_dict(x):
    table = OrderedDict(a=1, b=2)
    table.move_to_end("a")
    return x, list(table.items())


@snippet()
def deque_rotate(x):
    items = deque([1, 2, 3], maxlen=3)
    items.append(4)
    items.rotate(1)
    return x, items


@whole(lambda: ([tensor([1.0])],))
def append_to_argument(items):
    items.append(items[0] + 1)
    return items


@whole(lambda: ({"x": tensor([1.0])},))
def write_to_dict_argument(table):
    table["y"] = table["x"] + 1
    table["n"] = len(table)


@whole(lambda: ({"x": tensor([1.0]), "old": 1},))
def delete_from_dict_argument(table):
    del table["old"]
    return table["x"] * 2


@whole(lambda: ([[tensor([1.0])], 2],))
def write_into_nested_argument(items):
    items[0][0] = items[0][0] + 1
    items[1] = items[0]
    return len(items)


@whole(lambda: ([3, 1, 2], tensor([1.0])))
def sort_argument(items, x):
    items.sort()
    return x * items[0]


@whole(lambda: (lambda shared: (shared, shared, tensor([1.0])))([1, 2]))
def mutate_argument_seen_twice(first, second, x):
    first.append(3)
    return x * len(second), first is second


@whole(lambda: ([tensor([1.0])],))
def mutation_before_exception(items):
    items.append(2)
    try:
        items[9]
    except IndexError:
        items.append(3)
    return items[0] + 1


@snippet(lambda: ([1],), raises=ZeroDivisionError)
def mutation_before_uncaught_exception(items):
    items.append(2)
    items[0] / 0


@whole()
def tuple_methods(x):
    return x, (1, 2, 1).count(1), (1, 2, 1).index(2), tuple([1, 2]), len((x, x))


@whole()
def range_object(x):
    r = range(2, 10, 3)
    return x, list(r), len(r), r[1], 5 in r, r[-1]


@whole()
def nested_subscript(x):
    table = {"a": [{"b": (x, x + 1)}]}
    return table["a"][0]["b"][1]


@snippet()
def bytes_and_bytearray(x):
    data = bytearray(b"ab")
    data.append(99)
    return x, bytes(data), b"a" + b"b", b"abc"[1]


@whole(lambda: (tensor([1.0, 2.0]), slice(0, 1)))
def slice_argument(x, s):
    return [1, 2, 3][s], x


@whole(lambda: ({"b": 1, "a": 2}, tensor([1.0])), lambda: ({"a": 2, "b": 1}, tensor([1.0])))
def order_of_dict_argument(table, x):
    return list(table)[0], x + 1


@whole()
def elements_taken_from_an_iterator(x):
    taken = []
    for ask in (
        {2, 5}.isdisjoint,
        {1, 2}.issuperset,
        {7}.issubset,
        frozenset([3]).isdisjoint,
        {1, 2, 3, 4}.issuperset,
        {9}.isdisjoint,
        {1}.union,
    ):
        numbers = iter([1, 2, 3, 4])
        answer = ask(numbers)
        taken.append((answer, list(numbers)))
    return x, taken
