"""Special methods that record each call: called exactly as often as in eager Python."""

import copy
from collections import defaultdict

from differential import snippet
from differential import whole_on_311 as whole

import minidynamo
from minidynamo import tensor


def with_log(*rest):
    return lambda: (tensor([1.0, 2.0]), [], *copy.deepcopy(rest))


class Noting:
    def __init__(self, log, n=1):
        object.__setattr__(self, "log", log)
        object.__setattr__(self, "n", n)

    def __hash__(self):
        self.log.append("hash")
        return 1

    def __eq__(self, other):
        self.log.append("eq")
        return isinstance(other, Noting) and self.n == other.n

    def __bool__(self):
        self.log.append("bool")
        return True

    def __len__(self):
        self.log.append("len")
        return 2

    def __iter__(self):
        self.log.append("iter")
        return iter([1, 2])

    def __contains__(self, item):
        self.log.append("contains")
        return item == 1

    def __getitem__(self, key):
        self.log.append("getitem")
        return key

    def __str__(self):
        self.log.append("str")
        return "text"

    def __repr__(self):
        self.log.append("repr")
        return "Noting"

    def __format__(self, spec):
        self.log.append("format")
        return "form" + spec

    def __lt__(self, other):
        self.log.append("lt")
        return self.n < other.n

    def __setattr__(self, name, value):
        self.log.append("set " + name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        object.__getattribute__(self, "log").append("get " + name)
        if name == "absent":
            raise AttributeError(name)
        return 5


@snippet(with_log())
def hash_and_eq(x, log):
    a, b = Noting(log), Noting(log)
    table = {a: x}
    return table[b], a in table, {a, b} == {b}, hash(a), a == b, a != b


@whole(with_log())
def equality_in_containers(x, log):
    a, b = Noting(log), Noting(log)
    return x, a in [b], [a] == [b], (a, 1) == (b, 1), [b].index(a), [a, b].count(a)


@snippet(with_log())
def order_in_containers(x, log):
    a, b = Noting(log, 1), Noting(log, 2)
    return x, [a] < [b], sorted([b, a])[0].n, max(a, b).n


@whole(with_log())
def truth(x, log):
    a = Noting(log)
    y = x + 1 if a else x
    return y, not a, bool(a), a and 3, any([a]), all([a]), [v for v in [a] if v] == []


@snippet(with_log())
def iteration_and_length(x, log):
    a = Noting(log)
    b, c = a
    return x * b * c, list(a), tuple(a), [*a], sum(a), len(a), 1 in a, a[3], list(zip(a, a)), list(enumerate(a)), set(a)


@snippet(with_log())
def texts(x, log):
    a = Noting(log)
    return x, str(a), repr(a), f"{a}", f"{a!r}", f"{a!s}", f"{a:>3}", "%s" % a, "{}".format(a), [a].__repr__(), f"{[a]}"


@whole(with_log())
def attributes(x, log):
    a = Noting(log)
    a.k = 3
    return x * a.k * a.virtual, hasattr(a, "absent"), getattr(a, "absent", 1), getattr(a, "other", 2), hasattr(a, "x")


class Descriptor:
    def __init__(self):
        self.calls = 0

    def __get__(self, instance, owner):
        self.calls += 1
        return self.calls

    def __set__(self, instance, value):
        self.calls += 10


class WithDescriptor:
    field = Descriptor()


@whole(lambda: (tensor([1.0]), WithDescriptor()), state=())
def descriptor_calls(x, held):
    WithDescriptor.field = Descriptor()
    held.field = 1
    return x, held.field, held.field, WithDescriptor.field, hasattr(held, "field")


class Filling(dict):
    def __missing__(self, key):
        self[key] = made = [key]
        return made


@whole(with_log())
def missing_items(x, log):
    words = Filling()
    words["a"].append(x)
    words["a"].append(2)
    return words, words.get("b"), "c" in words, words["a"] is words["a"]


@whole(with_log())
def default_factory(x, log):
    def make():
        log.append("made")
        return [x]

    table = defaultdict(make)
    table["a"].append(1)
    table["b"]
    return table["a"], len(table), table.get("c"), "d" in table, list(table)


class Steps:
    def __init__(self, log, stop=2):
        self.log, self.at, self.stop = log, 0, stop

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.log.append("next")
        if self.at == self.stop:
            raise StopIteration
        self.at += 1
        return self.at


@whole(with_log())
def steps_taken(x, log):
    a, b = Steps(log)
    first = list(zip(Steps(log, 3), "ab"))
    second = next(Steps(log)), next(Steps(log, 0), "end"), any(Steps(log)), sum(Steps(log))
    third = list(Steps(log)), tuple(map(str, Steps(log))), list(enumerate(Steps(log))), [*Steps(log)]
    return x * a * b, first, second, third


@snippet(with_log(), raises=ValueError)
def steps_into_too_few_names(x, log):
    a, b = Steps(log, 3)
    return x, a, b


class Failing(Steps):
    def __next__(self):
        self.log.append("next")
        if self.at == self.stop:
            raise KeyError("in the middle")
        self.at += 1
        return self.at


@snippet(with_log(), raises=KeyError)
def steps_that_fail(x, log):
    log.append(x + 1)
    total = list(Failing(log))
    log.append("not reached")
    return total


class Guarded:
    def __init__(self, log):
        self.log = log

    @property
    def broken(self):
        self.log.append("getter")
        raise AttributeError("inside")

    def __getattr__(self, name):
        self.log.append("hook " + name)
        return 7


@whole(with_log())
def getter_that_fails_and_a_hook(x, log):
    g = Guarded(log)
    return x * g.broken, hasattr(g, "broken"), getattr(g, "broken", 1)


@whole(with_log({1, 2}), with_log({5}), with_log({1, 2, 4}))
def set_of_the_caller_changed_and_seen(x, log, held):
    held.add(3)
    log.append(3 in held)
    held.discard(1)
    log.append(sorted(held))
    held |= {7}
    held.update([8], (9,))
    held -= {8}
    log.append(len(held))
    return x, held


@snippet(with_log({1, 2.5}), with_log({0.5}))
def changed_set_that_sorts_in_its_order(x, log, held):
    held.add(2)
    log.append(sorted(held, key=lambda item: 0) if 0.5 in held else sorted(held))
    return x


@snippet(with_log({1, "a"}), raises=TypeError)
def changed_set_that_does_not_sort(x, log, held):
    held.add(2)
    return sorted(held)


@snippet(with_log({1, 2}), raises=KeyError)
def set_of_the_caller_changed_before_an_error(x, log, held):
    held.add(3)
    log.append(x)
    held.remove(99)
    held.add(4)


@whole(lambda: [s := {1, 2}, (tensor([1.0]), s, s)][1])
def one_set_under_two_names(x, a, b):
    a.add(5)
    return x * len(b), a is b, 5 in b


@snippet(with_log({1, 2}), raises=RuntimeError)
def set_changed_while_iterated(x, log, held):
    for n in held:
        log.append(n)
        held.add(n + 10)
    return x


@snippet(with_log())
def created_sets_kept(x, log):
    s = {3, 1, "a"}
    log.append(s)
    t = s | {5}
    t.discard(1)
    log.append(t)
    s.add(9)
    return x, s is log[0], t, [v for v in {10, 20, 30}]


@snippet(with_log(), raises=RuntimeError)
def created_dict_grows_while_iterated(x, log):
    table = {"a": x, "b": x + 1}
    for key in table:
        log.append(key)
        table[key + key] = x
    return table


@snippet(with_log(), raises=RuntimeError)
def created_set_grows_while_iterated(x, log):
    items = {1, 2}
    for n in items:
        log.append(n)
        items.add(n + 10)
    return x


@snippet(with_log())
def created_set_changes_while_iterated(x, log):
    items = {1, 2, 3}
    for n in items:
        log.append(n)
        if n == 1:
            items.discard(3)
            items.add(7)
    return x, items


@snippet(with_log())
def containers_that_contain_themselves(x, log):
    items = [1]
    items += [items, items]
    table = {}
    table["t"] = [table, table]
    return x, repr(items), str(table), f"{items}"


class Sized:
    def __init__(self, log, length):
        self.log = log
        self.length = length

    def __len__(self):
        self.log.append(f"len {self.length}")
        return self.length


@whole(with_log())
def truth_by_length(x, log):
    none, some = Sized(log, 0), Sized(log, 2)
    y = x + 1 if some else x
    answers = not none, bool(some), (none or 3), (some and 4), any([none, some]), all([none, some]), len(some)
    while some:
        some.length -= 1
    return y, answers, list(filter(None, [none, 1])) == [1], [v for v in (none, some) if not v] == [none, some]


@snippet(with_log(), raises=ValueError)
def negative_length(x, log):
    return x if Sized(log, -1) else x + 1


@snippet(with_log(), raises=TypeError)
def length_that_is_not_a_number(x, log):
    return x, bool(Sized(log, "a"))


class Doubtful:
    def __bool__(self):
        return 1


@snippet(with_log(), raises=TypeError)
def truth_that_is_not_a_bool(x, log):
    return x, any([0, Doubtful()])


class Measured:
    """Iterated by __iter__ or by __getitem__; records which methods are called."""

    def __init__(self, log, length=2):
        self.log = log
        self.length = length

    def __len__(self):
        self.log.append("len")
        if self.length is None:
            raise TypeError("no length")
        return self.length

    def __iter__(self):
        self.log.append("iter")
        for n in range(2):
            self.log.append(("next", n))
            yield n


class ByNumber:
    def __init__(self, log, count=3, ends_by=IndexError):
        self.log = log
        self.count = count
        self.ends_by = ends_by

    def __getitem__(self, at):
        self.log.append(at)
        if at >= self.count:
            raise self.ends_by(at)
        return at * 10


class ByNumberWithLength(ByNumber):
    def __len__(self):
        self.log.append("len")
        return 99


def taking(*args):
    return args


@whole(with_log())
def length_is_called(x, log):
    a = Measured(log)
    out = [x]
    out.extend(a)
    out += a
    return list(a), tuple(a), [*a], (*a, 1), taking(*a), sorted(a), out


@whole(with_log())
def length_is_not_called(x, log):
    a = Measured(log)
    return x, set(a), sum(a), max(a), [n for n in a], {*a, 7}, dict.fromkeys(a, 1), any(a), list(zip(a, a))


@whole(with_log())
def length_of_none(x, log):
    a = Measured(log, None)
    return x, list(a), [*a]


@snippet(with_log())
def invalid_length(x, log):
    results = []
    for length in (-1, "two", True, 10**30):
        try:
            results.append(list(Measured(log, length)))
        except (ValueError, OverflowError) as error:
            results.append(type(error).__name__)
    return x, results


@snippet(with_log())
def list_extended_by_an_iterator_that_reads_it(x, log):
    class Looking:
        def __init__(self, items):
            self.items = items

        def __iter__(self):
            for n in range(3):
                log.append(len(self.items))
                yield n

    items = [x]
    items.extend(Looking(items))
    return items


@whole(with_log())
def iterated_by_getitem(x, log):
    y = x
    for n in ByNumber(log):
        y = y + n
    a, b = ByNumber(log, 2)
    return (
        y,
        a,
        b,
        list(ByNumber(log)),
        [*ByNumber(log, 1)],
        sum(ByNumber(log)),
        max(ByNumber(log)),
        20 in list(ByNumber(log)),
    )


@whole(with_log())
def iterated_by_getitem_until_stopped(x, log):
    return x, [n for n in ByNumber(log, 2, StopIteration)], list(ByNumberWithLength(log)), next(iter(ByNumber(log)))


@snippet(with_log())
def iterated_by_getitem_with_an_error(x, log):
    try:
        return [n for n in ByNumber(log, 2, KeyError)]
    except KeyError as error:
        return x, error.args


@snippet(with_log())
def iterated_by_getitem_with_a_break(x, log):
    for n in ByNumber(log):
        minidynamo._dynamo.graph_break()
        x = x + n
    return x


@snippet(with_log())
def iterator_over_getitem(x, log):
    iterator = iter(ByNumber(log))
    first = next(iterator)
    return x, first, type(iterator).__name__, list(iterator), list(iterator)


class NoIteration(ByNumber):
    __iter__ = None


@whole(with_log())
def iteration_is_disabled(x, log):
    try:
        list(NoIteration(log))
    except TypeError as error:
        return x, str(error)


@whole(with_log())
def iteration_that_is_disabled_is_caught(x, log):
    texts = []
    for iterate in (iter, tuple, sum, lambda each: [*each], lambda each: dict.fromkeys(each)):
        try:
            iterate(NoIteration(log))
        except TypeError as error:
            texts.append(str(error))
    return x, texts, log
