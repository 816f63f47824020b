"""Makes the packages next to the tests importable; under switches for testing, runs or judges tests in other ways.

--one-in N: of the tests whose results do not depend on the version of Python only one in N runs, a different one on each version.
config.snapshot_stress: regions end where the switch says. config.check_captures: no hit may be a mismatch, even if the program
handles the exception; the summary says how many were compared, and a run that compares too few of them fails.
"""

import gc
import random
import sys
import zlib
from pathlib import Path

import pytest
from checked_shares import CheckedShares
from same_on_each_version import SAME_ON_EACH_VERSION
from unchecked_programs import UNCHECKED

import minidynamo
from minidynamo import _C

SETTINGS = minidynamo._dynamo.config
# For the whole session: a test may switch it off.
CHECKS = SETTINGS.check_captures > 0
shares = CheckedShares()

HERE = Path(__file__).parent


def pytest_addoption(parser):
    text = "run one in N of the tests whose results no version of Python changes"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=text)
    parser.addoption("--update-golden", action="store_true", help="write the records of tests/golden anew")


def names_of(place):
    """Of a file and the folders that it is in."""
    return [place.as_posix(), *(folder.as_posix() for folder in place.parents)]


def keep_one_in(count, config, items):
    """Deselects the other tests."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    places = {item: item.path.relative_to(HERE) for item in ours}
    same = [item for item in ours if SAME_ON_EACH_VERSION.intersection(names_of(places[item]))]
    left_out = set(same) - set(same[sys.version_info.minor % count :: count])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def skip_marked(items, marker, reason):
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


def skip_unchecked(items):
    skip_marked(items, "counts_python_runs", "unchecked: plain Python runs beside what is captured")
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for name in parameters:
            if isinstance(name, str) and name in UNCHECKED:
                item.add_marker(pytest.mark.skip(reason=f"unchecked: {UNCHECKED[name]}"))


@pytest.hookimpl(trylast=True)  # of those that -m and -k select
def pytest_collection_modifyitems(config, items):
    keep_one_in(config.getoption("--one-in"), config, items)
    if SETTINGS.snapshot_stress != 0:
        skip_marked(items, "counts_regions", "regions end where the stress switch says")
    if CHECKS:
        skip_unchecked(items)
        shares.collected(items)


def pytest_collection_finish():
    """Hides the objects of collecting 30,000 tests from the collector: each gc.collect() of a test would traverse
    them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_numbers_in_each_run(request):
    """What a test draws without a seed of its own depends on its name alone, not on which tests ran before it."""
    seed = zlib.crc32(request.node.nodeid.encode())
    random.seed(seed)
    minidynamo.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if hasattr(sys.modules.get("torch"), "default_generator"):  # the package itself, not one that stands in for it
        sys.modules["torch"].manual_seed(seed)


if CHECKS:

    @pytest.fixture(autouse=True)
    def no_mismatches():
        before = _C.check_captures_counts()["mismatches"]
        yield
        found = _C.check_captures_counts()["mismatches"] - before
        assert found == 0, f"{found} hits differ from eager Python"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(session):
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["checked_shares"] = shares.report()
        elif shares.complaints() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(node):
        if hasattr(node, "workeroutput"):
            shares.add_worker(node.workeroutput["checked_shares"])

    def pytest_terminal_summary(terminalreporter):
        terminalreporter.write_sep("-", "captures checked")
        for line in [*shares.lines(), *shares.complaints()]:
            terminalreporter.write_line(line)
