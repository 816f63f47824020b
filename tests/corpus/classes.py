"""User-defined classes: created inside, attributes, properties, inheritance, dunders, dataclasses, enums, named tuples."""

import enum
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from differential import snippet, whole

from minidynamo import tensor


class Point:
    dimensions = 2

    def __init__(self, x, y=1):
        self.x = x
        self.y = y

    @property
    def product(self):
        return self.x * self.y

    @product.setter
    def product(self, value):
        self.x = value

    def moved(self, by):
        return Point(self.x + by, self.y)


@whole()
def instance_created_inside(x):
    p = Point(x, 2)
    return p.x * p.y


@whole()
def instance_returned(x):
    return Point(x + 1, [x])


@whole()
def method_creates_instance(x):
    return Point(x).moved(2).moved(3).x


@whole()
def property_read(x):
    return Point(x, 3).product


@whole()
def property_write(x):
    p = Point(x)
    p.product = x * 5
    return p.x


@whole(lambda: (Point(tensor([1.0]), 3),), lambda: (Point(tensor([1.0]), 4),))
def property_of_argument(p):
    return p.product + 1


@whole()
def attribute_write_inside(x):
    p = Point(x)
    p.z = x * 2
    p.y += 1
    del p.x
    return p.z, p.y, hasattr(p, "x"), p


@whole(lambda: (Point(tensor([1.0]), 3),))
def attribute_write_on_argument(p):
    p.y = p.x * 2
    p.n = 5
    return p.y + p.n


@whole(lambda: (Point(tensor([1.0]), 3),))
def attribute_delete_on_argument(p):
    y = p.y
    del p.y
    return p.x * y


@whole(lambda: (Point(tensor([1.0]), 0),))
def counter_on_argument(p):
    p.y += 1
    return p.x + p.y


@whole(lambda: (Point(Point(tensor([1.0]), 2), 3),))
def attribute_chain(p):
    return p.x.x * p.x.y + p.y


@whole()
def class_statement_inside(x):
    class Local:
        k = 3

        def scale(self, y):
            return y * self.k

    return Local().scale(x)


class Base:
    def __init__(self, n):
        self.n = n

    def value(self, x):
        return x + self.n


class Derived(Base):
    def __init__(self, n):
        super().__init__(n * 2)
        self.m = n

    def value(self, x):
        return super().value(x) * self.m


@whole()
def super_init(x):
    return Derived(3).value(x)


class A:
    def who(self):
        return ["A"]


class B(A):
    def who(self):
        return ["B", *super().who()]


class C(A):
    def who(self):
        return ["C", *super().who()]


class D(B, C):
    def who(self):
        return ["D", *super().who()]


@whole()
def diamond(x):
    return x, D().who()


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(self.value + getattr(other, "value", other))

    def __radd__(self, other):
        return Number(other + self.value)

    def __mul__(self, other):
        return NotImplemented

    def __rmul__(self, other):
        return Number(other * self.value)

    def __iadd__(self, other):
        self.value = self.value + other
        return self

    def __neg__(self):
        return Number(-self.value)

    def __matmul__(self, other):
        return ("matmul", other)

    def __eq__(self, other):
        return isinstance(other, Number) and self.value is other.value

    def __lt__(self, other):
        return self.value < other.value

    def __hash__(self):
        return 7

    def __len__(self):
        return 4

    def __bool__(self):
        return False

    def __getitem__(self, key):
        return (self.value, key)

    def __setitem__(self, key, value):
        self.value = (key, value)

    def __delitem__(self, key):
        self.value = key

    def __contains__(self, item):
        return item == 3

    def __iter__(self):
        yield self.value
        yield 2

    def __call__(self, x, *, k=1):
        return x * k

    def __index__(self):
        return 1

    def __str__(self):
        return "a number"

    def __repr__(self):
        return "Number"

    def __format__(self, spec):
        return f"formatted {spec}"


@whole()
def dunder_add(x):
    n = Number(x)
    return (n + 1).value, (1 + n).value, (n + n).value


@whole()
def dunder_reflected(x):
    return (3 * Number(2)).value, x


@snippet(raises=TypeError)
def dunder_not_implemented(x):
    return Number(x) * 3


@whole()
def dunder_in_place(x):
    n = m = Number(x)
    n += 1
    return n.value, n is m


@snippet()
def dunder_unary_and_matmul(x):
    return (-Number(x)).value, Number(1) @ x


@snippet()
def dunder_compare(x):
    a, b = Number(1), Number(2)
    return x, a == a, a == b, a != b, a < b, sorted([b, a])[0] is a


@whole()
def dunder_hash_in_dict(x):
    a = Number(1)
    return {a: x}[a], Number(1) in {a: 1}


@whole()
def dunder_len_bool(x):
    n = Number(1)
    return x * len(n) if not n else x


@whole()
def dunder_items(x):
    n = Number(x)
    a = n[2]
    n["k"] = 5
    b = n.value
    del n[7]
    return a, b, n.value, n[1:2]


@whole()
def dunder_contains(x):
    return x, 3 in Number(1), 4 not in Number(1)


