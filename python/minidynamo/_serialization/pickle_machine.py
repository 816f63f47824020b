"""Reads pickles without running code: known opcodes, containers and numbers; all else is asked of two functions.

The stack is a list, so that nesting needs no recursion; every opcode creates at most one object, and no object is
larger than the bytes that the pickle has for it.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from pickle import UnpicklingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .byte_window import Window

# Empty containers take one byte in a file and up to 216 in memory.
_MOST_CONTAINERS = 4_000_000
_MOST_BYTES_OF_INT = 1 << 12
_MOST_ITEMS_OF_KEY = 1_000
_MOST_KEY_NUMBER = 2**60
_HIGHEST_PROTOCOL = 5


class PickleMachine:
    """One pickle after another from a Window.

    find_class(module, name)  what a global is; reduce(function, args), new(class, args) and build(object, state) use it
    persistent_load(id)       the object of a persistent id
    encoding                  of the byte strings of Python 2; "bytes" leaves them as they are
    """

    def __init__(self, stream: Window, globals_: Any, persistent_load: Callable[[Any], Any], encoding: str) -> None:
        self._stream = stream
        self._globals = globals_
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._containers = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The object of the next pickle; UnpicklingError, EOFError or ValueError."""
        self._stack, self._marked, self._memo = [], [], {}
        read = self._stream.read
        while True:
            code = read(1)
            if code == b".":
                break
            step = _STEPS.get(code)
            if step is None:
                at = self._stream.position - 1
                raise UnpicklingError(f"Unsupported operand {code[0]} at byte {at} of the pickle")
            step(self)
        if len(self._stack) != 1 or self._marked:
            raise UnpicklingError("the pickle stops with a stack that does not hold one object")
        return self._stack.pop()

    # ---- parts of the steps

    def _number(self, size: int) -> int:
        return int.from_bytes(self._stream.read(size), "little")

    def _container(self) -> None:
        self._containers += 1
        if self._containers > _MOST_CONTAINERS:
            raise UnpicklingError(f"more than {_MOST_CONTAINERS} containers")

    def _pop(self) -> Any:
        if not self._stack:
            raise UnpicklingError("the pickle takes an object from an empty stack")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack:
            raise UnpicklingError("the pickle takes an object from an empty stack")
        return self._stack[-1]

    def _pop_mark(self) -> list[Any]:
        if not self._marked:
            raise UnpicklingError("the pickle takes a mark that it did not set")
        items = self._stack
        self._stack = self._marked.pop()
        return items

    def _add_to_list(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list and not self._globals.is_inert(target):
            raise UnpicklingError(f"Can only append to lists, but got {_type_name(target)}")
        if type(target) is list:
            target.extend(items)

    def _add_to_dict(self, items: list[Any]) -> None:
        target = self._top()
        if self._globals.is_inert(target):
            return
        if not isinstance(target, dict):
            raise UnpicklingError(f"Can only set items of dicts, but got {_type_name(target)}")
        if len(items) % 2:
            raise UnpicklingError("an odd number of items for a dict")
        for index in range(0, len(items), 2):
            check_key(items[index])
            target[items[index]] = items[index + 1]

    def _text(self, data: bytes) -> None:
        self._stack.append(str(data, "utf-8", "surrogatepass"))

    def _old_text(self, data: bytes) -> None:
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise UnpicklingError("the pickle takes an object from an empty stack")
        self._container()
        self._stack[-count:] = [tuple(self._stack[-count:])]

    # ---- steps

    def proto(self) -> None:
        protocol = self._number(1)
        if not 0 <= protocol <= _HIGHEST_PROTOCOL:
            raise UnpicklingError(f"unsupported pickle protocol: {protocol}")

    def frame(self) -> None:
        if self._number(8) > self._stream.left:
            raise UnpicklingError("a frame is longer than what is left of the pickle")

    def mark(self) -> None:
        self._container()
        self._marked.append(self._stack)
        self._stack = []

    def none(self) -> None:
        self._stack.append(None)

    def true(self) -> None:
        self._stack.append(True)

    def false(self) -> None:
        self._stack.append(False)

    def binint(self) -> None:
        self._stack.append(int.from_bytes(self._stream.read(4), "little", signed=True))

    def binint1(self) -> None:
        self._stack.append(self._number(1))

    def binint2(self) -> None:
        self._stack.append(self._number(2))

    def long1(self) -> None:
        self._stack.append(int.from_bytes(self._stream.read(self._number(1)), "little", signed=True))

    def long4(self) -> None:
        size = self._number(4)
        if size > _MOST_BYTES_OF_INT:
            raise UnpicklingError(f"an int of {size} bytes")
        self._stack.append(int.from_bytes(self._stream.read(size), "little", signed=True))

    def binfloat(self) -> None:
        self._stack.append(struct.unpack(">d", self._stream.read(8))[0])

    def short_binstring(self) -> None:
        self._old_text(self._stream.read(self._number(1)))

    def binstring(self) -> None:
        self._old_text(self._stream.read(self._number(4)))

    def binunicode(self) -> None:
        self._text(self._stream.read(self._number(4)))

    def short_binunicode(self) -> None:
        self._text(self._stream.read(self._number(1)))

    def binunicode8(self) -> None:
        self._text(self._stream.read(self._number(8)))

    def short_binbytes(self) -> None:
        self._stack.append(self._stream.read(self._number(1)))

    def binbytes(self) -> None:
        self._stack.append(self._stream.read(self._number(4)))

    def binbytes8(self) -> None:
        self._stack.append(self._stream.read(self._number(8)))

    def bytearray8(self) -> None:
        self._stack.append(bytearray(self._stream.read(self._number(8))))

    def empty_list(self) -> None:
        self._container()
        self._stack.append([])

    def empty_tuple(self) -> None:
        self._stack.append(())

    def empty_dict(self) -> None:
        self._container()
        self._stack.append({})

    def empty_set(self) -> None:
        self._container()
        self._stack.append(set())

    def tuple1(self) -> None:
        self._tuple(1)

    def tuple2(self) -> None:
        self._tuple(2)

    def tuple3(self) -> None:
        self._tuple(3)

    def tuple_to_mark(self) -> None:
        items = self._pop_mark()
        self._container()
        self._stack.append(tuple(items))

    def append(self) -> None:
        item = self._pop()
        self._add_to_list([item])

    def appends(self) -> None:
        items = self._pop_mark()
        self._add_to_list(items)

    def setitem(self) -> None:
        value = self._pop()
        key = self._pop()
        self._add_to_dict([key, value])

    def setitems(self) -> None:
        items = self._pop_mark()
        self._add_to_dict(items)

    def additems(self) -> None:
        items = self._pop_mark()
        target = self._top()
        if type(target) is not set:
            raise UnpicklingError(f"Can only add items to sets, but got {_type_name(target)}")
        for item in items:
            check_key(item)
            target.add(item)

    def binget(self) -> None:
        self._get(self._number(1))

    def long_binget(self) -> None:
        self._get(self._number(4))

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise UnpicklingError(f"Memo value not found at index {index}")
        self._stack.append(self._memo[index])

    def binput(self) -> None:
        self._memo[self._number(1)] = self._top()

    def long_binput(self) -> None:
        self._memo[self._number(4)] = self._top()

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._top()

    def global_(self) -> None:
        module = self._stream.line().decode()
        self._stack.append(self._globals.find_class(module, self._stream.line().decode()))

    def stack_global(self) -> None:
        name = self._pop()
        module = self._pop()
        if type(name) is not str or type(module) is not str:
            raise UnpicklingError("STACK_GLOBAL requires str")
        self._stack.append(self._globals.find_class(module, name))

    def reduce(self) -> None:
        args = self._pop()
        function = self._pop()
        self._container()
        self._stack.append(self._globals.reduce(function, args))

    def newobj(self) -> None:
        args = self._pop()
        cls = self._pop()
        self._container()
        self._stack.append(self._globals.new(cls, args))

    def build(self) -> None:
        state = self._pop()
        self._globals.build(self._top(), state)

    def binpersid(self) -> None:
        self._stack.append(self._persistent_load(self._pop()))


_STEPS: dict[bytes, Callable[[PickleMachine], None]] = {
    b"\x80": PickleMachine.proto,
    b"\x95": PickleMachine.frame,
    b"(": PickleMachine.mark,
    b"N": PickleMachine.none,
    b"\x88": PickleMachine.true,
    b"\x89": PickleMachine.false,
    b"J": PickleMachine.binint,
    b"K": PickleMachine.binint1,
    b"M": PickleMachine.binint2,
    b"\x8a": PickleMachine.long1,
    b"\x8b": PickleMachine.long4,
    b"G": PickleMachine.binfloat,
    b"U": PickleMachine.short_binstring,
    b"T": PickleMachine.binstring,
    b"X": PickleMachine.binunicode,
    b"\x8c": PickleMachine.short_binunicode,
    b"\x8d": PickleMachine.binunicode8,
    b"C": PickleMachine.short_binbytes,
    b"B": PickleMachine.binbytes,
    b"\x8e": PickleMachine.binbytes8,
    b"\x96": PickleMachine.bytearray8,
    b"]": PickleMachine.empty_list,
    b")": PickleMachine.empty_tuple,
    b"}": PickleMachine.empty_dict,
    b"\x8f": PickleMachine.empty_set,
    b"\x85": PickleMachine.tuple1,
    b"\x86": PickleMachine.tuple2,
    b"\x87": PickleMachine.tuple3,
    b"t": PickleMachine.tuple_to_mark,
    b"a": PickleMachine.append,
    b"e": PickleMachine.appends,
    b"s": PickleMachine.setitem,
    b"u": PickleMachine.setitems,
    b"\x90": PickleMachine.additems,
    b"h": PickleMachine.binget,
    b"j": PickleMachine.long_binget,
    b"q": PickleMachine.binput,
    b"r": PickleMachine.long_binput,
    b"\x94": PickleMachine.memoize,
    b"c": PickleMachine.global_,
    b"\x93": PickleMachine.stack_global,
    b"R": PickleMachine.reduce,
    b"\x81": PickleMachine.newobj,
    b"b": PickleMachine.build,
    b"Q": PickleMachine.binpersid,
}


def check_key(key: object) -> None:
    """UnpicklingError for a key whose hash would take long: tuples that share parts, numbers made to collide."""
    left, waiting = _MOST_ITEMS_OF_KEY, [key]
    while waiting:
        item = waiting.pop()
        left -= 1
        if left < 0:
            raise UnpicklingError(f"a key of more than {_MOST_ITEMS_OF_KEY} items")
        if isinstance(item, tuple):
            if len(item) > left:
                raise UnpicklingError(f"a key of more than {_MOST_ITEMS_OF_KEY} items")
            waiting.extend(item)
        elif isinstance(item, (int, float)):
            if abs(item) > _MOST_KEY_NUMBER and item not in (float("inf"), -float("inf")):
                raise UnpicklingError(f"a key that is a number above {_MOST_KEY_NUMBER}")
        elif type(item).__hash__ is None:
            raise UnpicklingError(f"a key of the unhashable type {_type_name(item)}")


def check_value(value: object, refused: tuple[type, ...], deepest: int = 1_000) -> None:
    """UnpicklingError if there is an object of a refused type in it, or containers contain themselves or are nested too
    deeply for what reads them."""
    # A container is open while its contents are visited: meeting an open one again is a cycle.
    is_open: dict[int, bool] = {}
    waiting: list[tuple[object, bool]] = [(value, False)]
    depth = 0
    while waiting:
        item, leaves = waiting.pop()
        if leaves:
            is_open[id(item)] = False
            depth -= 1
            continue
        if isinstance(item, refused):
            raise UnpicklingError(f"a {getattr(item, 'name', _type_name(item))} where only a value can be")
        parts = _parts(item)
        if not parts:
            continue
        state = is_open.get(id(item))
        if state:
            raise UnpicklingError(f"a {_type_name(item)} contains itself")
        if state is None:
            depth += 1
            if depth > deepest:
                raise UnpicklingError(f"containers are nested more than {deepest} deep")
            is_open[id(item)] = True
            waiting.append((item, True))
            waiting.extend((part, False) for part in parts)


_CONTAINERS = (list, tuple, dict, set)


def _parts(item: object) -> list[object]:
    """What may contain something: the items of a container that are containers or objects."""
    if isinstance(item, dict):
        parts: list[object] = [part for part in item.values() if not isinstance(part, _PLAIN)]
        if isinstance(item, OrderedDict):
            parts.extend(item.__dict__.values())
        return parts
    if isinstance(item, _CONTAINERS):
        return [part for part in item if not isinstance(part, _PLAIN)]
    return list(getattr(item, "__dict__", {}).values())


_PLAIN = (int, float, complex, str, bytes, bytearray, type(None))


def _type_name(value: object) -> str:
    return type(value).__name__
