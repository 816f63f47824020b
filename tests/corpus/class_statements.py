"""Class statements in compiled code: the class is used there, returned, or visible to other code."""

import sys
from dataclasses import dataclass

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


class Outside:
    level = 2

    def __init__(self, x):
        self.x = x

    def scaled(self):
        return self.x * self.level

    def __add__(self, other):
        return self.x + other


class Mixed:
    def extra(self):
        return 7

    def scaled(self):
        return super().scaled() + 1


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    pass


SET_NAME_CALLS = []
REGISTRY = {}


class Recording:
    def __set_name__(self, owner, name):
        self.name = name
        SET_NAME_CALLS.append((owner.__name__, name, hasattr(owner, "three")))


OUTSIDE_NAMED = Recording()


class Marking(type):
    def __new__(meta, name, bases, names, **options):
        made = super().__new__(meta, name, bases, dict(names))
        made.mark = name.lower() + str(len(names))
        return made

    def __init__(cls, name, bases, names):
        super().__init__(name, bases, names)
        cls.inited = True

    def __getitem__(cls, at):
        return cls.mark, at


class Registrar(type):
    def __init__(cls, name, bases, names):
        REGISTRY[name] = cls


class Preparing(type):
    @classmethod
    def __prepare__(meta, name, bases):
        return {"first": 1}


class Registering:
    names = []

    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        Registering.names.append((cls.__name__, sorted(options)))


@whole()
def used_and_dropped(x):
    class Local:
        k = 3

        def scale(self, y):
            return y * self.k

    return Local().scale(x)


@whole()
def returned(x):
    class Local:
        """Its text."""

        k = 3
        items = [1, 2]

        def scale(self, y=2, *, z=(1, 2)):
            return y * self.k

    return Local, Local.__name__, Local.__qualname__, Local.__module__, Local.__doc__, Local.k


@whole()
def object_of_it_returned(x):
    class Local:
        def __init__(self, y):
            self.y = y

    return Local(x * 2)


@whole()
def class_and_objects_are_related(x):
    class Local:
        pass

    one, other = Local(), Local()
    one.x = x + 1
    return one, other, Local, type(one) is Local, isinstance(other, Local), one.__class__, isinstance(x, Local)


@whole()
def new_class_at_each_call(x):
    def make():
        class Local:
            pass

        return Local

    one, other = make(), make()
    return one is other, one == other, one, other, isinstance(one(), other), x + 1


@whole()
def with_init_and_property(x):
    class Local:
        def __init__(self, x):
            self._x = x

        @property
        def doubled(self):
            return self._x * 2

        @doubled.setter
        def doubled(self, value):
            self._x = value / 2

        @staticmethod
        def three():
            return 3

        @classmethod
        def make(cls, x):
            return cls(x + 1)

    one = Local.make(x)
    one.doubled = one.doubled + 1
    return one.doubled * Local.three() * one.three()


@whole()
def with_property_returned(x):
    class Local:
        @property
        def one(self):
            return 1

        @one.setter
        def one(self, value):
            raise AttributeError

        @staticmethod
        def two():
            return 2

        @classmethod
        def three(cls):
            return cls

        four = property(lambda self: 4)

    return Local, Local().one, Local().two(), Local().three(), Local().four, x * 2


@whole()
def super_of_an_existing_class(x):
    class Local(Outside):
        def __init__(self, x):
            super().__init__(x + 1)

        def scaled(self):
            return super().scaled() - 1

    made = Local(x)
    return made.scaled(), made.level, isinstance(made, Outside), issubclass(Local, Outside), made + 1


@whole()
def subclass_returned(x):
    class Local(Outside):
        level = 5

        def scaled(self):
            return super().scaled() - 1

    return Local, Local(x), Local.__bases__


@whole()
def two_existing_bases(x):
    class Local(Mixed, Outside):
        def scaled(self):
            return super().scaled() * 2

    made = Local(x)
    return made.scaled(), made.extra(), made.level, Local


