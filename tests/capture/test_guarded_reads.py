"""A change to something that a capture has read is noticed: each change is made between two calls of a compiled function.

Each case has a function and a change; the calls before and after it must return what eager Python returns.
"""

import abc
import collections
import dataclasses
import datetime
import enum
import functools
import inspect
import sys
import threading
import types
import typing

import pytest

import minidynamo
from minidynamo import tensor

CASES = {}


def case(make):
    """Registers make(), which returns (function, change) with new classes each time."""
    CASES[make.__name__] = make
    return make


def the_class(**namespace):
    return type("Thing", (), namespace)


def set_on(owner, name, value):
    return lambda: setattr(owner, name, value)


@case
def members_of_a_protocol():
    @typing.runtime_checkable
    class Sized(typing.Protocol):
        size: int

        def grow(self): ...

    cls = the_class(grow=lambda self: 1)
    return lambda x: x + isinstance(cls(), Sized), set_on(cls, "size", 4)


@case
def annotations_of_a_class():
    cls = the_class()
    cls.__annotations__ = {"a": int}
    return lambda x: (x, list(cls.__annotations__)), set_on(cls, "__annotations__", {"b": int})


@case
def names_of_a_class():
    cls = the_class(a=1)
    return lambda x: (x, [name for name in vars(cls) if not name.startswith("_")]), set_on(cls, "b", 2)


@case
def a_signature():
    def described(a, b=2): ...

    return lambda x: (x, str(inspect.signature(described))), set_on(described, "__defaults__", (3,))


@case
def name_of_a_class():
    cls = the_class()
    return lambda x: (x + 1, cls.__name__, type(cls()).__name__), set_on(cls, "__name__", "Other")


@case
def bases_of_a_class():
    base, other = the_class(), the_class()
    cls = type("Child", (base,), {})
    return lambda x: (x, cls.__bases__[0] is base), set_on(cls, "__bases__", (other,))


@case
def name_of_a_function():
    def named():
        pass

    return lambda x: (x, named.__name__), set_on(named, "__name__", "other")


@case
def equality_of_a_class():
    cls = the_class()
    one, other = cls(), cls()
    function = lambda x: (x, one == other, one != other, one in [other], [one] == [other], (other,).count(one))
    return function, set_on(cls, "__eq__", lambda self, other: True)


@case
def inequality_of_a_class():
    cls = the_class()
    one, other = cls(), cls()
    return lambda x: (x, one == other, one != other), set_on(cls, "__ne__", lambda self, other: "unequal")


@case
def equality_of_a_metaclass():
    meta = type("Meta", (type,), {})
    one, other = meta("One", (), {}), meta("Other", (), {})
    return lambda x: (x, one == other, one in [other]), set_on(meta, "__eq__", lambda self, other: True)


@case
def attributes_of_a_metaclass():
    meta = type("Meta", (type,), {})
    cls = meta("Thing", (), {"kept": 1})
    return lambda x: (x, cls.kept, hasattr(cls, "other")), set_on(meta, "__getattribute__", lambda self, name: name)


@case
def truth_of_a_class():
    meta = type("Meta", (type,), {})
    cls = meta("Thing", (), {})
    return lambda x: (x, bool(cls), not cls), set_on(meta, "__len__", lambda self: 0)


@case
def truth_of_a_class_by_a_static_method():
    meta = type("Meta", (type,), {})
    cls = meta("Thing", (), {})
    return lambda x: (x, 1 if cls else 2), set_on(meta, "__len__", staticmethod(lambda: 0))


@case
def way_back_over_a_named_tuple():
    cls = pair()
    return lambda x: (x, list(reversed(cls(1, 2)))), set_on(cls, "__reversed__", lambda self: iter([3]))


@case
def which_nan_it_is():
    nan, items = float("nan"), []
    items.append(nan)
    return lambda x: (x, nan in items, [nan] == items, items.count(nan)), lambda: items.__setitem__(0, float("nan"))


@case
def which_nan_is_in_a_tuple():
    nan, items = float("nan"), []
    items.append((nan, 1))
    return lambda x: (x, (nan, 1) in items), lambda: items.__setitem__(0, (float("nan"), 1))


@case
def defaults_of_a_function():
    def function(a=1):
        pass

    return lambda x: (x, function.__defaults__), set_on(function, "__defaults__", (2,))


@case
def annotations_of_a_function():
    def function(a: int):
        pass

    return lambda x: (x, "b" in function.__annotations__), lambda: function.__annotations__.update(b=int)


