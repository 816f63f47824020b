"""The building blocks of random programs: the classes and functions they use, and the phrases of each type.

In a phrase {t} {i} {f} {b} {s} {l} {q} {d} {o} {e} {p} stand for expressions of a type: tensor, int, float, bool, str, list of ints,
list of tensors, dict of tensors, Box, set of ints, tuple of a tensor and an int. {{ and }} are braces.
"""

PREAMBLE = """
import collections
import contextlib
import dataclasses
import enum
import functools
import inspect
import itertools
import math
import operator
import types
import typing
import minidynamo
from minidynamo._dynamo import graph_break

TOTAL = 0
LOG = []


class Box:
    scale = 2

    def __init__(self, value, count=1):
        self.value = value
        self.count = count

    def grow(self, by=1):
        self.count += by
        return self.value * self.count

    def peek(self, by=1):
        return self.value * by + self.scale

    def stop(self, by=0):
        graph_break()
        return self.value + by

    @property
    def doubled(self):
        return self.value * 2

    @doubled.setter
    def doubled(self, value):
        self.value = value / 2
        self.count += 1

    def __call__(self, other):
        return self.value + other

    def __len__(self):
        return self.count % 4

    def __eq__(self, other):
        return isinstance(other, Box) and self.count == other.count

    def __hash__(self):
        return 7

    def __lt__(self, other):
        return self.count < other.count

    def __iter__(self):
        yield self.value
        yield self.value + 1

    def __getitem__(self, index):
        if index > 2:
            raise IndexError(index)
        return self.value * index

    def __contains__(self, number):
        return number == self.count

    def __add__(self, other):
        return Box(self.value + 1, self.count + (other.count if isinstance(other, Box) else 1))

    def __iadd__(self, other):
        self.count += 1
        return self

    def __radd__(self, other):
        return self

    def __enter__(self):
        self.count += 1
        return self.value

    def __exit__(self, kind, error, traceback):
        self.count -= 1
        return kind is ValueError


class Child(Box):
    scale = 3

    def grow(self, by=2):
        return super().grow(by) - 1

    @classmethod
    def made(cls, value):
        return cls(value, 5)

    @staticmethod
    def shifted(value):
        return value + 0.5

    def __getattr__(self, name):
        if name.startswith("other"):
            return self.count
        raise AttributeError(name)


class Noted:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, kind, error, traceback):
        print("exit", self.name, kind and kind.__name__)
        return False


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


@dataclasses.dataclass
class Record:
    tensor: object
    number: int = 0
    rest: list = dataclasses.field(default_factory=list)


@typing.runtime_checkable
class Counting(typing.Protocol):
    count: int

    def grow(self, by=1): ...


Pair = collections.namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Planned(Exception):
    def __init__(self, text, number):
        super().__init__(text)
        self.number = number


def functools_total(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def counts(stop):
    for number in range(stop):
        yield number * 2


def guarded(stop):
    log = LOG  # What is closed late, with a traceback that held it, must not reach the next call's.
    try:
        for number in range(stop):
            yield number
    finally:
        log.append(stop)


def scaled(tensors):
    for tensor in tensors:
        yield tensor * 2
    return len(tensors)


def delegated(tensors):
    length = yield from scaled(tensors)
    yield tensors[0] + length


def paused(value):
    graph_break()
    return value


def deep(value, depth):
    if depth <= 0:
        return paused(value)
    return deep(value + 1, depth - 1) * 2


def fails(value, number):
    if number > 2:
        raise Planned("too many", number)
    return value - number


def keywords(value, /, *rest, scale=1, **named):
    return value * scale + len(rest) + len(named)


def twice(function):
    @functools.wraps(function)
    def wrapped(*args, **named):
        return function(*args, **named) + function(*args, **named)

    return wrapped


@twice
def doubly(value, by=1):
    return value * by


@contextlib.contextmanager
def logged(name):
    log = LOG
    log.append(name)
    try:
        yield len(log)
    finally:
        log.append("-" + name)

"""