@whole()
def diamond(x):
    class A:
        def f(self, y):
            return y + 1

    class B(A):
        def f(self, y):
            return super().f(y) * 2

    class C(A):
        def f(self, y):
            return super().f(y) * 3

    class D(B, C):
        def f(self, y):
            return super().f(y) - 1

    return D().f(x), D.__bases__, issubclass(D, A), D


@whole()
def closure_over_the_function(x):
    scale = 4

    class Local:
        local = scale + 1

        def apply(self, y):
            return y * scale * self.local

    scale = 5
    return Local().apply(x), Local


@whole()
def names_of_the_body(x):
    y = 1

    class Local:
        y = y + 1 if False else 5
        z = y * 2
        w = [i for i in range(3)]
        del y
        if z > 3:
            big = True
        for i in range(2):
            last = i
        number: int = 3
        text: "str"

    return Local, Local.z, Local.w, Local.big, Local.last, hasattr(Local, "y"), x + y


@snippet(raises=NameError)
def missing_name_in_the_body(x):
    class Local:
        y = nowhere  # noqa: F821

    return Local


@snippet(raises=ZeroDivisionError)
def error_in_the_body(x):
    class Local:
        y = 1 // 0

    return Local


@whole()
def error_in_the_body_is_caught(x):
    try:

        class Local:
            seen = 1
            raise ValueError("no class")

    except ValueError as error:
        return str(error), x + 1


@whole()
def operators(x):
    class Vector:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            return Vector(self.x + other.x)

        def __mul__(self, number):
            return Vector(self.x * number)

        def __eq__(self, other):
            return self is other

        def __len__(self):
            return 3

        def __getitem__(self, at):
            return self.x[at]

        def __call__(self, y):
            return self.x + y

        def __bool__(self):
            return False

    made = Vector(x) + Vector(x) * 3
    return made(1), len(made), made[1], made == made, 1 if made else 2, Vector.__hash__


@whole()
def user_attribute_lookup(x):
    class Local:
        def __getattr__(self, name):
            return name.upper()

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value + 1)

    made = Local()
    made.n = 1
    return made.n, made.other, made, x


@whole()
def user_new(x):
    class Local:
        def __new__(cls, x):
            made = super().__new__(cls)
            made.x = x
            return made

    return Local(x).x, Local


@whole()
def exception_class(x):
    class Wrong(ValueError):
        pass

    try:
        raise Wrong("text", 1)
    except Wrong as error:
        return error.args, x + 1, isinstance(error, ValueError), Wrong


@snippet(raises=KeyError)
def exception_class_leaves(x):
    class Wrong(KeyError):
        pass

    raise Wrong("text")


@whole()
def subclass_of_list_and_dict(x):
    class Row(list):
        def total(self):
            return self[0] + self[1]

    class Table(dict):
        def total(self):
            return self["a"]

    row = Row([x, 2])
    table = Table()
    table["a"] = x * 3
    return row.total() + table.total(), row, table


@whole()
def attributes_of_the_class_change(x):
    class Local:
        count = 0

        def __init__(self):
            Local.count += 1

    for _ in range(3):
        Local()
    Local.more = [x]
    Local.more.append(x + 1)
    del Local.count
    Local.count = 9
    setattr(Local, "late", lambda self: 3)
    return Local.count, Local, Local().late(), hasattr(Local, "nothing")


@whole()
def decorated_class(x):
    def mark(cls):
        cls.marked = cls.__name__ + "!"
        return cls

    @mark
    @mark
    class Local:
        pass

    return Local.marked, Local, x


@snippet()
def dataclass_inside(x):
    @dataclass
    class Point:
        x: object
        n: int = 3

    point = Point(x)
    return point.x * point.n, Point.__match_args__, Point(2) == Point(2, 4)


@whole()
def with_a_metaclass(x):
    class Local(metaclass=Meta):
        k = 2

    class Other(WithMeta):
        k = 3

    return x * Local.k * Other.k, type(Local), Local, Other