def pair():
    return collections.namedtuple("Pair", "left right")


@case
def field_of_a_named_tuple():
    cls = pair()
    return lambda x: cls(x, 2).left, set_on(cls, "left", property(lambda self: 7))


@case
def iteration_of_a_named_tuple():
    cls = pair()
    return lambda x: [v for v in cls(x, 2)], set_on(cls, "__iter__", lambda self: iter([3]))


@case
def length_of_a_named_tuple():
    cls = pair()
    return lambda x: (x, len(cls(1, 2))), set_on(cls, "__len__", lambda self: 9)


@case
def items_of_a_named_tuple():
    cls = pair()
    return lambda x: (x, cls(1, 2)[0]), set_on(cls, "__getitem__", lambda self, at: "patched")


@case
def equality_of_a_named_tuple():
    cls = pair()
    return lambda x: (x, cls(1, 2) == (1, 2)), set_on(cls, "__eq__", lambda self, other: "patched")


@case
def order_of_a_named_tuple():
    cls = pair()
    return lambda x: (x, cls(1, 2) < cls(1, 3)), set_on(cls, "__lt__", lambda self, other: False)


@case
def sum_of_named_tuples():
    cls = pair()
    return lambda x: (x, cls(1, 2) + (3,)), set_on(cls, "__add__", lambda self, other: "patched")


@case
def truth_of_a_named_tuple():
    cls = pair()
    return lambda x: x + 1 if cls(1, 2) else x, set_on(cls, "__bool__", lambda self: False)


@case
def membership_in_a_named_tuple():
    cls = pair()
    return lambda x: (x, 2 in cls(1, 2)), set_on(cls, "__contains__", lambda self, item: False)


@case
def named_tuple_of_the_caller():
    cls = pair()
    held = cls(tensor([1.0]), 2)

    def change():
        cls.__iter__ = lambda self: iter([tensor([5.0]), 6])

    def function(x):
        a, b = held
        return x + a, b

    return function, change


@case
def making_of_an_object():
    cls = the_class()
    other = the_class()
    return lambda x: (x, isinstance(cls(), other)), set_on(cls, "__new__", lambda cls: other())


@case
def making_of_a_named_tuple():
    cls = pair()
    return lambda x: cls(x, 1)[1], set_on(cls, "__new__", lambda cls, a, b: tuple.__new__(cls, (a, 8)))


@case
def a_class_gets_an_init():
    cls = the_class()

    def change():
        cls.__init__ = lambda self: setattr(self, "n", 5)

    return lambda x: (x, hasattr(cls(), "n")), change


@case
def value_of_an_enum():
    Color = enum.Enum("Color", "RED GREEN")
    return lambda x: x * Color.RED.value, lambda: setattr(Color.RED, "_value_", 9)


@case
def method_of_an_enum():
    class Mode(enum.Enum):
        ONE = 1

        def scaled(self, x):
            return x * self.value

    return lambda x: Mode.ONE.scaled(x), set_on(Mode, "scaled", lambda self, x: x * 4)


@case
def hash_of_a_key():
    Color = enum.Enum("Color", "RED GREEN")
    table = {Color.RED: 2}

    def change():
        table[Color.RED] = 3

    return lambda x: x * table[Color.RED], change


@case
def keys_of_a_table_of_classes():
    table = {int: 2, str: 3}

    def change():
        del table[int]
        table[float] = 5
        table[int] = 7

    return lambda x: (x * table[int], list(table)), change


@case
def equality_of_a_key():
    cls = the_class()
    key = cls()
    table = {key: 2}

    def change():
        cls.__eq__ = lambda self, other: True
        cls.__hash__ = lambda self: 1

    return lambda x: (x, cls in {cls: 1}, key in [key, 3], len(table)), change


@case
def inequality_from_equality():
    cls = the_class(__eq__=lambda self, other: True)
    return lambda x: (x, cls() != cls()), set_on(cls, "__ne__", lambda self, other: "patched")


@case
def getter_of_a_descriptor():
    descriptor = the_class(__get__=lambda self, instance, owner: 3)
    cls = the_class(field=descriptor())
    return lambda x: (x, cls().field, cls.field), set_on(descriptor, "__get__", lambda self, instance, owner: 4)