EXPRESSIONS = {
    "t": ["{t} + {t}", "{t} * {i}", "{t} - {f}", "{t} / 2", "-{t}", "{i} - {t}", "{t} * {b}", "{t}.relu()", "{t}.abs()",
          "minidynamo.sin({t})", "minidynamo.maximum({t}, {t})", "{t}.clone()", "{t}.reshape(-1).reshape({t}.shape)",
          "({t} if {b} else {t})", "{t}.sum() + {t}", "{t}[0] + {t}", "{q}[0]", "{q}[-1]", "{d}['a']",
          "{d}.get('b', {t})", "{o}.value", "{o}.peek()", "{o}.peek(by={i})", "{o}.doubled", "{o}({t})", "{o}.grow()",
          "sum({q})", "helper({t})", "helper({t}, {i})", "helper({t}, flag={b})", "helper({t}, *[{i}], extra={i})",
          "minidynamo.where({t} > 0, {t}, {t})", "{t}.T.T", "{t}.clamp(-1.0, 1.0)", "Child.shifted({t})",
          "Child.made({t}).value", "(lambda p, k=2: p * k)({t})", "max({q}, key=lambda v: float(v.sum()))",
          "minidynamo.stack({q})[0]", "{t}.to(minidynamo.float64).to(minidynamo.float32)", "{t}.detach()", "abs({t})",
          "next(iter({q}))", "[{t}, {t}][{b}]", "{t}.mean(0, keepdim=True) + {t}", "{t}.softmax(-1)",
          "paused({t})", "{o}.stop()", "deep({t}, {i} % 3)", "fails({t}, {i})", "keywords({t}, *{l}, scale={i})",
          "keywords({t}, **{d})", "doubly({t}, by={i})", "{p}[0]", "{t}.view(-1)", "{t}.add_(1)", "{t}.mul_({i})", "{t}[:]",
          "{t}.flip(0)", "{t}.cumsum(0)", "{t}.expand(2, -1)[1]", "next(scaled({q}))", "list(delegated({q}))[-1]",
          "functools.reduce(operator.add, {q})", "functools.partial(keywords, scale={i})({t})", "{q}.pop()", "{d}.pop('a', {t})",
          "Record({t}, {i}).tensor", "Pair({t}, {i}).first", "Slotted({t}, {i}).left", "{o}[{i} % 4]", "[*{o}][1]",
          "dataclasses.replace(Record({t}), number={i}).tensor", "sum(paused(v) for v in {q})",
          "[paused(v) for v in {q}][0]", "{t}.roll(1)", "{t}.masked_fill({t} > 0, 0.5)", "minidynamo.cat([{t}, {t}])[:3]",
          "(yes := {t}) + yes", "{t}.unsqueeze(0).squeeze(0)", "{t}.copy_({t})", "{t}.round()", "{t}.T", "{t}.zero_()",
          "types.MappingProxyType({d})['a']", "types.MappingProxyType({d}).get('b', {t})"],
    "i": ["{i} + {i}", "{i} - {i}", "{i} * 2", "{i} // 3", "{i} % 5", "len({l})", "len({q})", "len({d})", "{t}.dim()",
          "{t}.shape[0]", "{t}.numel()", "max({i}, {i})", "min({l} + [1])", "sum({l})", "abs({i})", "{o}.count", "len({o})",
          "int({f})", "({i} if {b} else {i})", "{l}[0]", "{l}[-1]", "{l}.count({i})", "len({s})", "{i} & 3", "-{i}",
          "int({t}.sum() > 0)", "hash({i}) % 3", "{i} ** 2 % 7", "divmod({i}, 3)[1]", "len({{{i}, {i}}})", "ord({s}[0])",
          "sorted({l} + [3], reverse={b})[0]", "[*{l}, {i}][-1]", "functools_total({l})", "paused({i})", "{l}.pop()",
          "{l}.index({i})", "len({e})", "{p}[1]", "sum(counts({i} % 4))", "max({l}, default={i})", "~{i}", "{i} >> 1",
          "math.floor({f})", "{o}.other", "getattr({o}, 'count', {i})", "Color.RED.value", "Color({i}).value", "int({s} == {s})",
          "next(counts({i} % 3), {i})", "sum(v for v in {l} if v > {i})", "len(list(itertools.chain({l}, {l})))",
          "operator.add({i}, {i})", "{l}.__len__()", "(lambda *a: len(a))(*{l})", "functools.reduce(lambda a, b: a - b, {l}, {i})",
          "len(types.MappingProxyType({d}))", "len(inspect.signature(keywords).parameters)", "type({o}).__dict__.get('scale', {i})",
          "inspect.signature(fails).bind({t}, {i}).arguments['number']"],
    "f": ["{f} + 0.5", "{f} * {i}", "float({i})", "round({f}, 1)", "{i} / 2", "abs({f})", "min({f}, 1.5)", "({f} if {b} else -{f})",
          "math.sqrt(abs({f}))", "{f} // 0.3", "{t}.sum().item()", "float({t}.mean())", "paused({f})"],
    "b": ["{i} > 2", "{i} == {i}", "{f} < 1.0", "not {b}", "({b} and {b})", "({b} or {b})", "{i} in {l}", "{l} == {l}",
          "isinstance({o}, Child)", "{t}.sum() > 0", "'a' in {d}", "{t}.shape == {t}.shape", "{s} == {s}", "bool({l})",
          "{o} == {o}", "{o} is {o}", "{t} is {t}", "any(v > 1 for v in {l})", "all([v < 9 for v in {l}])", "bool({o})",
          "1 < {i} < 5", "hasattr({o}, 'count')", "callable({o})", "{t}.is_floating_point()", "{i} is None", "{i} in {e}",
          "{o} < {o}", "{i} in {o}", "{o} in [{o}]", "paused({b})", "{e} <= {e}", "{p} == {p}", "1 < paused({i}) <= {i}",
          "{s}.startswith('a')", "hasattr({o}, 'others')", "{q}[0] is {t}", "(n and {b}) is False", "isinstance({i}, bool)",
          "isinstance({o}, Counting)", "isinstance({l}, Counting)", "'grow' in vars(type({o}))", "'b' in types.MappingProxyType({d})"],
    "s": ["{s} + 'x'", "f'{{{i}}}:{{{b}}}'", "str({i})", "{s}.upper()", "'-'.join([{s}, {s}])", "repr({l})", "{s}[::-1]",
          "'%s!' % {i}", "f'{{{f}:.2f}}'", "{s} * 2", "type({o}).__name__", "str({t}.shape)", "'{{}}'.format({i})",
          "Color.BLUE.name", "{s}.split('a')[0]", "f'{{{i}!r:>4}}'", "paused({s})", "str({e})", "str(inspect.signature(doubly))", "repr({p}[1:])", "{s}.title()"],
    "l": ["[{i}, {i}]", "[v + 1 for v in {l}]", "{l} + [{i}]", "{l}[1:]", "list(range({i} % 4))", "sorted({l})",
          "[v for v in {l} if v % 2]", "list(reversed({l}))", "[a * b for a, b in zip({l}, {l})]", "{l} * 2", "list(map(abs, {l}))",
          "[k + v for k, v in enumerate({l})]", "list({l})", "[*{l}, *{l}]", "list(filter(None, {l}))", "sorted({e})", "paused({l})",
          "list(guarded({i} % 3))", "[v for v in {l} for _ in range(2)]", "list(map(lambda v: v + {i}, {l}))", "{l}[::-1]",
          "sorted({l}, key=lambda v: -v)", "list(itertools.islice(counts(5), {i} % 4))", "{l}.copy()", "[len(v) for v in [{l}, {l}]]",
          "list(itertools.accumulate({l}))", "[paused(v) for v in {l}]"],
    "q": ["[{t}, {t}]", "{q} + [{t}]", "[v * 2 for v in {q}]", "{q}[1:] + [{t}]", "list({d}.values())", "[{t}] * 2",
          "[p + q for p, q in zip({q}, {q})]", "list({q})", "[v for v in {q} if v.dim() > 0]", "list(reversed({q}))",
          "list(scaled({q}))", "[paused(v) for v in {q}]", "sorted({q}, key=lambda v: float(v.sum()))", "list({o})", "{q}[:]",
          "list(minidynamo.stack([{t}, {t}]).unbind(0))", "[v[:] for v in {q}]", "list(delegated({q}))"],
    "d": ["{{'a': {t}, 'b': {t}}}", "dict({d})", "{{**{d}, 'c': {t}}}", "{{k: v + 1 for k, v in {d}.items()}}", "dict(a={t})",
          "{d} | {{'e': {t}}}", "{{k: paused(v) for k, v in {d}.items()}}", "dict(zip('ab', {q}))", "{d}.copy()",
          "collections.OrderedDict(a={t}, b={t})", "dict(types.MappingProxyType({d}))", "{{s: v for s, v in sorted({d}.items(), key=lambda kv: kv[0])}}"],
    "o": ["Box({t})", "Child({t}, {i})", "Child.made({t})", "({o} if {b} else {o})", "{o} + {o}", "paused({o})", "max([{o}, {o}])"],
    "e": ["{{{i}, {i}}}", "set({l})", "{e} | {e}", "{e} - {e}", "{{v % 3 for v in {l}}}", "{e} & {{1, 2, 3}}", "frozenset({l})"],
    "p": ["({t}, {i})", "({p}[0], {i})", "tuple([{t}, {i}])", "Pair({t}, {i})", "(lambda a, b: (b, a))({i}, {t})", "paused({p})"],
}  # fmt: skip