@whole(state=())
def with_init_subclass(x):
    Registering.names.clear()

    class Local(Registering, flag=1):
        pass

    class Other(Registering):
        pass

    return list(Registering.names), Local, Other, x


@whole()
def with_set_name(x):
    class Named:
        def __set_name__(self, owner, name):
            self.name = name

    class Local:
        one = Named()

    return Local.one.name, x


@whole()
def with_slots(x):
    class Local:
        __slots__ = ("a",)

    made = Local()
    made.a = x
    return made.a, Local.__slots__


@whole()
def with_slots_and_more(x):
    class Base:
        __slots__ = "one", "__own"

        def __init__(self, one):
            self.one = one
            self.__own = 3

        def own(self):
            return self.__own

    class Local(Base):
        level = 2

    made = Local(x)
    made.free = 5
    Local.level = 4
    first = made.own(), made.one, made.free, made.level
    other = Base(x + 1)
    del other.one
    return first, made, Local, hasattr(other, "one"), hasattr(other, "free"), Base.__slots__, other


@snippet()
def slot_descriptor_returned(x):
    class Local:
        __slots__ = ("a",)

    made = Local()
    made.a = x
    return Local.a.__get__(made), Local.a


@snippet(raises=AttributeError)
def attribute_without_a_slot(x):
    class Local:
        __slots__ = ("a",)

    made = Local()
    made.b = x
    return made


@snippet(raises=ValueError)
def slot_that_conflicts_with_an_attribute(x):
    class Local:
        __slots__ = ("a",)
        a = 1

    return Local, x


@whole(state=("SET_NAME_CALLS",))
def set_name_calls_in_order(x):
    SET_NAME_CALLS.clear()

    class Local:
        one = OUTSIDE_NAMED
        two = Recording()
        three = 3

    Local.late = Recording()
    return Local.one.name, Local.two.name, hasattr(Local.late, "name"), Local, list(SET_NAME_CALLS), x


@snippet(raises=RuntimeError if sys.version_info < (3, 12) else ValueError)
def set_name_raises(x):
    class Refusing:
        def __set_name__(self, owner, name):
            raise ValueError(name)

    class Local:
        one = Refusing()

    return Local, x


@whole()
def metaclass_with_new_and_init(x):
    class Local(metaclass=Marking):
        k = 2

        def f(self):
            return super().__init__(), __class__

    class Other(Local):
        def f(self):
            return super().f()[1]

    made = Other()
    return x * Local.k, Local.mark, Other.mark, type(Other), made.f() is Local, Local.inited, Other, Local[3], made


@snippet(raises=TypeError)
def two_metaclasses(x):
    class Local(WithMeta, metaclass=Marking):
        pass

    return Local, x


@whole()
def derived_metaclass_of_a_base(x):
    class Local(Outside, WithMeta):
        pass

    class Further(Local, metaclass=type):
        pass

    return Local, type(Further), Further(x).scaled(), isinstance(Further, Meta), Further.level


@whole(state=("REGISTRY",))
def registering_metaclass(x):
    REGISTRY.clear()

    class Local(metaclass=Registrar):
        pass

    class Other(Local):
        pass

    return list(REGISTRY), REGISTRY["Other"] is Other, x


@whole()
def singleton_by_a_traced_metaclass(x):
    class Single(type):
        def __call__(cls, *args):
            if not hasattr(cls, "only"):
                cls.only = super().__call__(*args)
            return cls.only

    class Local(metaclass=Single):
        def __init__(self, x):
            self.x = x

    return Local(x) is Local(x + 1), Local(x).x, x


@snippet()
def metaclass_with_prepare(x):
    class Local(metaclass=Preparing):
        k = 2

    return Local.k, Local.first, x


@snippet(state=("REGISTRY",))
def metaclass_that_is_a_function(x):
    REGISTRY.clear()

    class Local(metaclass=lambda name, bases, names: (name, bases, sorted(names))):
        k = 2

    return Local, x


