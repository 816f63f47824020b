"""The order of the folders of csrc/, and of the rooms in them, and what each may include."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from same_on_each_version import SAME_ON_EACH_VERSION

CSRC = Path(__file__).parents[2] / "csrc"
ORDER = "base cpython tensor autograd machine_code bytecode graph guards frontends snapshot symbolic executor eval_frame bindings".split()
CORE = {"base", "tensor", "autograd", "machine_code", "graph", "executor"}
# The rooms of a folder; "" are the files that lie in no room. A file includes only its own room and those before it.
ROOMS = {
    "tensor": ["", "parallel", "simd", "ops", "shapes", "gemm", "matrices", "kernels"],
    "executor": ["loops", ""],
    "frontends": ["", "minidynamo", "numpy", "torch"],
    "symbolic": "values breaks state trace facts sizes effects tensors attributes calls exceptions builtins opcodes exit".split(),
}
# Code that executes a program calls everything else, and is called by it: the sources of these rooms may include each
# other's headers. Their headers follow the order.
MUTUAL_SOURCES = {
    "symbolic": set("trace facts sizes effects tensors attributes calls exceptions builtins exit".split())
}
# The interface of a step, and the parts of its plan that it may use: headers that come before the first room.
BEFORE_ROOMS = {
    "executor": "fusion_groups.h lowering.h not_fused.def plan_facts.h run_state.h step.h buffer_assignment.h".split(),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp", ".c", ".def", ".inl"})
DEFINITION = re.compile(
    r"^(?:struct|class|union|enum(?: class)?) (?:alignas\(\d+\) )?(\w+)(?: final)?(?: : [^;{]*)? \{|^using (\w+) =",
    re.M,
)


def allowed_folders(folder):
    if folder == "cpython":
        return {"base", "cpython"}
    before = set(ORDER[: ORDER.index(folder) + 1])
    return before & CORE if folder in CORE else before


def place_of(folder, rest):
    """The position of a file's room in its folder: a number, larger for later rooms."""
    if rest in BEFORE_ROOMS.get(folder, []):
        return -1
    room, _, name = rest.rpartition("/")
    return ROOMS[folder].index(room) if folder in ROOMS else 0


def violations(folder, name, text):
    """The violations among the includes of a file, as a list of texts. name: within the folder."""
    found = []
    room = name.rpartition("/")[0]
    mutual = MUTUAL_SOURCES.get(folder, set()) if name.endswith(".cpp") else set()
    for quote, target in INCLUDE.findall(text):
        target_folder, _, rest = target.partition("/")
        is_ours = quote == '"' and not target.startswith("internal/")
        if is_ours and target_folder not in allowed_folders(folder):
            found.append(f"{folder}/ may not include {target}")
        elif is_ours and target_folder == folder and {room, rest.rpartition("/")[0]} <= mutual:
            continue
        elif is_ours and target_folder == folder and place_of(folder, rest) > place_of(folder, name):
            found.append(f"{folder}/{name} may not include {target}")
        if target == "Python.h" and folder in CORE:
            found.append(f"{folder}/ may not include {target}")
        if "internal/" in target and not (folder == "cpython" and name.endswith(".c")):
            found.append(f"only csrc/cpython/*.c may include {target}")
        if "dnnl" in target and quote == "<" and not (folder == "tensor" and name.startswith("gemm/onednn")):
            found.append(f"only csrc/tensor/gemm/onednn* may include {target}")
    return found


def test_every_folder_has_its_place():
    assert {path.name for path in CSRC.iterdir() if path.is_dir() and any(path.iterdir())} <= set(ORDER)


def test_every_room_has_its_place():
    rooms = defaultdict(set)
    for path in SOURCES:
        folder, *inner, _ = path.relative_to(CSRC).parts
        rooms[folder].add("/".join(inner))
    assert {folder: names for folder, names in rooms.items() if names != {""}} == {
        folder: set(names) for folder, names in ROOMS.items()
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CSRC)))
def test_includes(path):
    folder, _, name = path.relative_to(CSRC).as_posix().partition("/")
    assert violations(folder, name, path.read_text()) == []
    for quote, target in INCLUDE.findall(path.read_text()):
        assert quote == "<" or target.startswith(("internal/", "minidynamo/")) or (CSRC / target).exists(), target