LITERALS = {
    "t": ["minidynamo.ones(3)", "minidynamo.tensor([1.0, -2.0, 0.5])", "minidynamo.full((3,), 2.0)"],
    "i": ["0", "1", "2", "3", "-1", "7"],
    "f": ["0.5", "-1.25", "2.0", "-0.0"],
    "b": ["True", "False"],
    "s": ["'a'", "'word'"],
    "l": ["[1, 2, 3]", "[5]"],
    "q": ["[minidynamo.ones(3)]"],
    "d": ["{'a': minidynamo.ones(3)}"],
    "o": ["Box(minidynamo.ones(3))"],
    "e": ["{1, 2}"],
    "p": ["(minidynamo.ones(3), 1)"],
}

# Statements that modify a container {n}.
CHANGES = {
    "l": ["{n}.append({i})", "{n}.insert(0, {i})", "{n}.extend({l}[:4])", "{n}.sort()", "{n}.reverse()", "{n}[0] = {i}",
          "{n}.pop()", "del {n}[0]", "{n}.clear()", "{n}[1:] = {l}[:6]", "{n}.remove({i})", "{n}[0] += {i}", "{n}.extend(counts({i} % 3))",
          "{n}[:] = {n}[:4] * 2", "{n}.append(paused({i}))", "{n}[::2] = {l}", "{n}.sort(key=lambda v: v % 2)"],
    "q": ["{n}.append({t})", "{n}[-1] = {t}", "{n}.pop()", "{n}.extend({q}[:4])", "{n}.insert(1, {t})", "{n}[0] += {t}",
          "{n}[0].add_({t})", "{n}[0][0] = {i}", "{n} += [{t}]", "{n}.reverse()"],
    "d": ["{n}['a'] = {t}", "{n}['z'] = {t}", "{n}.pop('a')", "{n}.update({d})", "del {n}['b']", "{n}.setdefault('q', {t})",
          "{n}.pop('none', None)", "{n}['a'] += {t}", "{n}.update(z={t})", "{n}['a'].mul_({i})", "{n}.popitem()", "{n} |= {d}",
          "{n}[{s}] = {t}", "{n}.clear()"],
    "e": ["{n}.add({i})", "{n}.discard({i})", "{n} |= {e}", "{n}.remove({i})", "{n}.update({l})"],
}  # fmt: skip

