"""How a trace ends when it cannot continue: the table in csrc/symbolic/trace/endings.def, row by row."""

import itertools

import pytest

from minidynamo import _C

# The facts that hold, and the row that is chosen; the first case of a row has the fewest facts that lead to it.
CASES = [
    ("breaks", "Break"),
    ("breaks is_inside", "BreakInside"),
    ("breaks is_inside in_ours inlined skips in_stricter has_appended", "BreakInside"),
    ("breaks in_ours inlined", "BreakInOurs"),
    ("breaks in_ours inlined nests skips in_stricter", "BreakInOurs"),
    ("breaks in_ours inlined fullgraph", "BreakInOursWhole"),
    ("breaks skips", "Break"),
    ("breaks skips has_appended", "BreakAfterAppending"),
    ("breaks skips inlined", "Skip"),
    ("breaks skips inlined breaks_are_errors", "Skip"),
    ("breaks skips inlined nests", "SkipSilently"),
    ("breaks skips inlined nests breaks_are_errors", "SkipInnermost"),
    ("breaks skips inlined nests breaks_are_errors in_stricter fullgraph", "SkipInnermost"),
    ("breaks in_stricter inlined nests", "BreakInStricter"),
    ("breaks in_stricter inlined", "BreakBelowStricter"),
    ("breaks inlined", "BreakInlined"),
    ("breaks inlined has_appended", "BreakInlined"),
    ("breaks inlined nests", "Break"),
    ("breaks has_appended", "BreakAfterAppending"),
    ("breaks inlined nests has_appended", "BreakAfterAppending"),
    ("", "Raise"),
    ("inlined in_ours in_stricter nests fullgraph breaks_are_errors", "Raise"),
    ("raised_before", "RaiseAgain"),
    ("raised_before is_inside has_appended", "RaiseAgain"),
    ("is_inside", "RaiseInside"),
    ("is_inside has_appended", "RaiseInside"),
    ("has_appended", "RaiseAfterAppending"),
]


@pytest.mark.parametrize(("facts", "ending"), CASES)
def test_which_row_is_chosen(facts, ending):
    assert _C._decide_ending(*facts.split()) == ending


def test_each_row_can_be_chosen():
    assert {ending for _, ending in CASES} == set(_C._ending_rows())


def test_a_trace_always_ends():
    names = sorted(set(" ".join(facts for facts, _ in CASES).split()) - {"breaks"})
    for facts in itertools.product([False, True], repeat=len(names)):
        held = [name for name, holds in zip(names, facts, strict=True) if holds]
        assert not _C._decide_ending("breaks", *held).startswith("Raise")
        assert "skips" in held or _C._decide_ending(*held).startswith("Raise")
