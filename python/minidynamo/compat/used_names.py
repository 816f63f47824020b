"""The names of torch that the files of a program use, read from their source: nothing is run."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType

from . import in_place


@dataclass
class _Use:
    name: str  # torch.nn.Linear
    place: str  # file:line


@dataclass
class _File:
    path: str
    tree: ast.Module
    aliases: dict[str, str] = field(default_factory=dict)  # a variable -> the name of torch that it is


def report(script: str) -> int:
    """Prints the missing names with the places that use them, to stdout. Returns 0 if there are none, 1 if there are, 2
    if the script cannot be read."""
    try:
        uses = list(names_in(script))
    except (OSError, SyntaxError, ValueError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 2
    places: dict[str, list[str]] = {}
    for use in uses:
        name = _missing_part(use.name)
        if name is not None:
            places.setdefault(name, []).append(use.place)
    used = len({use.name for use in uses})
    print(f"{used} names of torch are used, {len(places)} of them are not in minidynamo")
    for name, where in sorted(places.items()):
        more = f" and {len(where) - 3} more" if len(where) > 3 else ""
        print(f"  {name}: {', '.join(where[:3])}{more}")
    return 1 if places else 0


def names_in(script: str) -> Iterator[_Use]:
    """Those of the script, and of the files below its folder that it imports."""
    root = os.path.dirname(os.path.abspath(script))
    waiting, seen = [os.path.abspath(script)], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        with open(path, "rb") as source:
            file = _File(path, ast.parse(source.read(), path))
        yield from _uses(file)
        waiting.extend(_imported_files(file, root))


def _uses(file: _File) -> Iterator[_Use]:
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imports(file, node)
    # A chain of attributes is used once, by its longest name.
    inner = {id(node.value) for node in ast.walk(file.tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            name = _dotted(file, node)
            if name is not None:
                yield _Use(name, f"{file.path}:{node.lineno}")


def _imports(file: _File, node: ast.Import | ast.ImportFrom) -> Iterator[_Use]:
    place = f"{file.path}:{node.lineno}"
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] != "torch":
                continue
            file.aliases[alias.asname or "torch"] = alias.name if alias.asname else "torch"
            yield _Use(alias.name, place)
    elif not node.level and node.module is not None and node.module.partition(".")[0] == "torch":
        for alias in node.names:
            if alias.name == "*":
                yield _Use(node.module, place)
                continue
            name = f"{node.module}.{alias.name}"
            file.aliases[alias.asname or alias.name] = name
            yield _Use(name, place)


def _dotted(file: _File, node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in file.aliases:
        return None
    return ".".join([file.aliases[node.id], *reversed(parts)])


def _imported_files(file: _File, root: str) -> Iterator[str]:
    """Files of the program itself: packages that are installed are not followed."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            modules = [(root, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = root
            if node.level:
                base = file.path
                for _ in range(node.level):
                    base = os.path.dirname(base)
            stem = node.module or ""
            modules = [(base, stem), *((base, f"{stem}.{alias.name}".strip(".")) for alias in node.names)]
        else:
            continue
        for base, module in modules:
            yield from _files_of(base, module)


def _files_of(base: str, module: str) -> Iterator[str]:
    path = base
    for part in filter(None, module.split(".")):
        path = os.path.join(path, part)
        for candidate in (os.path.join(path, "__init__.py"), f"{path}.py"):
            if os.path.isfile(candidate):
                yield candidate


def _missing_part(name: str) -> str | None:
    """The shortest beginning of the name that is missing: None if the name is there, or an attribute of an object."""
    found: object = importlib.import_module(__name__.partition(".")[0])
    parts = name.split(".")
    for i in range(1, len(parts)):
        if not isinstance(found, (ModuleType, type)):
            return None
        prefix = ".".join(parts[: i + 1])
        following = _attribute(found, parts[i], prefix)
        if following is None:
            return prefix
        found = following[0]
    return None


def _attribute(owner: object, name: str, full: str) -> tuple[object] | None:
    """The object of that name, or module, in a tuple."""
    ours = in_place.module_of(full) if isinstance(owner, ModuleType) else None
    if ours is not None:
        return (importlib.import_module(ours),)
    try:
        value = getattr(owner, name)
    except AttributeError:
        return None
    # A module of ours alone.
    return None if isinstance(value, ModuleType) and value.__name__.startswith(__name__.partition(".")[0]) else (value,)