@case
def a_descriptor_becomes_one_of_data():
    descriptor = the_class(__get__=lambda self, instance, owner: 3)
    cls = the_class(field=descriptor())
    held = cls()
    held.__dict__["field"] = 1
    return lambda x: (x, held.field), set_on(descriptor, "__set__", lambda self, instance, value: None)


@case
def setter_of_a_descriptor():
    def assign(by):
        return lambda self, instance, value: instance.__setattr__("kept", value + by)

    descriptor = the_class(__get__=lambda self, instance, owner: 3, __set__=assign(0))
    cls = the_class(field=descriptor())

    def function(x):
        made = cls()
        made.field = 5
        return x, made.kept

    return function, set_on(descriptor, "__set__", assign(2))


@case
def getattr_added():
    cls = the_class()
    held = cls()
    return lambda x: (x, hasattr(held, "n")), set_on(cls, "__getattr__", lambda self, name: 3)


@case
def getattr_replaced():
    cls = the_class(__getattr__=lambda self, name: 3)
    held = cls()
    return lambda x: (x, held.n, getattr(held, "m", 1)), set_on(cls, "__getattr__", lambda self, name: 4)


@case
def getattribute_replaced():
    cls = the_class(__getattribute__=lambda self, name: 3)
    held = cls()
    return lambda x: (x, held.n), set_on(cls, "__getattribute__", lambda self, name: 4)


@case
def call_of_a_metaclass():
    meta = type("Meta", (type,), {"__call__": lambda cls: 3})
    cls = meta("Made", (), {})
    return lambda x: (x, cls()), set_on(meta, "__call__", lambda cls: 4)


@case
def a_metaclass_gets_a_call():
    meta = type("Meta", (type,), {})
    cls = meta("Made", (), {"n": 2})
    return lambda x: x * cls().n, set_on(meta, "__call__", lambda cls: types.SimpleNamespace(n=5))


@case
def length_of_a_class():
    meta = type("Meta", (type,), {"__len__": lambda cls: 3})
    cls = meta("Made", (), {})
    return lambda x: (x, len(cls)), set_on(meta, "__len__", lambda cls: 4)


@case
def keywords_of_a_partial():
    def scaled(x, by):
        return x * by

    held = functools.partial(scaled, by=2)
    return lambda x: held(x), lambda: held.keywords.update(by=5)


@case
def elements_of_a_set():
    held = {1, 2}
    return lambda x: x * len(held) if 2 in held else x, lambda: held.discard(2)


@case
def elements_of_a_set_iterated():
    held = {1, 2}
    return lambda x: sum(held) * x, lambda: held.add(8)


@case
def registration_with_an_abstract_class():
    base = abc.ABCMeta("Base", (), {})
    cls = the_class()
    return lambda x: x + 1 if isinstance(cls(), base) else x, lambda: base.register(cls)


@case
def loaded_modules():
    module = types.ModuleType("some_module_of_a_test")
    module.n = 2
    sys.modules["some_module_of_a_test"] = module
    other = types.ModuleType("some_module_of_a_test")
    other.n = 3

    def function(x):
        import some_module_of_a_test

        return x * some_module_of_a_test.n

    return function, lambda: sys.modules.__setitem__("some_module_of_a_test", other)


@case
def item_of_a_dict_subclass():
    cls = type("Words", (dict,), {})

    def function(x):
        made = cls()
        made["a"] = 2
        return x * made["a"]

    return function, set_on(cls, "__getitem__", lambda self, key: 7)


@case
def store_in_a_dict_subclass():
    cls = type("Words", (dict,), {})

    def function(x):
        made = cls()
        made["a"] = 2
        return x, len(made), "a" in made

    return function, set_on(cls, "__setitem__", lambda self, key, value: None)


@case
def iteration_of_a_dict_subclass():
    cls = type("Words", (dict,), {})
    return lambda x: (x, [key for key in cls(a=1)]), set_on(cls, "__iter__", lambda self: iter("xyz"))


@case
def missing_item_of_a_dict_subclass():
    cls = type("Words", (dict,), {"__missing__": lambda self, key: 2})
    return lambda x: x * cls()["a"], set_on(cls, "__missing__", lambda self, key: 3)


@case
def init_of_a_dict_subclass():
    cls = type("Words", (dict,), {})
    return lambda x: (x, len(cls(a=1))), set_on(cls, "__init__", lambda self, **words: None)


@case
def factory_of_a_defaultdict():
    state = types.SimpleNamespace(make=lambda: 2)
    return lambda x: x * collections.defaultdict(state.make)["a"], set_on(state, "make", lambda: 3)


