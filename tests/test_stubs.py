"""python/minidynamo/_C.pyi says what the built extension holds."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from minidynamo import _C

ROOT = Path(__file__).parent.parent


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_stubs", ROOT / "tools" / "generate_stubs.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    return generator


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="from 3.13 on CPython gives plain C methods a signature itself")
def test_stubs_are_those_of_the_built_module():
    generator = load_generator()
    generated = generator.generate(_C).splitlines()
    assert generator.STUB.read_text().splitlines() == generated, "run tools/generate_stubs.py with the built extension"


def test_stubs_parse_and_name_everything():
    tree = ast.parse((ROOT / "python" / "minidynamo" / "_C.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in vars(_C) if not name.startswith("_")}
    assert public <= named


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
            known |= {alias.name for alias in node.names}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert used <= known
