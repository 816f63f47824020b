"""The tracer and the parts that it owns: the size of their interfaces, and which other parts each may include."""

import re
from pathlib import Path

import pytest

SYMBOLIC = Path(__file__).parents[2] / "csrc" / "symbolic"
STATE = SYMBOLIC / "state"

# Each part, its header, and the parts below it that its header or source may include.
PARTS = {
    "ClassBuilder": ("class_builder", set()),
    "KeyTable": ("key_table", set()),
    "FrameStack": ("frame_stack", set()),
    "PendingCalls": ("pending_calls", set()),
    "EntryState": ("entry_state", set()),
    "ShapeEnv": ("shape_env", set()),
    "ValueReader": ("value_reader", {"ClassBuilder"}),
    "SideEffects": ("side_effects", {"KeyTable", "ValueReader"}),
    "GraphBuilder": ("graph_builder", {"FrameStack", "ValueReader"}),
    "DeferredOutput": ("deferred_output", {"GraphBuilder"}),
}
MOST_FUNCTIONS_OF_A_PART = 45
MOST_FUNCTIONS_OF_TRACER = 25
MOST_LINES_OF_TRACER = 200


def public_functions(text, name):
    """Names of the public member functions of a class; overloads count once."""
    body = text[re.search(rf"^class {name}(?: : public \w+)? \{{", text, re.MULTILINE).end() :]
    body = body[: re.search(r"^\};", body, re.MULTILINE).start()]
    body = re.sub(r"//.*", "", body).partition("\n private:")[0]
    declarations = re.findall(
        r"^  (?!return|if|for|throw)(?:\[\[noreturn\]\] )?[\w:<>,&* ]*?[\s&*>]~?(\w+|operator\W+)\(", body, re.MULTILINE
    )
    return set(declarations) - {name}


def header(stem):
    return (SYMBOLIC / f"{stem}.h").read_text()


def test_the_interface_of_the_tracer():
    assert len(public_functions(header("trace/tracer"), "Tracer")) <= MOST_FUNCTIONS_OF_TRACER
    assert len(header("trace/tracer").splitlines()) <= MOST_LINES_OF_TRACER


@pytest.mark.parametrize("part", PARTS)
def test_the_interface_of_a_part(part):
    stem, _ = PARTS[part]
    assert 0 < len(public_functions(header(f"state/{stem}"), part)) <= MOST_FUNCTIONS_OF_A_PART


@pytest.mark.parametrize("part", PARTS)
def test_a_part_includes_only_parts_below_it(part):
    stem, below = PARTS[part]
    source = STATE / f"{stem}.cpp"
    text = header(f"state/{stem}") + (source.read_text() if source.exists() else "")
    assert not re.search(r"\bTracer\b", re.sub(r"//.*", "", text))
    included = set(re.findall(r'#include "symbolic/state/(\w+)\.h"', text)) - {stem}
    others = {other: name for name, (other, _) in PARTS.items()}
    assert {others[each] for each in included & set(others)} <= below


def test_no_class_opens_its_fields():
    for path in sorted(SYMBOLIC.rglob("*.h")):
        friends = re.findall(
            r"^\s*friend (?!bool operator)(?!class Handle)(?!PyObject\*)(?!struct HostCallRun).*",
            path.read_text(),
            re.MULTILINE,
        )
        assert friends == [], path.name
