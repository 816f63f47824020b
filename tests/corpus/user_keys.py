"""Keys and elements with a user-defined __hash__ and __eq__ that record each call."""

from dataclasses import dataclass

from differential import snippet, whole

from minidynamo import tensor


def with_log():
    return tensor([1.0, 2.0]), []


class Key:
    def __init__(self, log, n, mark=""):
        self.log = log
        self.n = n
        self.mark = mark

    def __hash__(self):
        self.log.append(f"hash {self.n}{self.mark}")
        return self.n % 10

    def __eq__(self, other):
        self.log.append(f"eq {self.n}{self.mark} {getattr(other, 'n', other)}{getattr(other, 'mark', '')}")
        if not isinstance(other, Key):
            return NotImplemented
        return self.n == other.n


@whole(with_log)
def stored_and_found(x, log):
    table = {Key(log, 1): x}
    table[Key(log, 2)] = x + 1
    table[Key(log, 1, "b")] = x + 2
    return table[Key(log, 1, "c")] + table[Key(log, 2, "b")], len(table), [key.mark for key in table]


@whole(with_log)
def methods(x, log):
    table = {}
    a = Key(log, 1)
    table[a] = x
    first = table.get(Key(log, 1)), table.get(Key(log, 2)), table.setdefault(Key(log, 1, "b"), 5)
    table.setdefault(Key(log, 3), x * 2)
    taken = table.pop(Key(log, 3, "b")), table.pop(Key(log, 4), None)
    del table[Key(log, 1, "c")]
    return first, taken, len(table), a in table


@snippet(with_log)
def keys_of_one_hash(x, log):
    table = {Key(log, 1): x, Key(log, 11): x + 1, Key(log, 21): x + 2}
    found = table[Key(log, 11, "b")], Key(log, 31) in table
    del table[Key(log, 1, "b")]
    table[Key(log, 1, "c")] = x
    return found, table[Key(log, 1, "d")], [key.n for key in table]


@whole(with_log)
def identity_skips_equality(x, log):
    a, b = Key(log, 1), Key(log, 11)
    table = {a: x, b: x + 1}
    return table[a], table[b], a in table, b in table


@snippet(with_log)
def with_numbers_of_the_same_hash(x, log):
    table = {1: x, "text": x}
    table[Key(log, 1)] = x + 1
    return table[1], table[Key(log, 1, "b")], 1.0 in table, True in table, len(table)


@whole(with_log)
def missing(x, log):
    table = {Key(log, 1): x}
    try:
        return table[Key(log, 11)]
    except KeyError as error:
        return x, len(error.args)


@whole(with_log)
def comprehensions(x, log):
    numbers = [1, 2, 1, 11]
    table = {Key(log, n, str(at)): x + at for at, n in enumerate(numbers)}
    return len(table), len({Key(log, n) for n in (1, 2, 1)})


@whole(with_log)
def sets(x, log):
    seen = {Key(log, 1), Key(log, 2)}
    seen.add(Key(log, 1, "b"))
    seen.discard(Key(log, 2, "b"))
    seen.discard(Key(log, 3))
    seen.add(Key(log, 4))
    seen.remove(Key(log, 4, "b"))
    return x, len(seen), Key(log, 1, "c") in seen, [key.mark for key in seen]


@whole(with_log)
def keys_of_one_hash_among_others(x, log):
    table = {Key(log, 1): x, 11: 5, Key(log, 2): x, Key(log, 11): x + 1, "text": 3}
    table[Key(log, 21)] = 4
    table.update({"more": 1})
    found = [table.get(Key(log, n)) for n in (11, 21, 31, 2)]
    for n in range(30, 60):
        table[Key(log, n)] = n
    other = {Key(log, n % 20): n for n in range(40)}
    return found, len(table), table[Key(log, 51)], Key(log, 1) in table, other[Key(log, 11)]


@snippet(with_log)
def keys_of_one_hash_in_a_copy(x, log):
    table = {1: x, 9: x, 17: x}
    del table[1]
    copied = dict(table)
    copied[Key(log, 1)] = 1
    copied[Key(log, 11)] = 2
    return copied[Key(log, 11)], copied[Key(log, 1)], len(copied)


@whole(with_log)
def large_set_of_few_hashes(x, log):
    seen = set()
    for n in range(0, 90, 7):
        seen.add(Key(log, n))
        if n % 3 == 0:
            seen.discard(Key(log, n - 14))
    return x + 1, len(seen), [Key(log, n) in seen for n in range(8)], {Key(log, n) for n in (1, 11, 21, 1)} == seen