@snippet()
def with_finalizer(x):
    seen = []

    class Local:
        def __del__(self):
            seen.append(1)

    Local()
    return seen, x


@whole()
def instance_of_another_traced_class_as_attribute(x):
    class Descriptor:
        def __get__(self, instance, owner=None):
            return 5 if instance is None else 6

        def __set__(self, instance, value):
            instance.__dict__["hidden"] = value

    class Local:
        at = Descriptor()

    made = Local()
    made.at = 3
    return Local.at, made.at, made.hidden, made, x


@whole()
def method_kept(x):
    class Local:
        def own(self):
            return __class__

        def plain(self):
            return 1

    made = Local()
    return made.own, Local.own, Local.plain, made.own() is Local, x


@whole()
def in_a_list_and_in_itself(x):
    class Node:
        made = []

        def __init__(self, value):
            self.value = value
            self.made.append(self)
            Node.last = self

    Node.self = Node
    Node(x)
    Node(x + 1)
    return Node, Node.made[0].value, [Node, Node]


@snippet()
def broken_in_the_body(x):
    class Local:
        y = x + 1
        minidynamo._dynamo.graph_break()
        z = y * 2

    return Local.z, Local


@snippet()
def kept_over_a_break(x):
    class Local:
        def f(self, y):
            return super().__init__() or y * 2

    made = Local()
    minidynamo._dynamo.graph_break()
    return made.f(x), isinstance(made, Local), Local


@snippet()
def break_in_a_method(x):
    class Local(Outside):
        def scaled(self):
            y = super().scaled()
            minidynamo._dynamo.graph_break()
            return y + super().scaled()

    return Local(x).scaled()


@snippet()
def as_a_key(x):
    class Local:
        pass

    table = {Local: 1, Outside: 2}
    return table[Local], {Local, Outside} == {Outside, Local}, x


@whole()
def created_by_type(x):
    made = type("Made", (Outside,), {"extra": 5, "twice": lambda self: self.x * 2})
    return made(x).scaled() * made.extra, made(x).twice(), made.__name__, made.__module__


@snippet(raises=TypeError)
def inconsistent_order_of_bases(x):
    class A:
        pass

    class B(A):
        pass

    class C(A, B):
        pass

    return C


@snippet(raises=TypeError)
def base_that_cannot_be_subclassed(x):
    class Local(bool):
        pass

    return Local


@snippet()
def base_that_is_not_a_class(x):
    class Local(list[int]):
        pass

    return Local.__orig_bases__, x


@snippet()
def as_text(x):
    class Local:
        pass

    return f"{Local}" == repr(Local), f"{Local!r:>3}", f"{Local.__name__} {[Local]}", str(Local), "%s" % Local, x


@snippet()
def printed(x):
    class Local:
        print("in the body")

        def __repr__(self):
            return "Local!"

    print(Local())
    return Local.__name__, x


@snippet()
def subclasses_seen(x):
    class Local(Outside):
        pass

    # Of others, some may die meanwhile.
    found = [each.__name__ for each in Outside.__subclasses__()[-1:]]
    return found, Local, x


def two_levels():
    return tensor([1.0, 2.0]), 3


@whole(two_levels, lambda: (tensor([4.0]), 5))
def parametrised(x, n):
    class Layer:
        size = n

        def __call__(self, y):
            return y * self.size

    return Layer()(x), Layer


@whole()
def matched(x):
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    match Point(1, x):
        case Point(1, b):
            return b * 2
    return x


@whole()
def nested_classes(x):
    class Outer:
        class Inner:
            def value(self):
                return 4

        def make(self):
            return self.Inner()

    return Outer().make().value() * x, Outer.Inner.__qualname__, Outer


@whole()
def cached_in_a_list_of_the_caller_and_compared(x):
    kept = []

    class Local:
        pass

    kept.append(Local)
    kept.append(Local())
    return kept, kept[0] is Local, x