@case
def next_of_an_iterator():
    def step(by):
        def advance(self):
            self.n += by
            if self.n > 4:
                raise StopIteration
            return self.n

        return advance

    cls = the_class(__iter__=lambda self: self, __next__=step(1), n=0)
    return lambda x: (x, list(cls()), sum(cls()), list(zip(cls(), "abc"))), set_on(cls, "__next__", step(2))


@case
def text_of_an_object():
    cls = the_class(__str__=lambda self: "one", __repr__=lambda self: "two", __format__=lambda self, spec: "three")

    def change():
        cls.__str__ = lambda self: "uno"
        cls.__repr__ = lambda self: "due"
        cls.__format__ = lambda self, spec: "tre"

    return lambda x: (x, str(cls()), repr(cls()), f"{cls()}", f"{cls()!r}", repr([cls()])), change


@case
def an_object_gets_a_text():
    cls = the_class(__repr__=lambda self: "two")
    return lambda x: (x, str(cls()), f"{cls()}"), set_on(cls, "__str__", lambda self: "one")


@case
def a_name_that_a_module_lacks():
    module = types.ModuleType("some")
    return lambda x: (x, hasattr(module, "a"), getattr(module, "a", 1)), set_on(module, "a", 2)


@case
def a_module_gets_a_way_to_make_names():
    module = types.ModuleType("some")
    return lambda x: (x, hasattr(module, "a")), set_on(module, "__getattr__", lambda name: 3)


@case
def the_names_that_a_module_makes():
    module = types.ModuleType("some")
    module.__getattr__ = lambda name: name + "1"
    return lambda x: (x, module.a), set_on(module, "__getattr__", lambda name: name + "2")


@case
def a_subclass_of_module():
    module = type("Own", (types.ModuleType,), {"a": 1})("own")
    return lambda x: (x, module.a, hasattr(module, "b")), set_on(module, "b", 2)


@case
def a_subclass_of_module_gets_a_getattr():
    module = type("Own", (types.ModuleType,), {"a": 1})("own")
    return lambda x: (x, module.a, hasattr(module, "b")), set_on(type(module), "__getattr__", lambda self, name: 2)


@case
def attribute_of_a_thread():
    local = threading.local()
    local.a = 1
    return lambda x: (x, local.a, hasattr(local, "b")), set_on(local, "a", 2)


@case
def attribute_that_a_thread_lacks():
    local = threading.local()
    return lambda x: (x, hasattr(local, "b")), set_on(local, "b", 2)


@case
def factory_of_a_defaultdict_of_the_caller():
    held = collections.defaultdict(list)
    return lambda x: (x, held.default_factory is list), set_on(held, "default_factory", dict)


@case
def a_moment():
    state = types.SimpleNamespace(at=datetime.datetime(2024, 1, 1))
    return lambda x: (x, state.at.fold, state.at.year), set_on(state, "at", datetime.datetime(2024, 1, 1, fold=1))


@case
def items_of_a_mapping():
    cls = the_class(keys=lambda self: ["ab"], __getitem__=lambda self, key: 1)
    return lambda x: (x, dict(cls()), {**cls()}), set_on(cls, "__getitem__", lambda self, key: 2)


@case
def an_object_becomes_a_mapping():
    cls = the_class(__iter__=lambda self: iter(["ab"]), __getitem__=lambda self, key: 1)
    return lambda x: (x, dict(cls())), set_on(cls, "keys", lambda self: ["cd"])


@case
def a_class_gets_a_reversed():
    cls = the_class(__len__=lambda self: 2, __getitem__=lambda self, at: at)
    return lambda x: (x, list(reversed(cls()))), set_on(cls, "__reversed__", lambda self: iter("ab"))


@case
def slot_of_a_list_subclass():
    cls = type("Items", (list,), {})
    held = cls([1])
    return lambda x: (x, held.__getitem__(0), held.__len__()), set_on(cls, "__getitem__", lambda self, at: 7)


@case
def deleter_of_a_class():
    cls = the_class(v=property(lambda self: 1, None, lambda self: vars(self).update(a=1)))

    def run(x):
        made = cls()
        del made.v
        return x, vars(made)

    return run, set_on(cls, "v", property(lambda self: 1, None, lambda self: vars(self).update(b=1)))


