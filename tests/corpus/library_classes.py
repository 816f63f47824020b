"""Classes of the standard library: dataclasses, named tuples, enums, and those of collections and types."""

import enum
import typing
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from dataclasses import FrozenInstanceError, InitVar, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType, SimpleNamespace

from differential import snippet
from differential import whole_on_311 as whole

from minidynamo import tensor

Pair = namedtuple("Pair", ["left", "right"])
WithDefault = namedtuple("WithDefault", "a b", defaults=[7])


class Sized(typing.NamedTuple):
    value: object
    scale: float = 2.0

    def scaled(self):
        return self.value * self.scale


@whole()
def namedtuple_created(x):
    p = Pair(x, 3)
    return p.left * p.right


@whole()
def namedtuple_by_keywords(x):
    p = Pair(right=x, left=2)
    return p.left * p.right


@whole()
def namedtuple_default(x):
    return WithDefault(x).b * x


@whole()
def namedtuple_unpacked(x):
    a, b = Pair(x, 3)
    return a * b


@whole()
def namedtuple_indexed(x):
    p = Pair(x, 3)
    return p[0] * p[1], len(p), p[-1], p[:1]


@whole()
def namedtuple_returned(x):
    return Pair(x + 1, [3])


@whole()
def namedtuple_replace(x):
    p = Pair(x, 3)._replace(right=4)
    return p.left * p.right, p


@whole()
def namedtuple_asdict(x):
    return Pair(x, 3)._asdict()


@whole()
def namedtuple_fields(x):
    return x, Pair._fields, Pair(1, 2)._fields


@whole()
def namedtuple_make(x):
    return Pair._make([x, 1])


@whole()
def namedtuple_compared(x):
    return x, Pair(1, 2) == (1, 2), Pair(1, 2) == Pair(1, 3), Pair(1, 2) < Pair(1, 3)


@whole()
def namedtuple_iterated(x):
    return [v for v in Pair(x, x + 1)], 2 in Pair(1, 2), (*Pair(x, 1),)


@whole()
def namedtuple_is_tuple(x):
    return x, isinstance(Pair(1, 2), tuple), isinstance(Pair(1, 2), Pair)


@whole()
def namedtuple_matched(x):
    match Pair(x, 3):
        case Pair(left=a, right=3):
            return a + 1
    return None


@whole()
def namedtuple_with_method(x):
    return Sized(x).scaled() + Sized(x, 3.0).scaled()


@whole(lambda: (Pair(tensor([1.0]), 3),), lambda: (Pair(tensor([1.0]), 4),))
def namedtuple_of_caller(p):
    a, b = p
    return p.left * p.right + a * b + p[0], len(p)


@whole(lambda: (Pair(tensor([1.0]), 3),), lambda: (Pair(tensor([1.0]), 4),))
def namedtuple_of_caller_replaced(p):
    return p._replace(left=p.left + 1), p


@whole(lambda: (Sized(tensor([1.0]), 3.0),))
def namedtuple_of_caller_method(p):
    return p.scaled()


@snippet(raises=TypeError)
def namedtuple_missing_argument(x):
    return Pair(x)


@snippet(raises=AttributeError)
def namedtuple_missing_attribute(x):
    return Pair(x, 2).middle


@dataclass
class Config:
    scale: float
    items: list = field(default_factory=list)
    bias: float = 1.0

    def apply(self, x):
        return x * self.scale + self.bias


@dataclass(frozen=True)
class Frozen:
    a: int
    b: int = 2


@dataclass(order=True)
class Ordered:
    a: int
    b: int = 2


@dataclass(slots=True)
class Slotted:
    a: object
    b: int = 2


@dataclass(kw_only=True)
class KeywordOnly:
    a: object
    b: int = 2


@dataclass
class Post:
    a: object
    factor: InitVar[int] = 3
    b: object = field(init=False, default=None)

    def __post_init__(self, factor):
        self.b = self.a * factor


@dataclass
class Child(Config):
    extra: int = 5


@whole()
def dataclass_created(x):
    return Config(2.0).apply(x)


@whole()
def dataclass_default_factory(x):
    c = Config(2.0)
    c.items.append(x)
    return c.items[0] + 1, c, Config(1.0).items


@whole()
def dataclass_frozen_created(x):
    f = Frozen(3)
    return x * f.a + f.b


@whole()
def dataclass_frozen_returned(x):
    return x, Frozen(3)


@snippet(raises=FrozenInstanceError)
def dataclass_frozen_written(x):
    f = Frozen(3)
    f.a = 4
    return x


@whole()
def dataclass_compared(x):
    return x, Ordered(1) == Ordered(1), Ordered(1) == Ordered(2), Ordered(1) != Ordered(1)


@whole()
def dataclass_ordered(x):
    return x, Ordered(1) < Ordered(2), Ordered(1, 3) >= Ordered(1, 2)


