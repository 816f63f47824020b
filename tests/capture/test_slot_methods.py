"""Methods that Python makes of the slots of built-in types, called on each kind of object with each kind of operand: compiled code
returns, raises and changes what eager Python does, also behind a subclass that has its own."""

import collections
import copy
import re

import pytest

import minidynamo
from minidynamo._dynamo import _slots

NAMES = {}
_slots.register(lambda name, form, function: NAMES.setdefault(name, function))

OBJECTS = {
    "bool": True,
    "int": -7,
    "large int": 1 << 70,
    "float": 2.5,
    "complex": 1 - 2j,
    "text": "ab",
    "bytes": b"ab",
    "tuple": (1, 2),
    "list": [3, 1],
    "dict": {"a": 1},
    "ordered dict": collections.OrderedDict(a=1, b=2),
    "default dict": collections.defaultdict(list, a=[1]),
    "set": {1, 2},
    "frozenset": frozenset([2]),
    "range": range(1, 9, 2),
    "slice": slice(1, 3),
    "None": None,
    "tensor": minidynamo.tensor([1.0, -2.0]),
    "ints in a tensor": minidynamo.tensor([3, 4]),
}
OPERANDS = [1, 2.5, True, "a", None, [5], (1, 2), {"b": 2}, {1}, slice(0, 1), minidynamo.tensor([2.0, 3.0])]


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return str(value.dtype), str(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [shown(each) for each in value]
    if isinstance(value, dict):
        return type(value), [(shown(key), shown(each)) for key, each in value.items()]
    return type(value), re.sub(" at 0x[0-9a-f]+", "", repr(value))


def outcome(function, held, operands):
    held, operands = copy.deepcopy(held), copy.deepcopy(operands)
    try:
        result = function(minidynamo.ones(1), held, *operands)[1]
    except Exception as error:
        return type(error), str(error), shown(held)
    return shown(result), result is held, shown(held)


def operands_for(name):
    count = NAMES[name].__code__.co_argcount - 1
    if name == "__call__":
        return [()]
    return [()] if count == 0 else [(each, 9.0)[:count] for each in OPERANDS]


def function_for(name, unbound):
    names = {}
    target = f"type(held).{name}(held, *operands)" if unbound else f"held.{name}(*operands)"
    exec(f"def run(x, held, *operands):\n    return x + 1, {target}", names)
    return names["run"]


@pytest.mark.parametrize("kind", OBJECTS)
def test_slots(kind):
    held, found = OBJECTS[kind], []
    for name in (name for name in NAMES if hasattr(held, name)):
        for at, operands in enumerate([*operands_for(name), operands_for(name)[0]]):
            plain = function_for(name, unbound=at == 0)
            compiled = minidynamo.compile(plain, backend="eager")
            wanted = outcome(plain, held, operands)
            for _ in range(2):
                got = outcome(compiled, held, operands)
                if got != wanted:
                    found.append((name, operands, wanted, got))
    assert not found, "\n".join(map(str, found[:10]))
