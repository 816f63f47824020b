"""Writes the public names of the installed torch to tools/torch_names.txt: tools/torch_names.py [--check]

One line for each public module, and one for Tensor: "torch.nn: Linear Module ...". Public are the names in `__all__`,
or without one those that the module defines or takes from its private modules, but for names that begin with an
underscore. --check writes nothing and fails if a line differs; modules that need further packages may be missing on
either side.
"""

import importlib
import pkgutil
import sys
import types
import warnings
from pathlib import Path

NAMES = Path(__file__).with_name("torch_names.txt")


def modules(package):
    """The public modules below a package that can be imported, itself included."""
    yield package
    for info in pkgutil.iter_modules(original(package).__path__, f"{package.__name__}."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        try:
            module = importlib.import_module(info.name)
        except (Exception, SystemExit):  # needs another package, another system, or is a program
            continue
        yield from modules(module) if "__path__" in vars(original(module)) else [module]


def original(module):
    """The module that an object, which has it as `m`, has replaced in sys.modules."""
    replaced = vars(module).get("m")
    return replaced if isinstance(replaced, types.ModuleType) else module


def names(module):
    listed = getattr(module, "__all__", None)
    switches = set() if type(module) is types.ModuleType else set(vars(type(module)))
    # An object in the place of a module has switches as attributes of its class.
    defined = {*dir(original(module)), *switches}
    found = set()
    for name in defined if listed is None else listed:
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if listed is None and name not in switches and not is_own(module, value):
            continue
        found.add(name)
    return sorted(found)


def is_own(module, value):
    """Of a module without `__all__`: what it defines, or takes from a private module below it."""
    owner = getattr(value, "__module__", None)
    if isinstance(value, (type, types.FunctionType)):
        return owner == module.__name__ or str(owner).startswith(f"{module.__name__}._")
    return isinstance(owner, str) and owner.startswith("torch")


def installed():
    """{module: names} of the installed torch."""
    import torch

    warnings.simplefilter("ignore")
    found = {module.__name__: names(module) for module in modules(torch)}
    found["torch.Tensor"] = sorted(name for name in dir(torch.Tensor) if not name.startswith("_"))
    return {module: each for module, each in sorted(found.items()) if each}


def read():
    """{module: names} of the file."""
    rows = (line.partition(": ") for line in NAMES.read_text().splitlines())
    return {module: found.split() for module, _, found in rows}


def main():
    found = installed()
    if sys.argv[1:] == ["--check"]:
        known = read()
        differing = [module for module in found.keys() & known.keys() if found[module] != known[module]]
        sys.exit(f"not what the installed torch has: {', '.join(sorted(differing))}" if differing else None)
    NAMES.write_text("".join(f"{module}: {' '.join(each)}\n" for module, each in found.items()))


if __name__ == "__main__":
    main()
