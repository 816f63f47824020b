"""The order of the folders of csrc/ and what each may include."""

import re
from pathlib import Path

import pytest
from same_on_each_version import SAME_ON_EACH_VERSION

CSRC = Path(__file__).parent.parent / "csrc"
ORDER = "base cpython tensor machine_code bytecode graph guards frontends snapshot symbolic executor eval_frame bindings".split()
CORE = {"base", "tensor", "machine_code", "graph", "executor"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp", ".c", ".def"})


def allowed_folders(folder):
    if folder == "cpython":
        return {"base", "cpython"}
    before = set(ORDER[: ORDER.index(folder) + 1])
    return before & CORE if folder in CORE else before


def violations(folder, name, text):
    """What the includes of a file break, as a list of texts."""
    found = []
    for quote, target in INCLUDE.findall(text):
        if quote == '"' and not target.startswith("internal/") and target.split("/")[0] not in allowed_folders(folder):
            found.append(f"{folder}/ may not include {target}")
        if target == "Python.h" and folder in CORE:
            found.append(f"{folder}/ may not include {target}")
        if "internal/" in target and not (folder == "cpython" and name.endswith(".c")):
            found.append(f"only csrc/cpython/*.c may include {target}")
        if "dnnl" in target and quote == "<" and not (folder == "tensor" and name.startswith("onednn")):
            found.append(f"only csrc/tensor/onednn* may include {target}")
    return found


def test_every_folder_has_its_place():
    assert {path.name for path in CSRC.iterdir() if path.is_dir() and any(path.iterdir())
} <= set(ORDER)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CSRC)))
def test_includes(path):
    folder = path.relative_to(CSRC).parts[0]
    assert violations(folder, path.name, path.read_text()) == []


@pytest.mark.parametrize(
    ("folder", "name", "line"),
    [
        ("base", "error.h", '#include "tensor/tensor.h"'),
        ("executor", "plan.h", '#include "guards/guard_set.h"'),
        ("graph", "graph.h", '#include "cpython/ref.h"'),
        ("tensor", "tensor.h", "#include <Python.h>"),
        ("tensor", "kernels.cpp", "#include <oneapi/dnnl/dnnl.hpp>"),
        ("eval_frame", "driver.cpp", '#include "internal/pycore_frame.h"'),
        ("cpython", "frame.cpp", "#include <internal/pycore_frame.h>"),
        ("symbolic", "walk.h", '#include "walk_state.h"'),
    ],
)
def test_a_forbidden_include_is_found(folder, name, line):
    assert violations(folder, name, f"// a comment\n{line}\n")


def test_each_hook_is_installed_by_the_bindings_and_called_below():
    hooks = re.findall(r"^MD_HOOK\((\w+),", (CSRC / "base" / "host_hooks.def").read_text(), re.MULTILINE)
    assert hooks
    texts = {path.relative_to(CSRC).parts[0]: "" for path in SOURCES}
    for path in SOURCES:
        texts[path.relative_to(CSRC).parts[0]] += path.read_text()
    for hook in hooks:
        assert [folder for folder, text in texts.items() if f"host_hooks.{hook} = " in text] == ["bindings"], hook
        assert any(re.search(rf"host_hooks\.{hook}\b", texts[folder]) for folder in ORDER[:-1]), hook


def test_no_other_function_is_installed_from_above():
    setters = re.compile(r"^void set_\w+\((?:\w+ \(\*|\w+(?:Handler|Maker|Reader|Sink|Library)\b)", re.MULTILINE)
    assert [str(path) for path in SOURCES if path.suffix == ".h" and setters.search(path.read_text())] == []


def test_no_fast_math():
    root = CSRC.parent
    for path in [root / "CMakeLists.txt", root / "CMakePresets.json", *(root / "cmake").glob("*.cmake")]:
        for line in path.read_text().splitlines():
            assert line.lstrip().startswith("#") or not re.search(r"-ffast-math|-Ofast", line), path


def test_each_test_that_runs_in_part_is_there():
    missing = [name for name in SAME_ON_EACH_VERSION if not (Path(__file__).parent / name).exists()]
    assert not missing
