"""Modules that hold parameters: ParameterList and ParameterDict."""

from __future__ import annotations

import collections.abc
import operator
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, NoReturn, Self, SupportsIndex

import minidynamo

from .module import Module
from .parameter import Parameter


def _held(value: Any) -> Any:
    """A tensor becomes a parameter; anything else is stored unchanged."""
    is_plain = isinstance(value, minidynamo.Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def _described(value: object) -> str:
    if not isinstance(value, minidynamo.Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(extent) for extent in value.shape)
    return f"{kind} containing: [{value.dtype} of size {size}]"


class _Holder(Module):
    def _described_lines(self, items: Iterable[tuple[object, object]]) -> str:
        return "\n".join(f"  ({name}): {_described(value)}" for name, value in items)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Holder):
    """A list whose tensors are parameters, named "0", "1" ... in the module that it belongs to.

    values  an iterable; anything but tensors is stored unchanged, and is not in the state_dict
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index: SupportsIndex) -> str:
        position = operator.index(index)
        if not -self._size <= position < self._size:
            raise IndexError(f"index {position} is out of range")
        return str(position % self._size)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(self._size)))
        return getattr(self, self._name(index))

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        setattr(self, self._name(index), _held(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def append(self, value: Any) -> Self:
        setattr(self, str(self._size), _held(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        if not isinstance(values, collections.abc.Iterable) or isinstance(values, minidynamo.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self) -> str:
        return self._described_lines(enumerate(self))


class ParameterDict(_Holder):
    """A dict whose tensors are parameters, named by their keys in the module that it belongs to.

    values  a mapping, or pairs of key and value; keys are str. Mappings other than OrderedDict and ParameterDict are
            taken in the order of their sorted keys, as torch does
    """

    def __init__(self, values: Mapping[str, Any] | ParameterDict | Iterable[Iterable[Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if values is not None:
            self.update(values)

    def _name(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"a key of a ParameterDict is a str, not {type(key).__name__}")
        # So that a key may be called as a method is.
        return f"{key}" if not hasattr(type(self), key) else f"_{key}"

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._name(key), _held(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        if key not in self._keys:
            raise KeyError(key)
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> KeysView[str]:
        return self._keys.keys()

    def values(self) -> list[Any]:
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]

    def copy(self) -> Self:
        return type(self)(collections.OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> Self:
        return type(self)((key, default) for key in keys)

    def update(self, values: Mapping[str, Any] | ParameterDict | Iterable[Iterable[Any]]) -> None:
        if isinstance(values, (collections.OrderedDict, ParameterDict)):
            items = values.items()
        elif isinstance(values, collections.abc.Mapping):
            items = [(key, values[key]) for key in sorted(values)]
        elif isinstance(values, collections.abc.Iterable):
            items = [_pair(number, item) for number, item in enumerate(values)]
        else:
            kind = type(values).__name__
            raise TypeError(f"ParameterDict.update should be called with an iterable of pairs, but got {kind}")
        for key, value in items:
            self[key] = value

    def __or__(self, other: Mapping[str, Any] | ParameterDict | Iterable[Iterable[Any]]) -> Self:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: dict[str, Any]) -> dict[str, Any]:
        joined = other.copy()
        joined.update(self.items())
        return joined

    def __ior__(self, other: Mapping[str, Any] | ParameterDict | Iterable[Iterable[Any]]) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return self._described_lines(self.items())


def _pair(number: int, item: Iterable[Any]) -> tuple[Any, ...]:
    if not isinstance(item, collections.abc.Iterable):
        raise TypeError(f"ParameterDict.update: element {number} should be a pair, not {type(item).__name__}")
    pair = tuple(item)
    if len(pair) != 2:
        raise ValueError(f"ParameterDict.update: element {number} has length {len(pair)}; 2 is required")
    return pair
