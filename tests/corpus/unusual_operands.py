"""Operands of unexpected types, iterators passed to calls that consume nothing, and results that are one of the operands."""

import bisect
import collections
import enum
import functools
import heapq
import math
import types

from differential import snippet

from minidynamo import tensor
from minidynamo._dynamo import graph_break


def with_log():
    return tensor([1.0, -2.0, 3.0]), []


def steps(log, *values):
    for value in values:
        log.append(value)
        yield value


@snippet(with_log)
def iterator_instead_of_a_number(x, log):
    iterator, said = iter([1, 2]), []
    for call in (math.cos, math.lgamma, range, "a".center, b"a".find, slice):
        for operand in (iterator, steps(log, 1, 2), enumerate("ab")):
            try:
                said.append(type(call(operand)).__name__)
            except TypeError as error:
                said.append(str(error))
    return x + 1, said, list(iterator)


@snippet(with_log)
def iterator_that_fails_half_way(x, log):
    for call in (math.fsum, max, "".join):
        try:
            call(steps(log, 1, "a", 2))
        except TypeError as error:
            log.append(str(error))
    return x + 1, log


@snippet()
def heap_that_is_not_a_list(x):
    said = []
    for call in (heapq.heappop, heapq.heapify):
        for heap in (collections.deque([2, 1]), {}, "ab"):
            try:
                call(heap)
            except TypeError as error:
                said.append(str(error))
    for call in (heapq.heappush, heapq.heapreplace, heapq.heappushpop):
        try:
            call((1, 2), 3)
        except TypeError as error:
            said.append(str(error))
    return x + 1, said


class Noted(list):
    def append(self, value):
        raise AssertionError("a heap does not ask the class")


@snippet(lambda: (tensor([1.0]), Noted([1, 3])))
def heap_of_a_list_subclass(x, heap):
    heapq.heappush(heap, 2)
    return x + 1, heapq.heappop(heap), heap


@snippet()
def search_in_a_dict(x):
    try:
        return x, bisect.bisect_left({0: 1}, 1)
    except TypeError as error:
        return x + 1, str(error)


@snippet(raises=TypeError)
def reduce_with_too_much(x):
    return x + 1, functools.reduce(lambda a, b: a, [], 1, 2)


@snippet(lambda: (tensor([1.0]), collections.OrderedDict(a=1, b=2)))
def last_passed_twice(x, caller):
    said = []
    for ordered in (collections.OrderedDict(a=1, b=2), caller):
        for call in (lambda o: o.popitem(True, last=False), lambda o: o.move_to_end("a", True, last=False)):
            try:
                call(ordered)
            except TypeError as error:
                said.append(str(error).rpartition(".")[2])
    return x + 1, said


class Level(enum.IntEnum):
    LOW = 1


class Recording:
    def __init__(self, log):
        self.log = log

    def __eq__(self, other):
        self.log.append(other)
        return NotImplemented

    __hash__ = None

    def __radd__(self, other):
        self.log.append(other)
        return 5


@snippet(with_log)
def member_passed_to_a_method(x, log):
    recording = Recording(log)
    found = (
        recording in [Level.LOW],
        collections.deque([recording]).count(Level.LOW),
        Level.LOW == recording,
        recording != Level.LOW,
    )
    return x + (Level.LOW + recording), found


@snippet()
def exhausted_iterators(x):
    made = [iter([1]), iter((1,)), iter("a"), iter("ä"), iter({1}), iter({1: 2}), iter({1: 2}.items()), iter(range(1))]
    made += [reversed([1]), reversed((1,))]
    for iterator in made:
        list(iterator)
    graph_break()
    return x + 1, [type(iterator).__name__ for iterator in made], [list(iterator) for iterator in made], made


class Counted:
    def __init__(self, log):
        self.log, self.left = log, 3

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.log.append("next")
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


@snippet(with_log)
def rest_is_a_list_of_the_iterator(x, log):
    first, *rest = Counted(log)
    *most, last = Counted(log)
    return x + first, rest, most, last


@snippet(with_log, raises=ValueError)
def rest_of_too_few(x, log):
    a, b, c, d, *rest = Counted(log)
    return x


class Generic:
    __class_getitem__ = classmethod(types.GenericAlias)
    length = classmethod(len)


@snippet()
def class_method_of_a_non_function(x):
    x = x + 1
    alias = Generic.__class_getitem__(graph_break() or 1)
    named = Generic().__class_getitem__
    graph_break()
    return x, alias.__args__, named(2).__args__, type(named).__name__, type(Generic.length).__name__


@snippet(lambda: (tensor([1.0]), frozenset({1, 2}), "text", (1, 2)))
def operand_is_the_result(x, members, text, pair):
    return x + 1, members.copy(), frozenset(members), text.strip(), str(text), tuple(pair), members, text, pair


class OwnIterSet(set):
    def __iter__(self):
        return iter([9])


class OwnIterFrozenset(frozenset):
    def __iter__(self):
        return iter([9])


def with_sets():
    return tensor([1.0, 2.0]), OwnIterSet([1, 2]), OwnIterFrozenset([1, 2])


@snippet(with_sets)
def sets_merged_by_their_hash_tables(x, one, other):
    copied, updated, removed = set(one), {0}, {1, 9}
    updated.update(other)
    removed.difference_update(one)
    merged = {*one}, {0}.union(other), {1}.issubset(one), frozenset(other)
    return x + 1, copied, updated, removed, merged, list(one), sorted(other)


class Sevens(dict):
    def __getitem__(self, key):
        return 7


def with_sevens():
    return tensor([1.0, 2.0]), Sevens(a=1)


@snippet(with_sevens)
def dicts_with_user_items(x, held):
    ordered, plain = collections.OrderedDict(held), dict(held)
    later = collections.OrderedDict()
    later.update(held)
    return x + 1, ordered, plain, {**held}, later, collections.OrderedDict(held, b=2)
