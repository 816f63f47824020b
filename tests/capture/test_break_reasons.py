"""Each reason of csrc/symbolic/breaks/graph_breaks.def is met by a program of break_programs.py, with the results of eager Python.

A silent reason is not reported. It shows as a region that ends in the middle of the function; the program without its cause
has no such region.
"""

import contextlib
import copy

import pytest
from break_programs import PROGRAMS
from differential import assert_same, observe

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import error_on_graph_break
from minidynamo._dynamo.exc import Unsupported

ROWS = {row["id"]: row for row in _C.graph_break_rows()}
# Met with tensors of another library only: test_torch_tensors.py and test_unraised.py of tests/frontends/torch_family.
OF_OTHER_LIBRARIES = {"MD0068", "MD0069", "MD0071"}
TOLERANCE = 2e-6

pytestmark = pytest.mark.counts_regions


def each_program(*, silent):
    programs = [program for program in PROGRAMS if ROWS[program.gb_id]["silent"] == silent]
    return pytest.mark.parametrize("program", programs, ids=lambda program: ROWS[program.gb_id]["name"])


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


@contextlib.contextmanager
def unchanged(program):
    """Checks that the globals that the program modifies are in their initial state; returns a function that restores
    them."""
    namespace = program.function.__globals__
    initial = {name: copy.deepcopy(namespace[name]) for name in program.state}

    def restore():
        namespace.update(copy.deepcopy(initial))

    try:
        yield restore
    finally:
        restore()


def captures_of(function, make):
    """Returns the regions that a call captures, and the ids of the breaks that it records."""
    breaks = []
    regions = _C.record_captures(lambda: breaks.extend(_C.record_breaks(lambda: observe(function, make()))))
    return regions, [found["id"] for found in breaks]


def silent_ends(regions):
    return [region["start"] for region in regions if region["exit"] in ("break", "loop") and region["break"] is None]


def test_each_row_has_a_program():
    assert sorted([program.gb_id for program in PROGRAMS] + list(OF_OTHER_LIBRARIES)) == sorted(ROWS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: ROWS[program.gb_id]["name"])
def test_results_are_those_of_eager_python(program):
    compiled = minidynamo.compile(program.function)
    with unchanged(program) as restore, program.around():
        for make in program.calls * 3:
            outcomes = []
            for function in (program.function, compiled):
                restore()
                outcomes.append(observe(function, make(), program.function.__globals__, program.state))
            assert outcomes[0].error is None
            assert_same(*outcomes, program.function.__name__, TOLERANCE)


@each_program(silent=False)
def test_reported(program):
    compiled = minidynamo.compile(program.function)
    with unchanged(program), program.around():
        *_, (_, ids) = [captures_of(compiled, make) for make in program.calls]
    assert ids[:1] == ([program.gb_id] if program.recorded else [])


@each_program(silent=False)
def test_raises_if_breaks_are_errors(program):
    compiled = minidynamo.compile(program.function)
    *earlier, last = [make() for make in program.calls]
    with unchanged(program), program.around(), error_on_graph_break(True):
        for arguments in earlier:
            compiled(*arguments)
        with pytest.raises(Unsupported) as caught:
            compiled(*last)
    assert (caught.value.gb_id, caught.value.gb_type) == (program.gb_id, ROWS[program.gb_id]["title"])


@each_program(silent=True)
def test_silent(program):
    for function, around in ((program.function, program.around), (program.without, contextlib.nullcontext)):
        compiled = minidynamo.compile(function)
        with around():
            *_, (regions, ids) = [captures_of(compiled, make) for make in program.calls]
        assert ids == []
        assert bool(silent_ends(regions)) == (function is program.function)


@each_program(silent=True)
def test_silent_reasons_do_not_raise(program):
    compiled = minidynamo.compile(program.function)
    with program.around(), error_on_graph_break(True):
        for make in program.calls:
            try:
                compiled(*make())
            except Unsupported as error:  # for the part before the break
                assert error.gb_id != program.gb_id


def test_a_silent_reason_that_needs_more_than_one_graph():
    (program,) = [program for program in PROGRAMS if program.gb_id == "MD0039"]
    with pytest.raises(Unsupported) as caught:
        minidynamo.compile(program.function, fullgraph=True)(*program.calls[0]())
    assert caught.value.gb_id == "MD0039"
