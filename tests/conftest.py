"""Makes the packages beside the tests importable; under switches for testing, tests run or are judged in another way.

config.snapshot_stress: regions end where the switch says. config.check_captures: no hit may be a mismatch, also where the program
handles the exception, and the summary says how many were compared.
"""

import pytest
from unchecked_programs import UNCHECKED

import minidynamo
from minidynamo import _C

config = minidynamo._dynamo.config
# Of the whole session: a test may switch it off.
CHECKS = config.check_captures > 0


def skip_marked(items, marker, reason):
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


def skip_unchecked(items):
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for name in parameters:
            if isinstance(name, str) and name in UNCHECKED:
                item.add_marker(pytest.mark.skip(reason=UNCHECKED[name]))


def pytest_collection_modifyitems(items):
    if config.snapshot_stress != 0:
        skip_marked(items, "counts_regions", "regions end where the stress switch says")
    if CHECKS:
        skip_marked(items, "counts_python_runs", "plain Python runs beside what is captured")
        skip_unchecked(items)


if CHECKS:

    @pytest.fixture(autouse=True)
    def no_mismatches():
        before = _C.check_captures_counts()["mismatches"]
        yield
        found = _C.check_captures_counts()["mismatches"] - before
        assert found == 0, f"{found} hits gave what plain Python does not come to"

    def pytest_terminal_summary(terminalreporter):
        counts = _C.check_captures_counts()
        hits = counts["compared"] + counts["uncompared"] + counts["mismatches"]
        terminalreporter.write_sep("-", f"captures checked: {hits} hits")
        for name, count in counts.items():
            if count:
                terminalreporter.write_line(f"{name}: {count} ({100 * count / hits:.1f} %)")