@whole(with_log)
def set_with_several_of_one_hash(x, log):
    seen = {Key(log, 1), Key(log, 11), Key(log, 21)}
    seen.discard(Key(log, 11, "b"))
    seen.add(Key(log, 31))
    return x + 1, len(seen), Key(log, 21, "b") in seen


@snippet(with_log)
def merged(x, log):
    one, other = {Key(log, 1): x, Key(log, 2): x}, {Key(log, 1, "b"): x + 1}
    one.update(other)
    both = {**one, **other}
    return len(one), len(both), one == other, {Key(log, 5)} | {Key(log, 5, "b")} == {Key(log, 5, "c")}


@snippet(with_log)
def returned_to_the_caller(x, log):
    table = {Key(log, 1): x + 1}
    table[Key(log, 1, "b")] = x + 2
    return table, {Key(log, 3)}


@snippet(lambda: (tensor([1.0]), log := [], {Key(log, 1): 5}))
def dict_of_the_caller(x, log, table):
    table[Key(log, 1, "b")] = x + 1
    table[Key(log, 11)] = x
    return Key(log, 11, "b") in table


@snippet(lambda: (tensor([1.0]), log := [], Key(log, 1), Key(log, 1, "b")))
def keys_of_the_caller(x, log, a, b):
    table = {a: x}
    table[b] = x + 1
    return table[a], len(table), b in [a], a in {b}


@snippet(with_log)
def hash_that_changes(x, log):
    key = Key(log, 1)
    table = {key: x}
    key.n = 2
    return key in table, x + len(table)


class Refusing:
    def __hash__(self):
        raise ValueError("no hash")


class Unequal:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise ValueError("no equality")


class Unhashable:
    def __eq__(self, other):
        return True


@snippet()
def hash_that_raises(x):
    table = {1: x}
    try:
        table[Refusing()] = x
    except ValueError as error:
        return x + 1, str(error), len(table)


@snippet()
def equality_that_raises(x):
    table = {Unequal(): x}
    try:
        table[Unequal()] = x
    except ValueError as error:
        return x + 1, str(error), len(table)


@snippet(raises=TypeError)
def unhashable_key(x):
    return {Unhashable(): x}


class Meddling:
    def __init__(self, table):
        self.table = table

    def __hash__(self):
        return 1

    def __eq__(self, other):
        self.table.clear()
        return False


@snippet()
def equality_that_changes_the_dict(x):
    table = {1: x}
    table[Meddling(table)] = x + 1
    return len(table)


@snippet()
def equality_that_changes_the_list(x):
    items = []
    items += [Meddling(items), Meddling(items), 3]
    return x, 3 in items, len(items)


@whole(with_log)
def found_in_lists(x, log):
    a, b, c = Key(log, 1), Key(log, 2), Key(log, 1, "b")
    items = [a, b, c, 5]
    found = c in items, items.index(c), items.count(c), Key(log, 7) in items, 5 in items
    items.remove(Key(log, 2, "b"))
    return x, found, len(items), [a, b] == [c, b], (a, 1) == (c, 2), [a] != [b]


@snippet(with_log)
def found_in_values_of_a_dict(x, log):
    a, b = Key(log, 1), Key(log, 2)
    return x + 1, b in {1: a, 2: b}.values(), {1: a} == {1: b}


@dataclass(frozen=True)
class Shape:
    rows: int
    name: str = "a"


@whole()
def dataclasses_as_memo(x):
    memo = {}
    for rows in (1, 2, 1, 3, 2):
        shape = Shape(rows)
        if shape not in memo:
            memo[shape] = x * rows
    return sum(memo.values()), len(memo), memo[Shape(3)]


class Plain:
    pass


@snippet()
def objects_that_equal_themselves(x):
    a, b = Plain(), Plain()
    table = {a: x, b: x + 1}
    table[a] = x * 2
    return table[a] + table[b], len(table), Plain() in table, len({a, b, a}), table


@whole()
def names_of_the_module(x):
    return x, globals()["Plain"] is Plain, "not_there" in globals(), globals().get("with_log") is with_log


COUNT = 0


@whole(state="COUNT")
def name_written_by_globals(x):
    globals()["COUNT"] = COUNT + 1
    return x * COUNT