@whole()
def dataclass_hashed(x):
    return x, hash(Frozen(1)) == hash(Frozen(1))


@whole()
def dataclass_as_key(x):
    return {Frozen(1): x}[Frozen(1)] + 1


@whole()
def dataclass_slots(x):
    s = Slotted(x)
    s.b += 1
    return s.a * s.b, s


@whole()
def dataclass_keyword_only(x):
    return KeywordOnly(a=x).a * 2


@whole()
def dataclass_post_init(x):
    return Post(x).b + Post(x, 4).b


@whole()
def dataclass_inherited(x):
    return Child(2.0, extra=4).apply(x)


@whole()
def dataclass_replace(x):
    return replace(Config(2.0), scale=3.0).apply(x)


@whole()
def dataclass_fields(x):
    return x, [f.name for f in fields(Config)]


@snippet()
def dataclass_asdict(x):
    return x, asdict(Frozen(1)), astuple(Frozen(1))


@whole()
def dataclass_is(x):
    return x, is_dataclass(Frozen), is_dataclass(Frozen(1)), is_dataclass(3)


@snippet()
def dataclass_repr(x):
    return x, repr(Frozen(1)), f"{Frozen(1)}"


@whole()
def dataclass_matched(x):
    match Ordered(1, 5):
        case Ordered(a, b=5):
            return x * a
    return None


@whole(lambda: (Config(2.0), tensor([1.0])), lambda: (Config(3.0), tensor([1.0])))
def dataclass_of_caller(c, x):
    c.bias = 4.0
    return c.apply(x), c


@whole(lambda: (Config(2.0), tensor([1.0])))
def dataclass_of_caller_replaced(c, x):
    return replace(c, bias=0.0).apply(x)


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Flag(enum.Flag):
    A = enum.auto()
    B = enum.auto()


class Text(enum.StrEnum):
    UP = "up"
    DOWN = enum.auto()


class Behaving(enum.Enum):
    DOUBLE = "double"
    TRIPLE = "triple"

    @property
    def factor(self):
        return 2 if self is Behaving.DOUBLE else 3

    def apply(self, x):
        return x * self.factor


@whole()
def enum_member(x):
    return x * Color.GREEN.value, Color.RED.name


@whole()
def enum_identity(x):
    c = Color.RED
    return x, c is Color.RED, c is Color.CRIMSON, c == Color.GREEN, c != Color.GREEN


@whole()
def enum_returned(x):
    return x, Color.RED, [Color.GREEN]


@whole()
def enum_by_value(x):
    return x, Color(2)


@whole()
def enum_by_name(x):
    return x, Color["GREEN"]


@whole()
def enum_iterated(x):
    return x, [c.name for c in Color], len(Color)


@whole()
def enum_in_dict(x):
    table = {Color.RED: 2, Color.GREEN: 3}
    return x * table[Color.GREEN]


@whole()
def enum_in_container(x):
    return x, Color.RED in (Color.RED, Color.GREEN), Color.RED in [Color.GREEN], Color.RED in {Color.RED}


@whole()
def enum_in_class(x):
    return x, Color.RED in Color


@whole(lambda: (tensor([1.0]), Color.RED), lambda: (tensor([1.0]), Color.GREEN))
def enum_of_caller(x, c):
    if c is Color.RED:
        return x + 1
    return x + c.value


@whole(lambda: (tensor([1.0]), Color.RED), lambda: (tensor([1.0]), Color.GREEN))
def enum_of_caller_compared(x, c):
    if c == Color.RED:
        return x + 1
    return x + 2


@whole(lambda: (tensor([1.0]), Color.RED), lambda: (tensor([1.0]), Color.GREEN))
def enum_matched(x, c):
    match c:
        case Color.RED:
            return x + 1
        case Color.GREEN:
            return x + 2


@whole()
def enum_method(x):
    return Behaving.DOUBLE.apply(x) + Behaving.TRIPLE.apply(x)


@snippet()
def enum_int(x):
    return x * Number.TWO, Number.ONE + 1, Number.ONE < Number.TWO, Number.ONE == 1


@whole()
def enum_flag(x):
    return x, (Flag.A | Flag.B) == Flag.A, bool(Flag.A & Flag.B), Flag.A in (Flag.A | Flag.B)


@snippet()
def enum_str(x):
    return x, Text.UP == "up", Text.DOWN + "!", f"{Text.UP}"


@snippet()
def enum_formatted(x):
    return x, f"{Color.RED}", str(Color.RED), repr(Color.RED)


@whole()
def enum_hash(x):
    return x, hash(Color.RED) == hash(Color.RED)


@snippet(raises=ValueError)
def enum_missing_value(x):
    return x, Color(9)


