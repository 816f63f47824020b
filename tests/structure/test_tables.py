"""The code next to the tables must not leave a row to a default, or identify an op by its name."""

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[2] / "csrc"
SOURCES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".c", ".cpp", ".inl"})
NAME_ASKED = re.compile(r'\b(?:op|row)_?(?:\(\))?(?:->|\.)name(?:\.\w+\(| [!=]= )"')


def block_after(text, start):
    """The text between the first brace from `start` on and the matching one."""
    begin = text.index("{", start)
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin + 1 : at]
    raise AssertionError("unbalanced braces")


def without_inner_switches(block):
    while match := re.search(r"\bswitch \(", block):
        inner = block_after(block, match.start())
        block = block[: match.start()] + block[block.index(inner, match.start()) + len(inner) + 1 :]
    return block


def lenient_switches(text):
    """Switches over the values of an enum that have a default."""
    text = re.sub(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", "", text)
    found = []
    for match in re.finditer(r"\bswitch \(", text):
        block = without_inner_switches(block_after(text, match.start()))
        if re.search(r"\bdefault:", block) and re.search(r"\bcase \w+(?:::\w+)+:", block):
            found.append(text[match.start() : text.index("{", match.start())].strip())
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CSRC)))
def test_every_row_is_named(path):
    text = path.read_text()
    assert lenient_switches(text) == []
    assert NAME_ASKED.findall(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("switch (dtype) { case DType::int8: return 1; default: return 2; }", 1),
        ("switch (row.kind()) { case OpKind::View: { break; } default: break; }", 1),
        ("switch (size) { case 1: return 1; default: return 2; }", 0),
        ("switch (dtype) { case DType::int8: switch (size) { case 1: break; default: break; } }", 0),
        ("switch (size) { case 1: switch (dtype) { case DType::int8: break; default: break; } }", 1),
        ("switch (dtype) { case DType::int8: return 1;  // default: none\n }", 0),
    ],
)
def test_a_default_is_found(text, found):
    assert len(lenient_switches(text)) == found


@pytest.mark.parametrize(
    "text",
    ['node.op->name == "sum"', 'if (row.name != "sum")', 'call.row.name.starts_with("arg")', 'row_->name != "pow"'],
)
def test_a_compared_name_is_found(text):
    assert NAME_ASKED.search(text)
