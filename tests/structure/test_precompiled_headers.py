"""A precompiled header hides no missing include: each file reaches what it names through its own includes."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from test_layering import INCLUDE

ROOT = Path(__file__).parents[2]
CSRC = ROOT / "csrc"
CMAKE = (ROOT / "cmake" / "precompiled_headers.cmake").read_text()
FILES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cpp"})
DEFINITION = re.compile(
    r"^(?:template <[^>]*>\n)?(?:struct|class|enum(?: class)?) (\w+)\b[^;()]*\{|^using (\w+) =", re.MULTILINE
)
DECLARATION = re.compile(r"^(?:struct|class|enum class) (\w+)(?: : \w+)?;", re.MULTILINE)

# The names that each precompiled header of the standard library is included for.
STANDARD = {
    "algorithm": r"ranges::\w+ sort find find_if any_of all_of none_of count_if fill copy reverse max min clamp equal",
    "array": "array",
    "atomic": "atomic",
    "bit": "bit_cast popcount countr_zero countl_zero has_single_bit bit_width endian",
    "cmath": "isnan isinf isfinite sqrt floor ceil trunc fabs ldexp frexp nextafter signbit",
    "cstring": "memcpy memcmp memset memmove strcmp strlen strncmp",
    "functional": "function reference_wrapper",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this",
    "mutex": "mutex lock_guard unique_lock once_flag call_once scoped_lock recursive_mutex",
    "numeric": "accumulate iota gcd lcm",
    "optional": "optional nullopt",
    "set": "set multiset",
    "span": "span",
    "string": "string to_string",
    "string_view": "string_view",
    "tuple": "tuple tie make_tuple apply",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant monostate holds_alternative visit get_if",
    "vector": "vector",
}
OTHERS = {
    "sstream": r"\bstd::[io]?stringstream\b",
    "Python.h": r"\bPy(?:_|[A-Z])\w+\(",
    "pybind11/pybind11.h": r"\bpybind11::",
}
# One header that may be relied on for the names of another.
INSTEAD = {"string_view": "string", "Python.h": "pybind11/pybind11.h"}
# Nearly each standard header defines parts of these.
NOT_CHECKED = {"type_traits", "utility", "cstddef", "cstdint", "stdexcept"}


def headers_of(target):
    """The precompiled headers of a target: external ones, and ours."""
    (text,) = re.findall(rf"^set\({target}_headers ([^)]*)\)", CMAKE, re.MULTILINE)
    outside, ours = set(re.findall(r"<([^>]+)>", text)), set(re.findall(r'"([^"]+)"', text))
    for other in re.findall(r"\$\{(\w+)_headers\}", text):
        more, more_ours = headers_of(other)
        outside, ours = outside | more, ours | more_ours
    return outside, ours


def files_of_symbolic():
    """The sources that are compiled with the precompiled header of symbolic/."""
    text = (ROOT / "cmake" / "extension.cmake").read_text()
    rooms = re.search(r"^set\(symbolic_rooms ([^)]*)\)", text, re.MULTILINE)[1].split()
    sources = [path for room in rooms for path in (CSRC / "symbolic" / room).glob("*.cpp")]
    return [path for path in sources if path.name != "codec_calls.cpp"]


@cache
def code(path):
    """The text without comments, literals and includes."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return re.sub(r"^\s*#\s*include[^\n]*", "", text, flags=re.MULTILINE)


@cache
def includes(path):
    found = INCLUDE.findall(path.read_text())
    return {name for kind, name in found if kind == "<"}, {CSRC / name for kind, name in found if kind == '"'}


@cache
def reached(path):
    """The external headers that a file includes, directly or not, and the files of this tree, itself among them."""
    outside, ours, waiting = set(), set(), [path]
    while waiting:
        each = waiting.pop()
        if each not in ours and each.exists():
            ours.add(each)
            more, waiting_too = includes(each)
            outside |= more
            waiting += waiting_too
    return outside, ours


