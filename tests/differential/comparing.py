"""Finds where two values, each built of separate objects, differ."""

import functools
import math
import types
from collections import deque

import minidynamo

_ATOMS = (type(None), bool, int, str, bytes, range, slice, type(Ellipsis), type(NotImplemented), types.CodeType)
_SHARED = (type, types.ModuleType, types.BuiltinFunctionType, types.MappingProxyType)


def differences(left, right, tolerance=0.0):
    """Returns one line for each difference; an object that occurs twice on one side must do so on the other."""
    comparison = _Comparison(tolerance)
    comparison.compare("", left, right)
    return comparison.found


class _Comparison:
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.found = []
        self.partners = {}
        self.taken = {}

    def differ(self, path, what):
        self.found.append(f"{path or 'value'}: {what}")

    def compare(self, path, left, right):
        if not self.same_type(path, left, right):
            return
        if isinstance(left, _ATOMS):
            if left != right:
                self.differ(path, f"{left!r} and {right!r}")
        elif isinstance(left, (float, complex)):
            self.compare_numbers(path, left, right)
        elif left is right and isinstance(left, (*_SHARED, types.FunctionType)):
            return
        elif isinstance(left, tuple):
            self.compare_items(path, left, right)
        elif type(left) is frozenset:
            self.compare_contents(path, left, right)
        elif self.first_sight(path, left, right):
            self.compare_contents(path, left, right)

    def same_type(self, path, left, right):
        one, other = type(left), type(right)
        # A class statement that ran twice created two classes of one name.
        if one is other or (one.__qualname__ == other.__qualname__ and "<locals>" in one.__qualname__):
            return True
        self.differ(path, f"a {one.__qualname__} and a {other.__qualname__}: {left!r:.200} and {right!r:.200}")
        return False

    def first_sight(self, path, left, right):
        """Pairs two objects permanently; False if they were compared before, or are paired with others."""
        partner, taken = self.partners.get(id(left)), self.taken.get(id(right))
        if partner is None and taken is None:
            self.partners[id(left)] = right
            self.taken[id(right)] = left
            return True
        if partner is not right or taken is not left:
            self.differ(path, f"the {type(left).__name__} is the same object as another one on one side only")
        return False

    def compare_numbers(self, path, left, right):
        if isinstance(left, complex):
            left, right = (left.real, left.imag), (right.real, right.imag)
        else:
            left, right = (left,), (right,)
        if not all(map(self.close, left, right)):
            self.differ(path, f"{left} and {right}")

    def close(self, left, right):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        if left == right:
            return math.copysign(1, left) == math.copysign(1, right) or self.tolerance > 0
        return abs(left - right) <= self.tolerance * max(1.0, abs(left), abs(right))

    def compare_contents(self, path, left, right):
        if isinstance(left, minidynamo.Tensor):
            self.compare_tensors(path, left, right)
        elif isinstance(left, (list, deque)):
            self.compare_items(path, left, right)
        elif isinstance(left, dict):
            self.compare_items(f"{path} keys", list(left), list(right))
            for (key, one), other in zip(left.items(), right.values()):
                self.compare(f"{path}[{key!r}]", one, other)
        elif isinstance(left, (set, frozenset)):
            self.compare_items(f"{path} members", sorted(left, key=repr), sorted(right, key=repr))
        elif isinstance(left, types.CellType):
            self.compare_cells(path, left, right)
        else:
            self.compare_objects(path, left, right)
        if isinstance(left, (list, dict, set, deque)) and hasattr(left, "__dict__"):
            self.compare(f"{path}.__dict__", vars(left), vars(right))

    def compare_items(self, path, left, right):
        if len(left) != len(right):
            self.differ(path, f"{len(left)} items and {len(right)}: {left!r:.300} and {right!r:.300}")
            return
        for index, (one, other) in enumerate(zip(left, right)):
            self.compare(f"{path}[{index}]", one, other)

    def compare_tensors(self, path, left, right):
        for name in ("dtype", "shape", "requires_grad", "device"):
            one, other = getattr(left, name), getattr(right, name)
            if one != other:
                self.differ(f"{path}.{name}", f"{one} and {other}")
                return
        if left.stride() != right.stride():
            self.differ(f"{path}.stride()", f"{left.stride()} and {right.stride()}")
        one, other = left.tolist(), right.tolist()
        if isinstance(one, list):
            self.compare_items(path, one, other)
        else:
            self.compare(f"{path}.item()", one, other)

    def compare_cells(self, path, left, right):
        empty = object()
        contents = []
        for cell in (left, right):
            try:
                contents.append(cell.cell_contents)
            except ValueError:
                contents.append(empty)
        if contents[0] is not contents[1]:
            self.compare(f"{path}.cell_contents", *contents)

    def compare_classes(self, path, left, right):
        """Compares two classes created by one class statement: all their entries, in order."""
        for name in ("__name__", "__qualname__", "__bases__"):
            self.compare(f"{path}.{name}", getattr(left, name), getattr(right, name))
        self.compare_items(f"{path} names", list(vars(left)), list(vars(right)))
        for name, one in vars(left).items():
            if not isinstance(one, types.GetSetDescriptorType):
                self.compare(f"{path}.{name}", one, vars(right).get(name))

    def compare_objects(self, path, left, right):
        for name in _PARTS.get(type(left), ()):
            self.compare(f"{path}.{name}", getattr(left, name), getattr(right, name))
        if isinstance(left, type):
            self.compare_classes(path, left, right)
        if isinstance(left, BaseException):
            self.compare(f"{path}.args", left.args, right.args)
        if hasattr(left, "__dict__") and not isinstance(left, type):
            self.compare(f"{path}.__dict__", vars(left), vars(right))
        for base in type(left).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(left, name) | hasattr(right, name):
                    absent = "(not set)"
                    self.compare(f"{path}.{name}", getattr(left, name, absent), getattr(right, name, absent))


# The attributes that define equality of two objects of a built-in type, besides their __dict__.
_PARTS = {
    types.FunctionType: ("__code__", "__name__", "__defaults__", "__kwdefaults__", "__closure__"),
    types.MethodType: ("__self__", "__func__"),
    types.GeneratorType: ("gi_code", "gi_running", "gi_suspended"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