@case
def way_to_delete():
    cls = the_class(__delattr__=lambda self, name: vars(self).update(a=name))

    def run(x):
        made = cls()
        del made.v
        return x, vars(made)

    return run, set_on(cls, "__delattr__", lambda self, name: vars(self).update(b=name))


@case
def entries_of_an_ordered_dict_in_reverse():
    held = collections.OrderedDict(a=1, b=2)
    return lambda x: (x, list(reversed(held)), [*reversed(held.values())]), lambda: held.move_to_end("a")


@case
def length_of_a_member():
    kind = enum.Enum("Kind", {"A": "ab"}, type=str)
    return lambda x: (x, len(kind.A)), set_on(kind, "__len__", lambda self: 7)


@case
def instance_check_of_an_object():
    cls = the_class(__instancecheck__=lambda self, other: True)
    asked = cls()
    return lambda x: (x, isinstance(1, asked)), set_on(cls, "__instancecheck__", lambda self, other: False)


@case
def text_of_a_named_tuple():
    pair = collections.namedtuple("Pair", "a b")
    return lambda x: (x, repr(pair(1, 2)), str(pair(1, 2))), set_on(pair, "__str__", lambda self: "text")


@case
def arguments_of_an_alias():
    state = types.SimpleNamespace(alias=list[int])
    return lambda x: (x, state.alias.__args__, state.alias.__origin__), set_on(state, "alias", dict[str, int])


@pytest.mark.parametrize("backend", ["eager", "onednn"])
@pytest.mark.parametrize("name", CASES)
def test_the_change_is_seen(name, backend):
    function, change = CASES[name]()
    compiled = minidynamo.compile(function, backend=backend)
    x = tensor([1.0, 2.0])

    def text(result):
        return repr(result)

    try:
        before = text(function(x))
        assert [text(compiled(x)) for _ in range(3)] == [before] * 3
        change()
        after = text(function(x))
        assert after != before or name in UNCHANGED, "the change changes nothing"
        assert [text(compiled(x)) for _ in range(3)] == [after] * 3
    finally:
        sys.modules.pop("some_module_of_a_test", None)


# Changes that Python itself does not notice.
UNCHANGED = {"equality_of_a_key"}


class Checked(type):
    pass


class Kind(metaclass=Checked):
    pass


def test_an_instance_check_is_added_to_a_metaclass_and_changes(monkeypatch):
    captured = minidynamo.compile(lambda x: (isinstance(3, Kind), issubclass(int, Kind), x + 1), fullgraph=True)
    x = minidynamo.tensor([1.0])
    assert captured(x)[:2] == (False, False)
    monkeypatch.setattr(Checked, "__instancecheck__", lambda cls, value: True, raising=False)
    assert captured(x)[:2] == (True, False)
    monkeypatch.setattr(Checked, "__instancecheck__", lambda cls, value: False)
    monkeypatch.setattr(Checked, "__subclasscheck__", lambda cls, other: True, raising=False)
    assert captured(x)[:2] == (False, True)
    monkeypatch.undo()
    assert captured(x)[:2] == (False, False)


class Switch:
    pass


def test_a_truth_method_is_added_to_a_class_and_changes(monkeypatch):
    captured = minidynamo.compile(
        lambda x, switch: (1 if switch else 0, bool(switch), any([switch]), not switch, x + 1), fullgraph=True
    )
    x, switch = minidynamo.tensor([1.0]), Switch()

    def truths():
        return captured(x, switch)[:4]

    yes, no = (1, True, True, False), (0, False, False, True)
    assert truths() == yes
    monkeypatch.setattr(Switch, "__len__", lambda self: 0, raising=False)
    assert truths() == no
    monkeypatch.setattr(Switch, "__len__", lambda self: 3)
    assert truths() == yes
    monkeypatch.setattr(Switch, "__bool__", lambda self: False, raising=False)
    assert truths() == no
    monkeypatch.setattr(Switch, "__bool__", lambda self: self.on, raising=False)
    switch.on = True
    assert truths() == yes
    switch.on = False
    assert truths() == no
    monkeypatch.undo()
    assert truths() == yes


class Counted:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self.n == other.n


