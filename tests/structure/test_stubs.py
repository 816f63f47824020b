"""The stubs match the built extension, and mypy accepts them."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo
from minidynamo import _C

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="from 3.13 on CPython gives plain C methods a signature itself")
def test_stubs_are_those_of_the_built_module():
    # In a process of its own: tests before this one import modules and change what there is to see.
    program = f"""
import runpy
generator = runpy.run_path({str(ROOT / "tools" / "generate_stubs.py")!r}, run_name="generate_stubs")
for path, text in generator["stubs"]().items():
    assert path.read_text() == text, f"{{path}}: run tools/generate_stubs.py with the built extension"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_stubs_parse_and_name_everything():
    tree = ast.parse((ROOT / "python" / "minidynamo" / "_C.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in vars(_C) if not name.startswith("_")}
    assert public <= named


def names_of(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)


def test_the_package_has_no_public_name_that_its_stub_lacks():
    tree = ast.parse((ROOT / "python" / "minidynamo" / "__init__.pyi").read_text())
    assert set(minidynamo.__all__) <= set(names_of(tree.body))


def test_stubs_name_only_known_types():
    tree = ast.parse((ROOT / "python" / "minidynamo" / "_C.pyi").read_text())
    known = {
        "bool",
        "bytes",
        "cls",
        "dict",
        "float",
        "int",
        "list",
        "object",
        "property",
        "self",
        "set",
        "slice",
        "staticmethod",
    }
    known |= {"str", "tuple", "type", "classmethod"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            known |= {target.id for target in node.targets}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert used <= known


@pytest.mark.parametrize("folder", [".", *sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())])
def test_mypy_accepts_the_examples_in_strict_mode(folder, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    examples = sorted(map(str, (ROOT / "examples" / folder).glob("*.py")))
    if not examples:
        pytest.skip("no Python files")
    # An installed PyTorch counts as not installed: missing types in its functions are no errors of the examples.
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nignore_missing_imports = True\n[mypy-torch.*]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--follow-imports=silent"]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([*command, *examples], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_sees_wrong_calls(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text(
        "import minidynamo as md\n"
        "x: md.Tensor = md.ones(2, 3) + 1\n"
        "n: int = x.max(0).indices.dim()\n"
        "@md.compile\n"
        "def f(x: md.Tensor) -> md.Tensor:\n"
        "    return md.nn.functional.gelu(x.reshape(3, 2))\n"
        "y: md.Tensor = f(x)\n"
        "f('text')\n"
        "md.softmax(x, dim='rows')\n"
        "x.no_such_method()\n"
        "@md.compiler.disable(reason='a class')\n"
        "class Layers(md.nn.Module):\n"
        "    def __init__(self) -> None:\n"
        "        super().__init__()\n"
        "        self.first = md.nn.Linear(3, 2)\n"
        "        self.second = md.nn.Linear('three', 2)\n"
        "    def forward(self, x: md.Tensor, *, twice: bool) -> md.Tensor:\n"
        "        y: md.Tensor = self.first(x)\n"
        "        return y\n"
        "z: md.Tensor = Layers().eval()(x, twice=True)\n"
    )
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [8, 9, 10, 16], done.stdout