# Statements that modify a tensor {n}, mostly in place.
WRITES = [
    "{n} = {n} + 1", "{n} *= 2", "{n} += {t}", "{n} = {n}.clone()", "{n}.add_({t})", "{n}[0] = {i}", "{n}[1:] = {f}", "{n}[1:] += {i}",
    "{n}[:2].mul_({i})", "{n}.view(-1)[0] = {f}", "{n}.fill_({i})", "{n}.copy_({t})", "{n}[:] = {t}", "{n}[-1] -= {t}[0]",
    "{n}.clamp_(-1, 1)", "{n}[{t} > 0] = {f}", "{n}.unsqueeze(0).neg_()", "minidynamo.add({t}, 1, out={n})", "{n}[{i}] = 1.0",
]  # fmt: skip

# The last statement in the body of a try.
TROUBLES = [
    "raise ValueError('planned')", "{l}[9]", "{d}['missing']", "{i} // ({i} * 0)", "assert {b}, 'asserted'", "pass", "{t} + None",
    "{t}.reshape(5)", "{o}.absent", "raise Planned('hard', {i})", "fails({t}, {i})", "graph_break()", "paused(fails({t}, 5))",
    "raise KeyError({s}) from None", "{t}[5]", "list(fails({t}, v) for v in {l})", "next(counts(0))", "return {i}",
]  # fmt: skip