def test_the_equality_of_keys_of_one_hash_changes(monkeypatch):
    def look_up(x):
        table = {Counted(1): "one", Counted(2): "two", Counted(3): "three"}
        return table.get(Counted(2)), len(table), Counted(3) in {Counted(1), Counted(3)}, x + 1

    captured = minidynamo.compile(look_up, fullgraph=True)
    x = minidynamo.tensor([1.0])
    assert captured(x)[:3] == ("two", 3, True)
    monkeypatch.setattr(Counted, "__eq__", lambda self, other: False)
    assert captured(x)[:3] == (None, 3, False)
    monkeypatch.setattr(Counted, "__eq__", lambda self, other: True)
    assert captured(x)[:3] == ("three", 1, True)
    monkeypatch.setattr(Counted, "__hash__", lambda self: self.n)
    assert captured(x)[:3] == ("two", 3, True)


def test_a_dataclass_whose_repr_is_running():
    """An object whose repr is running is shown as dots, whatever code calls repr."""

    @dataclasses.dataclass
    class Outer:
        part: object

    def show(x, value):
        return x + 1, f"{value}"

    compiled = minidynamo.compile(show)

    class Part:
        by = None

        def __repr__(self):
            return "part" if self.by is None else self.by(tensor([1.0]), outer)[1]

    outer = Outer(Part())
    assert compiled(tensor([1.0]), outer)[1] == show(tensor([1.0]), outer)[1]
    for _ in range(3):
        Part.by = staticmethod(show)
        plain = repr(outer)
        Part.by = staticmethod(compiled)
        assert repr(outer) == plain
        Part.by = None
        assert compiled(tensor([1.0]), outer)[1] == repr(outer)


def test_members_of_an_enum_are_read_again():
    class Mode(str, enum.Enum):
        TRAIN = "train"
        EVAL = "eval"

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    def keep(x, mode, level):
        return {mode: x, level: 1, "train": 2}, f"{mode} {level} {level:>3}", x.sum(level - 1), "%s %d" % (mode, level)

    compiled = minidynamo.compile(keep)
    for mode in (Mode.TRAIN, Mode.EVAL, "train", Mode.TRAIN):
        for level in (Level.LOW, Level.HIGH, 1, Level.HIGH):
            x = tensor([[1.0, 2.0], [3.0, 4.0]])
            kept, *texts = compiled(x, mode, level)
            expected, *plain = keep(x, mode, level)
            assert [(type(key), key) for key in kept] == [(type(key), key) for key in expected]
            assert all(a is b for a, b in zip(kept, expected))
            assert texts[0] == plain[0]
            assert texts[1].tolist() == plain[1].tolist()
            assert texts[2] == plain[2]
    Level.__str__ = lambda self: "changed"
    assert compiled(x, Mode.EVAL, Level.HIGH)[1] == keep(x, Mode.EVAL, Level.HIGH)[1]
    Mode.__hash__ = lambda self: 7
    assert list(compiled(x, Mode.TRAIN, Level.HIGH)[0]) == list(keep(x, Mode.TRAIN, Level.HIGH)[0])


def test_the_iteration_of_an_object_may_change():
    class Rows:
        def __init__(self, log):
            self.log = log

        def __getitem__(self, at):
            self.log.append(at)
            if at > 2:
                raise IndexError
            return at

    def over(x, rows):
        return x + 1, list(rows), [n for n in rows]

    def lengthy(self):
        self.log.append("len")
        return 3

    def iterated(self):
        self.log.append("iter")
        return iter([7, 8])

    compiled = minidynamo.compile(over)
    for name, method in (("a", None), ("__len__", lengthy), ("__iter__", iterated), ("__iter__", None), ("b", None)):
        setattr(Rows, name, method)
        if name == "b":
            del Rows.__len__, Rows.__iter__
        results = []
        for function in (over, compiled, compiled):
            log = []
            try:
                results.append((function(tensor([1.0]), Rows(log))[1:], log))
            except TypeError as error:
                results.append((str(error), log))
        assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    "copy", [lambda x, held: {**held}, lambda x, held: dict(held), lambda x, held: {"c": x} | held]
)
def test_the_class_of_an_ordered_dict_provides_its_keys(copy):
    class Ordered(collections.OrderedDict):
        pass

    held = Ordered(a=1, b=2)
    compiled = minidynamo.compile(copy)
    assert list(compiled(tensor([1.0]), held)) == list(copy(tensor([1.0]), held))
    asked = []

    def read(self, name):
        asked.append(name)
        return collections.OrderedDict.__getattribute__(self, name)

    Ordered.__getattribute__ = read
    copy(tensor([1.0]), held)
    by_python = list(asked)
    asked.clear()
    compiled(tensor([1.0]), held)
    assert asked == by_python