class Base:
    found = {}

    def __init_subclass__(cls, /, name=None, scale=1, **options):
        super().__init_subclass__(**options)
        cls.scale = scale
        Base.found[name or cls.__name__] = cls.__bases__[0].__name__

    def apply(self, x):
        return x * self.scale


class SlottedBase:
    __slots__ = ("value",)
    calls = []

    def __init_subclass__(cls):
        SlottedBase.calls.append((cls.__name__, cls.__qualname__, hasattr(cls, "kind")))


class DictBase(dict):
    def __init_subclass__(cls, default=None):
        cls.default = default


class TakingOptions(type):
    def __new__(meta, name, bases, names, *, size=0, **options):
        made = super().__new__(meta, name, bases, names, **options)
        made.size = size
        return made

    def __init__(cls, name, bases, names, **options):
        super().__init__(name, bases, names)
        cls.options = sorted(options)


@whole()
def keywords_for_the_base(x):
    Base.found.clear()

    class Local(Base, name="own", scale=3):
        pass

    class Further(Local, scale=x):
        pass

    return Local().apply(x), Further().apply(x), Base.found, Local, Further


@whole()
def keywords_for_the_base_alone(x):
    class Local(DictBase, default=3):
        pass

    class Other(DictBase):
        kind = 1

    made = Local(a=1)
    return x * Local.default, Other.default, made["a"], len(made), Local, Other


@whole()
def init_subclass_of_slotted_classes(x):
    SlottedBase.calls.clear()

    class Local(SlottedBase):
        __slots__ = ("other",)
        kind = 2

    made = Local()
    made.value, made.other = x, 2
    return made.value * made.other, list(SlottedBase.calls), Local


@whole()
def init_subclass_of_a_traced_base(x):
    calls = []

    class Above:
        def __init_subclass__(cls, **options):
            calls.append((cls.__name__, options))

    class Below(Above, depth=1):
        pass

    class Deeper(Below):
        pass

    return x, calls, Above, Below, Deeper


@whole()
def init_subclass_of_two_bases(x):
    order = []

    class One:
        def __init_subclass__(cls, **options):
            order.append(("one", cls.__name__))
            super().__init_subclass__(**options)

    class Two:
        def __init_subclass__(cls, **options):
            order.append(("two", cls.__name__))
            super().__init_subclass__(**options)

    class Both(One, Two):
        pass

    return x, order, Both


@whole()
def keywords_for_the_metaclass(x):
    class Local(metaclass=TakingOptions, size=3):
        pass

    return x * Local.size, Local.options, type(Local), Local


@snippet()
def unexpected_class_keyword(x):
    try:

        class Local(Outside, unknown=1):
            pass

    except TypeError as error:
        return x, str(error)


@snippet()
def init_subclass_raises(x):
    class Strict:
        def __init_subclass__(cls):
            if not hasattr(cls, "name"):
                raise ValueError(cls.__name__)

    class Good(Strict):
        name = "good"

    try:

        class Bad(Strict):
            pass

    except ValueError as error:
        return x, Good.name, error.args


@snippet()
def init_subclass_with_a_break(x):
    class Breaking:
        def __init_subclass__(cls):
            minidynamo._dynamo.graph_break()
            cls.called = True

    class Local(Breaking):
        pass

    return x, Local.called


@whole()
def init_subclass_of_a_class_created_by_type(x):
    Local = type("Local", (DictBase,), {"kind": 1})
    return x, Local.default, Local.kind, Local


def with_attributes_set_again(cls):
    for name, value in list(vars(cls).items()):
        if not name.startswith("__"):
            setattr(cls, name, value)
    minidynamo._dynamo.graph_break()
    return cls


@snippet()
def decorated_class_with_an_object_with_set_name(x):
    class Named:
        def __set_name__(self, owner, name):
            self.name = name + "!"

        def __get__(self, instance, owner):
            return self

    @with_attributes_set_again
    class Holder:
        field = Named()

    name = Holder.field.name
    minidynamo._dynamo.graph_break()
    return x + len(name), name