@snippet()
def deque_created(x):
    d = deque([x, x + 1])
    d.append(x + 2)
    d.appendleft(x - 1)
    return d.pop() + d.popleft(), len(d), d[0], list(d)


@snippet()
def deque_bounded(x):
    d = deque(maxlen=2)
    for i in range(4):
        d.append(x + i)
    return list(d), d.maxlen


@snippet()
def deque_returned(x):
    d = deque()
    d.append(x + 1)
    return d


@snippet(lambda: (deque([tensor([1.0]), tensor([2.0])]),))
def deque_of_caller(d):
    d.append(d[0] + 1)
    return d.popleft() * 2


@snippet()
def deque_rotate_extend(x):
    d = deque([1, 2, 3])
    d.rotate(1)
    d.extend([4, 5])
    d.extendleft([0])
    d.reverse()
    return x, d


@snippet()
def deque_iterated(x):
    d = deque([x, x * 2])
    return sum(d), [v for v in d], 3 in deque([3])


@whole()
def defaultdict_created(x):
    d = defaultdict(list)
    d["a"].append(x + 1)
    d["a"].append(x)
    d["b"].append(x)
    return d["a"][0] + d["b"][0], len(d), "c" in d, d.get("z")


@whole()
def defaultdict_of_int(x):
    d = defaultdict(int)
    for letter in "abca":
        d[letter] += 1
    return x * d["a"], dict(d)


@whole()
def defaultdict_returned(x):
    d = defaultdict(list)
    d["a"].append(x + 1)
    return d


@whole()
def defaultdict_with_lambda(x):
    d = defaultdict(lambda: x)
    return d[1] + 1, d[2] is d[1]


@snippet(lambda: (tensor([1.0]), defaultdict(list)))
def defaultdict_of_caller(x, d):
    d["a"].append(x + 1)
    return d["a"][0]


@whole()
def ordered_dict_created(x):
    d = OrderedDict()
    d["a"] = x
    d["b"] = x + 1
    d.move_to_end("a")
    return list(d), d["a"] + d["b"], list(d.values())


@whole()
def ordered_dict_returned(x):
    return OrderedDict([("a", x + 1), ("b", 2)])


@snippet(lambda: (OrderedDict([("a", tensor([1.0])), ("b", 2)]),))
def ordered_dict_of_caller(d):
    d.move_to_end("a")
    return d["a"] + 1, d.popitem(last=False)


@snippet(lambda: (OrderedDict([("a", tensor([1.0])), ("b", tensor([2.0]))]),))
def ordered_dict_of_caller_iterated(d):
    total = 0
    for key, value in d.items():
        total = total + value * len(key)
    return total


@whole()
def counter_created(x):
    c = Counter("abca")
    return x * c["a"], c["z"], len(c)


@snippet()
def counter_most_common(x):
    return x, Counter("abca").most_common(1), Counter("ab") + Counter("a")


@whole()
def counter_updated(x):
    c = Counter()
    c["a"] += 1
    c.update("ab")
    return x, c


@whole()
def chain_map(x):
    m = ChainMap({"a": x}, {"a": 1, "b": 2})
    return m["a"] + m["b"]


@whole()
def user_dict(x):
    d = UserDict()
    d["a"] = x
    return d["a"] + 1


@whole()
def user_list(x):
    items = UserList([x])
    items.append(x + 1)
    return items[1] + 1, len(items)


@snippet()
def simple_namespace(x):
    ns = SimpleNamespace(a=x, b=2)
    ns.c = 3
    return ns.a * ns.b + ns.c


@snippet(lambda: (SimpleNamespace(a=tensor([1.0]), b=2),), lambda: (SimpleNamespace(a=tensor([1.0]), b=3),))
def simple_namespace_of_caller(ns):
    ns.c = ns.a * ns.b
    return ns.c + 1


@snippet()
def mapping_proxy(x):
    return x * MappingProxyType({"a": 2})["a"]


class Movie(typing.TypedDict):
    name: str
    year: int


@snippet()
def typed_dict(x):
    return x, Movie(name="a", year=3)["year"]


class Words(dict):
    def total(self):
        return sum(self.values())


class Stack(list):
    def top(self):
        return self[-1]


@whole()
def dict_subclass(x):
    w = Words()
    w["a"] = x
    w["b"] = x + 1
    return w.total(), len(w), "a" in w


@snippet()
def list_subclass(x):
    s = Stack()
    s.append(x)
    s.append(x + 1)
    return s.top() * 2, len(s)


@snippet(lambda: (Words(a=tensor([1.0])),))
def dict_subclass_of_caller(w):
    return w["a"] + 1, w.total()


@snippet(lambda: (Stack([tensor([1.0])]),))
def list_subclass_of_caller(s):
    return s.top() * 2, s[0] + 1, [v + 1 for v in s]
