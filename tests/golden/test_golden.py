"""The capture of each program is the one in its record; --update-golden rewrites the records."""

import difflib

import pytest

from golden.programs import PROGRAMS
from golden.recording import comparable, expected, record, text_of, update

pytestmark = [pytest.mark.counts_regions, pytest.mark.counts_python_runs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_record(name, request):
    sections = record(name, PROGRAMS[name])
    if request.config.getoption("--update-golden"):
        update(name, sections)
        return
    kept, found = expected(name), comparable(sections)
    difference = difflib.unified_diff(
        text_of(kept).splitlines(), text_of(found).splitlines(), "kept", "found", lineterm=""
    )
    assert found == kept, "\n".join(difference)


def test_a_record_of_a_second_run_is_equal():
    """No record depends on what ran before."""
    for name in ("pointwise_chain", "class_created_inside", "break_in_a_call"):
        assert record(name, PROGRAMS[name]) == record(name, PROGRAMS[name])


def test_each_artifact_is_recorded():
    said = {title.split()[2] for program in PROGRAMS for title in expected(program) if title.startswith("call")}
    assert {"graph", "guards", "snapshot", "plan", "handover", "graph_breaks"} <= said