@pytest.mark.parametrize(
    ("folder", "name", "line"),
    [
        ("base", "error.h", '#include "tensor/tensor.h"'),
        ("executor", "plan.h", '#include "guards/guard_set.h"'),
        ("graph", "graph.h", '#include "cpython/ref.h"'),
        ("tensor", "tensor.h", "#include <Python.h>"),
        ("tensor", "kernels/matmul_kernels.cpp", "#include <oneapi/dnnl/dnnl.hpp>"),
        ("tensor", "tensor.h", '#include "tensor/ops/op_row.h"'),
        ("tensor", "simd/loops.inl", '#include "tensor/kernels/dim_slices.h"'),
        ("executor", "loops/loop_op.h", '#include "executor/plan.h"'),
        ("executor", "step.h", '#include "executor/loops/loop_program.h"'),
        ("eval_frame", "driver.cpp", '#include "internal/pycore_frame.h"'),
        ("cpython", "frame.cpp", "#include <internal/pycore_frame.h>"),
        ("symbolic", "trace/tracer.h", '#include "trace_log.h"'),
    ],
)
def test_a_forbidden_include_is_found(folder, name, line):
    assert len(violations(folder, name, f"// a comment\n{line}\n")) == 1


def test_contributing_lists_every_folder():
    text = " ".join((CSRC.parent / "CONTRIBUTING.md").read_text().split())
    assert f"in this order: {', '.join(ORDER)}." in text
    rooms = [f"`{folder}/`: {', '.join(room or 'what lies in no room' for room in ROOMS[folder])}" for folder in ROOMS]
    assert all(line in text for line in rooms), rooms
    assert f"{', '.join(name for name in ORDER if name in CORE and name != 'executor')} and executor" in text


def test_no_type_has_the_name_of_another():
    """All headers share one namespace."""
    places = defaultdict(set)
    for path in SOURCES:
        if path.suffix == ".h":
            for match in DEFINITION.finditer(path.read_text()):
                places[match[1] or match[2]].add(path.relative_to(CSRC).as_posix())
    assert len(places) > 400
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}


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


# A library of tensors is named in its folder of frontends/ alone; what a package is skipped for is a table of names.
ABOVE_FRONTENDS = {"guards", "snapshot", "symbolic", "eval_frame"}
NAMES_A_LIBRARY = re.compile(
    r'"(?:torch|numpy|minidynamo)(?:\._C)?"|"frontends/(?:minidynamo|torch|numpy)/|\btensor_of\(|\bwrap_tensor\('
)
ALLOWED_NAMES = {
    "eval_frame/skipped_packages.def": "packages whose functions are never roots",
    "eval_frame/capture_scope.cpp": "the folder of this package",
    "symbolic/attributes/attribute_lookup.cpp": "submodules that this package imports on first access",
}


def test_no_room_above_the_front_ends_names_a_library():
    found = defaultdict(list)
    for path in SOURCES:
        name = path.relative_to(CSRC).as_posix()
        if name.split("/")[0] in ABOVE_FRONTENDS and name not in ALLOWED_NAMES:
            found[name] += NAMES_A_LIBRARY.findall(path.read_text())
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert NAMES_A_LIBRARY.search('#include "frontends/minidynamo/tensor_object.h"')


def test_no_fast_math():
    root = CSRC.parent
    for path in [root / "CMakeLists.txt", root / "CMakePresets.json", *(root / "cmake").glob("*.cmake")]:
        for line in path.read_text().splitlines():
            assert line.lstrip().startswith("#") or not re.search(r"-ffast-math|-Ofast", line), path


def test_each_test_that_runs_in_part_exists():
    missing = [name for name in SAME_ON_EACH_VERSION if not (Path(__file__).parents[1] / name).exists()]
    assert not missing