@snippet()
def dunder_iter(x):
    a, b = Number(x)
    return a * b, [*Number(1)]


@whole()
def dunder_call(x):
    return Number(1)(x, k=3)


@snippet()
def dunder_index(x):
    return x, [10, 20][Number(0)], range(5)[Number(0)]


@snippet()
def dunder_strings(x):
    n = Number(1)
    return x, str(n), repr(n), f"{n:>3}", f"{n!r}"


class Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        if name.startswith("get_"):
            return lambda: self.x * len(name)
        raise AttributeError(name)


@snippet()
def dunder_getattr(x):
    lazy = Lazy(x)
    return lazy.get_it(), hasattr(lazy, "other"), getattr(lazy, "other", 1)


class Watched:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, (name, value))

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


@snippet()
def dunder_setattr(x):
    w = Watched()
    w.a = x
    return w.a


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@whole()
def slots(x):
    s = Slotted(x)
    s.b = x * 2
    return s.a + s.b, s


class Ten:
    def __get__(self, instance, owner):
        return 10 if instance is None else 20

    def __set__(self, instance, value):
        instance.__dict__["set"] = value


class WithDescriptor:
    ten = Ten()


@snippet()
def descriptors(x):
    w = WithDescriptor()
    w.ten = x
    return WithDescriptor.ten, w.ten, w.set


class Singleton:
    def __new__(cls, x):
        self = super().__new__(cls)
        self.made = True
        return self

    def __init__(self, x):
        self.x = x


@snippet()
def dunder_new(x):
    s = Singleton(x)
    return s.x, s.made


class Registered:
    names = []

    def __init_subclass__(cls, **kwargs):
        cls.tag = kwargs.get("tag", "none")


@snippet()
def init_subclass(x):
    class Sub(Registered, tag="t"):
        pass

    return x, Sub.tag


class Shape(ABC):
    @abstractmethod
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


@snippet()
def abstract_class(x):
    return Square(x).area(), isinstance(Square(1), Shape)


@snippet(raises=TypeError)
def abstract_instantiation(x):
    return Shape()


@dataclass
class Config:
    scale: float
    shift: float = 1.0
    names: list = field(default_factory=list)

    def apply(self, x):
        return x * self.scale + self.shift


@dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: object = None


@whole()
def dataclass_created_inside(x):
    c = Config(2.0)
    c.names.append("a")
    return c.apply(x), c


@whole(lambda: (Config(2.0), tensor([1.0])), lambda: (Config(3.0, 4.0), tensor([1.0])))
def dataclass_argument(config, x):
    return config.apply(x)


@snippet()
def dataclass_frozen(x):
    f = Frozen(1, x)
    try:
        f.a = 2
    except AttributeError as error:
        return f.b, type(error).__name__
    return f


@snippet()
def dataclass_compare_replace(x):
    return x, Frozen(1) == Frozen(1), Frozen(1, 2) < Frozen(2, 1), replace(Frozen(1, 2), b=5)


Pair = namedtuple("Pair", ["left", "right"])


class Triple(NamedTuple):
    a: object
    b: int = 2
    c: int = 3

    def total(self):
        return self.a + self.b + self.c


@snippet()
def named_tuple_created_inside(x):
    p = Pair(x, right=x + 1)
    left, right = p
    return p.left * p[1], left - right, p


@snippet()
def named_tuple_methods(x):
    t = Triple(x)
    return t.total(), t._replace(b=5), t._asdict()


@snippet(lambda: (Pair(tensor([1.0]), 3),), lambda: (Pair(tensor([1.0]), 4),))
def named_tuple_argument(p):
    return p.left * p.right


