"""The globals that a checkpoint may name: what torch's own checkpoints need, and what the user has allowed."""

from __future__ import annotations

import argparse
from collections import Counter, OrderedDict
from pickle import UnpicklingError

from .. import _C
from . import stored_tensors
from .pickle_machine import check_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Objects and (object, name) pairs that the user has allowed, for the process.
_user_globals: list[Any] = []

_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg"}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allows classes and functions in checkpoints: load() calls them where a file says so.

    safe_globals  objects, or (object, "module.name") pairs where the file has another name for it
    """
    _user_globals.extend(each for each in safe_globals if each not in _user_globals)


def get_safe_globals() -> list[Any]:
    return list(_user_globals)


def clear_safe_globals() -> None:
    _user_globals.clear()


class safe_globals:
    """A context in which add_safe_globals(safe_globals) holds."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *args: object) -> None:
        _user_globals[:] = self._before


class Allowed:
    """A global of a checkpoint, which REDUCE may call and, where `constructs`, NEWOBJ too.

    value  the user's object; None for those of the table
    """

    def __init__(self, name: str, call: Callable[..., Any], constructs: bool = False, value: Any = None) -> None:
        self.name = name
        self.call = call
        self.constructs = constructs
        self.value = value


class AllowedGlobals:
    """What one load allows. `note` is said of a global that it does not."""

    def __init__(self, note: str = "") -> None:
        self._note = note
        self._of_user = {_name_of(each): each[0] if isinstance(each, tuple) else each for each in _user_globals}
        self._classes = tuple(each for each in self._of_user.values() if isinstance(each, type))
        # By identity: the user's objects that the pickle has named. Each may be a value, too.
        self._named: dict[int, Allowed] = {}

    def is_inert(self, target: object) -> bool:
        """Whether an object only holds the place of one that is not created."""
        return False

    def find_class(self, module: str, name: str) -> Any:
        full = f"{_RENAMED.get(module, module)}.{name}"
        found = _TABLE.get(full)
        if found is not None:
            return found
        for each in (full, full.removeprefix("builtins."), _other_numpy(full)):
            if each in self._of_user:
                value = self._of_user[each]
                self._named[id(value)] = Allowed(full, _guarded(full, value), isinstance(value, type), value)
                return value
        if full in stored_tensors.REFUSED:
            raise UnpicklingError(f"GLOBAL {full}: {stored_tensors.REFUSED[full]}")
        shown = full.removeprefix("builtins.")
        raise UnpicklingError(
            f"Weights only load failed. Unsupported global: GLOBAL {shown} was not an allowed global by default. "
            f"Please use `minidynamo.serialization.add_safe_globals([{shown}])` or the "
            f"`minidynamo.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust "
            f"this class/function.{self._note}"
        )

    def _allowed(self, target: Any) -> Any:
        return self._named.get(id(target), target)

    def reduce(self, function: Any, args: Any) -> Any:
        function = self._allowed(function)
        if not isinstance(function, Allowed):
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {_short(function)}")
        if type(args) is not tuple:
            raise UnpicklingError(f"{function.name} is called with {type(args).__name__}, not a tuple of arguments")
        return _called(function, args)

    def new(self, cls: Any, args: Any) -> Any:
        cls = self._allowed(cls)
        if not isinstance(cls, Allowed) or not cls.constructs:
            raise UnpicklingError(f"Trying to call __new__ of unrecognized class {_short(cls)}")
        if type(args) is not tuple:
            raise UnpicklingError(f"{cls.name} is created with {type(args).__name__}, not a tuple of arguments")
        if cls.value is not None:
            return _called(Allowed(cls.name, cls.value.__new__), (cls.value, *args))
        return _called(cls, args)

    def build(self, target: Any, state: Any) -> None:
        if self._classes and isinstance(target, self._classes):
            setter = getattr(target, "__setstate__", None)
            if setter is not None:
                _called(Allowed(f"{type(target).__name__}.__setstate__", setter), (state,))
                return
        elif type(target) not in (OrderedDict, Counter, argparse.Namespace):
            raise UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted, not {_short(target)}"
            )
        if not isinstance(state, dict) or not all(type(key) is str for key in state):
            raise UnpicklingError(f"the state of a {type(target).__name__} is not a dict of names")
        for key in state:
            if hasattr(type(target), key) and not isinstance(target, self._classes):
                raise UnpicklingError(f"the state of a {type(target).__name__} would replace its {key!r}")
        target.__dict__.update(state)