def missing_from_outside(text, outside):
    patterns = {header: rf"\bstd::(?:{'|'.join(names.split())})\b" for header, names in STANDARD.items()} | OTHERS
    return [
        f"<{header}> for {match[0]}"
        for header, pattern in patterns.items()
        if not outside & {header, INSTEAD.get(header)} and (match := re.search(pattern, text))
    ]


def test_a_file_includes_what_it_names():
    missing = {path.relative_to(CSRC).as_posix(): missing_from_outside(code(path), reached(path)[0]) for path in FILES}
    assert {name: headers for name, headers in missing.items() if headers} == {}


def test_a_missing_include_is_found():
    assert missing_from_outside("std::vector<int> all;", {"string"}) == ["<vector> for std::vector"]
    assert missing_from_outside("Py_INCREF(object);", {"vector"}) == ["<Python.h> for Py_INCREF("]
    assert missing_from_outside("std::vector<int> all;", {"vector"}) == []


def test_the_names_of_each_precompiled_header_are_known():
    for target in ("core", "extension", "symbolic", "bindings"):
        assert headers_of(target)[0] <= set(STANDARD) | set(OTHERS) | NOT_CHECKED


def test_each_file_includes_our_precompiled_headers():
    for target in ("core", "extension", "bindings"):
        assert headers_of(target)[1] == set()
    _, precompiled = headers_of("symbolic")
    assert precompiled
    for path in files_of_symbolic():
        assert {CSRC / name for name in precompiled} <= reached(path)[1], path


def test_headers_reach_the_types_that_a_precompiled_header_defines():
    """A header that is compiled after the precompiled one must not depend on that."""
    places = {}
    precompiled = set().union(*(reached(CSRC / name)[1] for name in headers_of("symbolic")[1]))
    for path in precompiled:
        for match in DEFINITION.finditer(code(path)):
            places[match[1] or match[2]] = path
    assert len(places) > 100
    headers = {each for path in files_of_symbolic() for each in reached(path)[1] if each.suffix == ".h"}
    for path in sorted(headers - precompiled):
        _, ours = reached(path)
        declared = {name for each in ours for name in DECLARATION.findall(code(each))}
        named = set(re.findall(r"(?<![.:>])\b[A-Z]\w+\b(?=[ &*<>,)])", code(path))) & set(places)
        assert {name for name in named if places[name] not in ours} <= declared, path


@pytest.mark.skipif(not (shutil.which("ccache") and shutil.which("c++")), reason="ccache or c++ is not installed")
def test_a_header_of_an_earlier_build_is_not_read(tmp_path):
    """What lies in the build directory decides nothing: after going back to an earlier state of a header and changing it
    otherwise, a precompiled header is made of the change."""
    settings = re.search(r"CCACHE_SLOPPINESS=\S+", (ROOT / "cmake" / "compiler_cache.cmake").read_text()).group()
    name, _, value = settings.partition("=")
    environment = {**os.environ, name: value, "CCACHE_DIR": str(tmp_path / "cache"), "CCACHE_BASEDIR": str(tmp_path)}
    launcher = [str(ROOT / "cmake" / "without_old_header.sh"), "ccache", "c++"]
    header, made = tmp_path / "type.h", tmp_path / "all.hxx.gch"
    (tmp_path / "all.hxx").write_text('#include "type.h"\n')
    (tmp_path / "all.hxx.cxx").write_text("")

    def compile(*arguments):
        subprocess.run([*launcher, *arguments], cwd=tmp_path, env=environment, check=True)

    def make(member):
        header.write_text(f"#pragma once\nstruct Type {{ int {member}; }};\n")
        compile("-x", "c++-header", "-include", str(tmp_path / "all.hxx"), "-o", made.name, "-c", "all.hxx.cxx")
        (tmp_path / "user.cpp").write_text(f"int read(Type value) {{ return value.{member}; }}\n")
        compile("-include", str(tmp_path / "all.hxx"), "-c", "user.cpp", "-o", "user.o")

    make("first")
    first = made.read_bytes()
    make("second")
    made.write_bytes(first)
    make("third")