class Color(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def bright(self):
        return self is Color.RED


class Mode(enum.IntFlag):
    A = 1
    B = 2


@snippet(lambda: (tensor([1.0]), Color.RED), lambda: (tensor([1.0]), Color.GREEN))
def enum_argument(x, color):
    if color is Color.RED:
        return x + 1
    return x - 1


@snippet()
def enum_use(x):
    return x * Color.GREEN.value, Color.RED.name, Color(2), [c for c in Color], Color["RED"].bright


@snippet()
def enum_flags(x):
    mode = Mode.A | Mode.B
    return x * int(mode), Mode.A in mode


class Meta(type):
    def __call__(cls, *args):
        instance = super().__call__(*args)
        instance.tagged = True
        return instance


class WithMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x


@snippet()
def metaclass_call(x):
    w = WithMeta(x + 1)
    return w.x, w.tagged


class MarkedMeta(type):
    def __instancecheck__(cls, value):
        return super().__instancecheck__(value) or getattr(value, "is_marked", False)

    def __subclasscheck__(cls, other):
        return super().__subclasscheck__(other) or other.__name__.startswith("Marked")


class Marked(metaclass=MarkedMeta):
    pass


class MarkedOtherwise:
    is_marked = True


@whole()
def metaclass_checks_by_super(x):
    values = (Marked(), MarkedOtherwise(), 3, x)
    return (
        [isinstance(value, Marked) for value in values],
        [issubclass(cls, Marked) for cls in (Marked, MarkedOtherwise, int)],
        type.__instancecheck__(int, True),
        type.__subclasscheck__(int, bool),
        type.__subclasscheck__(Marked, MarkedOtherwise),
        x + 1,
    )


@snippet()
def metaclass_checks_that_raise(x):
    found = []
    for check, first, second in (
        (type.__instancecheck__, 3, x),
        (type.__subclasscheck__, int, 3),
        (type.__instancecheck__, int, None),
    ):
        try:
            found.append(check(first, second))
        except TypeError as error:
            found.append(type(error))
    return found, x + 1


@whole()
def arguments_of_unions(x):
    union = int | str | None
    twice = union | int | (str | bytes)
    return union.__args__, twice.__args__, isinstance(3, union), isinstance(None, twice), union, (int | int) is int, x


class Items(list):
    def total(self):
        result = 0
        for item in self:
            result = result + item
        return result


@snippet()
def list_subclass(x):
    items = Items([x, x + 1])
    items.append(3)
    return items.total(), items


class Table(dict):
    def __missing__(self, key):
        return len(key)


@snippet()
def dict_subclass_missing(x):
    return x * Table(a=1)["abc"], Table(a=5)["a"]


@whole()
def class_attribute_write(x):
    Registered.names = [*Registered.names[:0], "n"]
    return x, Registered.names


@snippet()
def isinstance_of_user_classes(x):
    d = Derived(1)
    return x, isinstance(d, Base), type(d) is Derived, issubclass(Derived, Base), d.__class__.__name__


@snippet(raises=AttributeError)
def user_attribute_missing(x):
    return Point(x).nothing


@snippet(raises=ValueError)
def init_raises(x):
    class Strict:
        def __init__(self, n):
            raise ValueError(f"bad {n}")

    return Strict(3)


class Answers(type):
    def __subclasscheck__(cls, other):
        return other is int


class AnyNumber(metaclass=Answers):
    pass


@whole()
def issubclass_of_plain_classes(x):
    kinds = issubclass(bool, int), issubclass(KeyError, (IndexError, LookupError)), issubclass(int, (str, list))
    return x + sum(kinds), kinds


@snippet()
def issubclass_by_subclass_hook(x):
    x = x + 1
    return x, issubclass(int, AnyNumber), issubclass(bool, (str, AnyNumber)), issubclass(bool, (str, (AnyNumber, int)))


@snippet(raises=TypeError)
def issubclass_of_a_non_class(x):
    x = x + 1
    return x, issubclass(3, int)


class ByLength(type):
    asked = []

    def __instancecheck__(cls, value):
        ByLength.asked.append(type(value).__name__)
        return len(value) if isinstance(value, (str, list)) else 0

    def __subclasscheck__(cls, other):
        return other is int


class Long(metaclass=ByLength):
    pass


@whole()
def checks_of_a_metaclass(x):
    ByLength.asked.clear()
    answers = isinstance("ab", Long), isinstance([], Long), isinstance(3, (str, Long)), isinstance(Long(), Long)
    match [1]:
        case Long():
            kind = "long"
        case _:
            kind = "other"
    return answers, kind, issubclass(int, Long), issubclass(Long, Long), list(ByLength.asked), x


class Refusing(type):
    def __instancecheck__(cls, value):
        raise KeyError(value)


class Refused(metaclass=Refusing):
    pass


@snippet(raises=KeyError)
def check_of_a_metaclass_raises(x):
    return isinstance(3, Refused), x


class Scale:
    def __init__(self, by, log=None):
        self.by = by
        self.log = log if log is not None else []

    def __mul__(self, other):
        self.log.append("mul")
        return other * self.by

    def __add__(self, other):
        self.log.append("add")
        return NotImplemented

    def __imul__(self, other):
        self.log.append("imul")
        self.by = other
        return self

    def __pow__(self, other):
        return other.sum() ** self.by

    def __index__(self):
        self.log.append("index")
        return self.by


@whole()
def operator_of_an_object_with_a_tensor(x):
    log = []
    s = Scale(2, log)
    y = s * x
    z = s**x
    s *= x
    return y, z, s.by, log


@snippet()
def operator_of_an_object_declines_a_tensor(x):
    return Scale(2) + x


@snippet()
def operator_of_an_object_declines_a_tensor_and_is_caught(x):
    log = []
    try:
        return Scale(2, log) + x
    except TypeError:
        return log, x


@snippet()
def tensor_with_an_object_on_the_right(x):
    class Right:
        def __rmul__(self, other):
            return other + 1

    try:
        return x * Right()
    except TypeError as error:
        return str(error)


@whole()
def numbers_by_index(x):
    log = []
    one = Scale(1, log)
    return x, [10, 20][one], (1, 2)[one], range(5)[one], "text"[one], b"text"[one], log


@snippet()
def index_that_is_not_an_integer(x):
    try:
        return [1, 2][Scale("a")]
    except TypeError as error:
        return x, str(error)


class Whole(int):
    def __index__(self):
        return 0


@snippet()
def numbers_of_a_class_by_index(x):
    return x, [10, 20][Whole(1)], (1, 2)[Whole(1)], range(5)[Whole(1)], [1, 2][: Whole(1)]