class InertGlobals(AllowedGlobals):
    """The same globals, of which nothing is created: what a first reading of a pickle needs."""

    class Inert:
        pass

    def is_inert(self, target: object) -> bool:
        return isinstance(target, self.Inert)

    def reduce(self, function: Any, args: Any) -> Any:
        return self.Inert()

    def new(self, cls: Any, args: Any) -> Any:
        return self.Inert()

    def build(self, target: Any, state: Any) -> None:
        pass


# What a checkpoint may name, and no value of it may be.
NO_VALUES = (Allowed, InertGlobals.Inert, stored_tensors.StorageKind, stored_tensors.TensorClass)


def _called(function: Allowed, args: tuple[Any, ...]) -> Any:
    try:
        return function.call(*args)
    except UnpicklingError:
        raise
    except Exception as error:
        raise UnpicklingError(
            f"{function.name} does not accept its arguments: {type(error).__name__}: {error}"
        ) from error


def _name_of(each: Any) -> str:
    if isinstance(each, tuple):
        return str(each[1])
    module = each.__module__
    name = getattr(each, "__qualname__", each.__name__)
    return name if module == "builtins" else f"{module}.{name}"


def _other_numpy(full: str) -> str:
    """The name under which the other line of NumPy, before or since 2.0, has it."""
    if full.startswith("numpy._core."):
        return full.replace("numpy._core.", "numpy.core.", 1)
    return full.replace("numpy.core.", "numpy._core.", 1)


def _guarded(name: str, function: Any) -> Callable[..., Any]:
    """What is called; NumPy's functions only as pickles of arrays without objects call them."""
    if name.endswith("multiarray._reconstruct") and name.startswith("numpy"):
        return lambda cls, shape, kind: function(cls, _exactly(shape, (0,)), kind)
    if name == "numpy.dtype":
        return _plain_dtype(function)
    return function


def _exactly(value: object, expected: object) -> object:
    if value != expected:
        raise UnpicklingError(f"an array is created as {_short(value)}, not {expected!r}")
    return value


def _plain_dtype(dtype: Any) -> Callable[..., Any]:
    def make(name: Any, *flags: Any) -> Any:
        made = dtype(name, *flags)
        if made.hasobject:
            raise UnpicklingError("arrays of objects are not read")
        return made

    return make


def _short(value: object) -> str:
    if isinstance(value, Allowed):
        return value.name
    return value.__name__ if isinstance(value, type) else type(value).__name__


# ---- the functions of the table, each of which accepts what pickles of its kind have and nothing else


def _ordered_dict(*args: Any) -> OrderedDict[Any, Any]:
    if not args:
        return OrderedDict()
    (pairs,) = args
    for key, _ in _of_type(list, pairs):
        check_key(key)
    return OrderedDict(pairs)


def _counter(*args: Any) -> Counter[Any]:
    return Counter(*(_of_type(dict, each) for each in args))


def _set(*args: Any) -> set[Any]:
    for each in args:
        for item in _of_type(list, each):
            check_key(item)
    return set(*args)


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise UnpicklingError(f"_codecs.encode with the encoding {_short(encoding)}")
    return bytes(_of_type(str, text).encode("latin1"))


def _no_bytes() -> bytes:
    return b""


def _bytearray(*args: Any) -> bytearray:
    if len(args) > 1:
        return bytearray(_encode(*args))
    return bytearray(*(_of_type(bytes, each) for each in args))


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(_of_type(float, real), _of_type(float, imaginary))


def _size(sizes: Any) -> Any:
    return _C.Size(tuple(_of_type(int, each) for each in _of_type(tuple, sizes)))


def _device(kind: Any, index: Any = None) -> Any:
    return _C.device(_of_type(str, kind) if index is None else f"{kind}:{_of_type(int, index)}")


def _of_type(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise UnpicklingError(f"a {_short(value)} in place of a {kind.__name__}")
    return value


def _table() -> dict[str, Any]:
    table: dict[str, Any] = {
        "collections.OrderedDict": Allowed("OrderedDict", _ordered_dict, True),
        "collections.Counter": Allowed("Counter", _counter, True),
        "argparse.Namespace": Allowed("Namespace", argparse.Namespace, True),
        "builtins.set": Allowed("set", _set),
        "builtins.bytes": Allowed("bytes", _no_bytes),
        "builtins.bytearray": Allowed("bytearray", _bytearray),
        "builtins.complex": Allowed("complex", _complex),
        "_codecs.encode": Allowed("encode", _encode),
        "torch.Size": Allowed("torch.Size", _size, True),
        "torch.device": Allowed("torch.device", _device),
    }
    table.update((name, Allowed(name, call)) for name, call in stored_tensors.FUNCTIONS.items())
    table.update(stored_tensors.KINDS)
    table.update((f"torch.{name}", dtype) for name, dtype in _C._dtypes.items())
    return table


_TABLE = _table()
