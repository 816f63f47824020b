"""Guards memoise look-ups in a dict by its version: every way to change a dict, an object's attributes or a module must be noticed
by the next check, however often the guards held before.
"""

import ctypes
import sys
import types

import pytest

from minidynamo import _C

KEY = "key"


def program_on(kind, key=None):
    program = _C._testing.GuardProgram(lambda x: None)
    source = program.source(kind, program.local("x"), key)
    return program, source


def found(kind, value):
    program, source = program_on(kind, KEY)
    program.equals_match(source, value)
    program.seal()
    return program


def missing(kind):
    program, source = program_on(kind, KEY)
    program.absent(source)
    program.seal()
    return program


CHANGES = {
    "setitem": lambda d: d.__setitem__(KEY, 2),
    "delitem": lambda d: d.__delitem__(KEY),
    "pop": lambda d: d.pop(KEY),
    "popitem": lambda d: d.popitem(),
    "clear": lambda d: d.clear(),
    "update": lambda d: d.update(key=2),
    "update from pairs": lambda d: d.update([(KEY, 2)]),
    "or": lambda d: d.__ior__({KEY: 2}),
    "C API": lambda d: ctypes.pythonapi.PyDict_SetItemString(ctypes.py_object(d), b"key", ctypes.py_object(2)),
    "C API merge": lambda d: ctypes.pythonapi.PyDict_Update(ctypes.py_object(d), ctypes.py_object({KEY: 2})),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("size", [1, 5, 40])
def test_a_dict_that_had_the_key(change, size):
    table = {f"other{number}": number for number in range(size - 1)}
    table[KEY] = 1
    program = found("DictItem", 1)
    assert program.check((table,), repeat=3)
    CHANGES[change](table)
    assert not program.check((table,), repeat=3)
    table[KEY] = 1
    assert program.check((table,), repeat=3)
    assert not program.check(({KEY: 3},))
    assert program.check((dict(table),), repeat=2)
    assert program.check((table,))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__(KEY, 2),
        lambda d: d.setdefault(KEY, 2),
        lambda d: d.update({KEY: 2}),
        lambda d: d.__ior__({KEY: None}),
    ],
)
@pytest.mark.parametrize("start", [{}, {"a": 1}, {1: 2, "b": 3}])
def test_a_dict_that_had_not(change, start):
    table = dict(start)
    program = missing("DictItem")
    assert program.check((table,), repeat=3)
    change(table)
    assert not program.check((table,), repeat=3)
    del table[KEY]
    assert program.check((table,), repeat=3)


class Thing:
    pass


class Many:
    """Has more attributes than are stored inline."""

    def __init__(self):
        for number in range(60):
            setattr(self, f"a{number}", number)


OBJECT_CHANGES = {
    "setattr": lambda o: setattr(o, KEY, 2),
    "delattr": lambda o: delattr(o, KEY),
    "object.__setattr__": lambda o: object.__setattr__(o, KEY, 2),
    "vars": lambda o: vars(o).__setitem__(KEY, 2),
    "vars pop": lambda o: vars(o).pop(KEY),
    "__dict__": lambda o: setattr(o, "__dict__", {KEY: 2}),
    "another __dict__": lambda o: setattr(o, "__dict__", {"other": 2}),
    "no __dict__": lambda o: delattr(o, "__dict__"),
}


@pytest.mark.parametrize("change", OBJECT_CHANGES)
@pytest.mark.parametrize("kind", [Thing, Many])
@pytest.mark.parametrize("has_dict", [True, False])
def test_attributes(change, kind, has_dict):
    thing = kind()
    thing.key = 1
    if has_dict:
        vars(thing)
    program = found("InstanceAttr", 1)
    assert program.check((thing,), repeat=3)
    OBJECT_CHANGES[change](thing)
    assert not program.check((thing,), repeat=3)
    thing.key = 1
    assert program.check((thing,), repeat=3)
    if has_dict:
        vars(thing)[KEY] = 5
        assert not program.check((thing,), repeat=2)


def write(thing, value):
    thing.key = value


