"""Modules of the package import each other without cycles."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "minidynamo"


def modules_in(package):
    """{dotted name: path}; a package is its __init__.py."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def runs_at_import(nodes):
    """The statements among `nodes` and in them that run when the module is imported."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from runs_at_import(node.orelse)
            continue
        yield node
        yield from runs_at_import(ast.iter_child_nodes(node))


def imported(name, path, modules):
    """The modules that the module `name` imports by name, except the packages that contain it, which are imported
    before it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in runs_at_import(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            submodules = {f"{base}.{alias.name}" for alias in node.names} & modules.keys()
            found |= submodules
            if len(submodules) < len(node.names):
                found.add(base)
    # A module is imported after the packages that contain it.
    found |= {".".join(each.split(".")[:depth]) for each in found for depth in range(1, each.count(".") + 1)}
    return {each for each in found & modules.keys() if each != name and not name.startswith(each + ".")}


def circles(modules):
    """Strongly connected components with more than one module (Tarjan)."""
    edges = {name: imported(name, path, modules) for name, path in modules.items()}
    order, low, stack, found = {}, {}, [], []

    def visit(name):
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in sorted(edges[name]):
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in modules:
        if name not in order:
            visit(name)
    return found


def test_no_cycles():
    assert circles(modules_in(PACKAGE)) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.py": "from . import b", "b.py": "from .a import f"}, [["p.a", "p.b"]]),
        ({"a.py": "import p.b", "b.py": "try:\n    from p import a\nexcept ImportError: pass"}, [["p.a", "p.b"]]),
        ({"a.py": "from .q import b", "q/__init__.py": "", "q/b.py": "from .. import a"}, [["p.a", "p.q.b"]]),
        ({"a.py": "from .q import f", "q/__init__.py": "from .b import f", "q/b.py": "from ..a import g"}, 3),
        ({"a.py": "from . import b", "b.py": "def f():\n    from .a import f"}, []),
        ({"a.py": "from . import b", "b.py": "if TYPE_CHECKING:\n    from .a import f"}, []),
        ({"__init__.py": "from .a import f", "a.py": "from . import b", "b.py": "from . import _C"}, []),
    ],
)
def test_a_cycle_is_found(tmp_path, files, expected):
    package = tmp_path / "p"
    for name, text in {"__init__.py": "", **files}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text + "\n")
    found = circles(modules_in(package))
    assert found == expected or len(found[0]) == expected
