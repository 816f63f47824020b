"""mypy accepts the package, with what pyproject.toml asks for: all bodies are checked, and each ignored error is named."""

import ast
import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
(UNTYPED,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]


def path_of(module):
    path = ROOT / "python" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def lacks_types(function):
    given = function.args
    parameters = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    has_types = [
        each.annotation is not None for each in parameters if each is not None and each.arg not in ("self", "cls")
    ]
    return not all(has_types) or function.returns is None


def test_mypy_accepts_the_package(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", UNTYPED["module"])
def test_a_module_that_may_lack_types_does(module):
    """Else it leaves the list."""
    functions = [node for node in ast.walk(ast.parse(path_of(module).read_text())) if isinstance(node, ast.FunctionDef)]
    assert any(map(lacks_types, functions))