@pytest.mark.parametrize("kind", [Thing, Many])
@pytest.mark.parametrize("has_dict", [True, False])
def test_stores_that_the_interpreter_has_specialised(kind, has_dict):
    things = [kind() for _ in range(4)]
    for thing in things:
        thing.key = 1
        if has_dict:
            vars(thing)
    for _ in range(50):
        for thing in things:
            write(thing, 1)
    program = found("InstanceAttr", 1)
    for thing in things:
        for value in (1, 2, 1, 3, 1):
            write(thing, value)
            assert program.check((thing,), repeat=3) == (value == 1)
    absent = missing("InstanceAttr")
    for thing in things:
        del thing.key
        assert absent.check((thing,), repeat=3)
        write(thing, 7)
        assert not absent.check((thing,), repeat=3)


def test_modules_and_globals():
    module = types.ModuleType("module")
    module.key = 1
    program = found("ModuleAttr", 1)
    assert program.check((module,), repeat=3)
    module.key = 2
    assert not program.check((module,), repeat=3)
    vars(module)[KEY] = 1
    assert program.check((module,), repeat=3)
    del module.key
    assert not program.check((module,))

    namespace = {"key": 1}
    exec("def f(x): return key", namespace)
    program = _C._testing.GuardProgram(namespace["f"])
    program.equals_match(program.source("Global", None, KEY), 1)
    program.seal()
    assert program.check((None,), repeat=3)
    exec("key = 2", namespace)
    assert not program.check((None,), repeat=3)
    namespace["key"] = 1
    assert program.check((None,), repeat=3)
    namespace["f"].__globals__.pop("key")
    assert not program.check((None,))


def test_keys_in_order():
    program = _C._testing.GuardProgram(lambda x: None)
    program.dict_keys(program.local("x"), ("a", "b"))
    program.seal()
    table = {"a": 1, "b": 2}
    assert program.check((table,), repeat=3)
    table["b"] = 3
    assert program.check((table,), repeat=3)
    table["a"] = table.pop("a")
    assert not program.check((table,), repeat=3)
    table["b"] = table.pop("b")
    assert program.check((table,), repeat=3)
    table["c"] = 1
    assert not program.check((table,), repeat=3)


TYPE_CHANGES = {
    "setattr": lambda base, kind: setattr(kind, KEY, 2),
    "of the base": lambda base, kind: setattr(base, KEY, 2),
    "delattr": lambda base, kind: delattr(base, KEY),
    "type.__setattr__": lambda base, kind: type.__setattr__(base, KEY, 2),
    "another base": lambda base, kind: setattr(kind, "__bases__", (type("Other", (), {}),)),
}


@pytest.mark.parametrize("change", TYPE_CHANGES)
def test_attributes_of_classes(change):
    base = type("Base", (), {KEY: 1})
    kind = type("Kind", (base,), {})
    program = found("TypeAttr", 1)
    assert program.check((kind,), repeat=3)
    assert not program.check((type("Without", (), {}),), repeat=2)
    assert program.check((kind,), repeat=3)
    TYPE_CHANGES[change](base, kind)
    assert not program.check((kind,), repeat=3)
    setattr(kind, KEY, 1)
    assert program.check((kind,), repeat=3)


def test_classes_without_the_attribute():
    base = type("Base", (), {})
    kind = type("Kind", (base,), {})
    program = missing("TypeAttr")
    assert program.check((kind,), repeat=3)
    kind.other = 1
    assert program.check((kind,), repeat=3)
    base.key = 1
    assert not program.check((kind,), repeat=3)
    del base.key
    assert program.check((kind,), repeat=3)


def test_many_classes():
    """More classes than there are versions, at addresses of earlier ones."""
    program = found("TypeAttr", 1)
    for number in range(3000):
        kind = type("Kind", (), {KEY: number % 2})
        assert program.check((kind,), repeat=2) == (number % 2 == 1)


def test_many_dicts_at_one_address():
    """A dict that is gone may leave its address to the next one."""
    program = found("DictItem", 1)
    addresses = set()
    for number in range(200):
        table = {KEY: number % 2, "other": object()}
        addresses.add(id(table))
        assert program.check((table,), repeat=2) == (number % 2 == 1)
        del table
    assert len(addresses) < 200


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="dicts have no versions any more")
def test_nothing_is_allocated():
    program = found("DictItem", 1)
    table = {KEY: 1}
    assert program.check((table,))
    before = sys.getallocatedblocks()
    assert program.check((table,), repeat=1000)
    assert sys.getallocatedblocks() <= before + 2
