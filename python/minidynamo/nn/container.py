"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, SupportsIndex, overload

from .module import Module


class _Ordered(Module):
    """Shared by Sequential and ModuleList: modules under the names "0", "1", ..."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # None only by add_module(name, None)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _key(self, index: SupportsIndex) -> str:
        try:
            position = index.__index__()
        except AttributeError:
            raise TypeError(f"indices must be integers or slices, not {type(index).__name__}") from None
        if not -len(self) <= position < len(self):
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Module | Self:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: SupportsIndex, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber()

    def _renumber(self) -> None:
        modules = list(self._modules.values())
        self._modules.clear()
        for number, module in enumerate(modules):
            self._modules[str(number)] = module

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Self:
        return self._of([(str(at), module) for at, module in enumerate([*self, *other])])

    def pop(self, key: SupportsIndex) -> Module:
        """Removes a module and returns it."""
        module = self[key]
        del self[key]
        return module

    def insert(self, index: SupportsIndex, module: Module) -> None:
        modules = list(self._modules.values())
        modules.insert(index, module)
        self.append(module)
        self._modules.clear()
        for number, each in enumerate(modules):
            self._modules[str(number)] = each


class Sequential(_Ordered):
    """Calls its modules one after the other, each with the result of the previous one.

    Takes modules, or one dict of names to modules.
    """

    def __init__(self, *args: Module | dict[str, Module]) -> None:
        super().__init__()
        named: Iterable[tuple[str, Any]]
        if len(args) == 1 and isinstance(args[0], dict):
            named = args[0].items()
        else:
            named = ((str(number), module) for number, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def _of(self, items: list[tuple[str, Module]]) -> Self:
        return type(self)(dict(items))

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Ordered):
    """A list whose modules are submodules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, items: list[tuple[str, Module]]) -> Self:
        return type(self)(module for _, module in items)

    def __repr__(self) -> str:
        """Equal neighbours are written once: (0-2): 3 x Linear(...)."""
        runs: list[list[Any]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = number
            else:
                runs.append([number, number, text])
        lines = []
        for first, last, text in runs:
            head = f"({first})" if first == last else f"({first}-{last}): {last - first + 1} x"
            line = f"{head}: {text}" if first == last else f"{head} {text}"
            lines.append("  " + line.replace("\n", "\n  ") + "\n")
        return f"{type(self).__name__}(\n{''.join(lines)})" if lines else f"{type(self).__name__}()"

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class ModuleDict(Module):
    """A dict whose modules are submodules."""

    _modules: dict[str, Module]  # type: ignore[assignment]  # None only by add_module(name, None)

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        return self._modules.values()

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        module = self[key]
        del self[key]
        return module

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for key, module in dict(modules).items():
            self[key] = module
