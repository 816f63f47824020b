"""NumPy's own tests pass in everywhere mode if they pass plainly; `python -m tests.numpy_suite` runs the larger modules."""

import pytest

from minidynamo import _C

from .running import are_there, lost, run

pytest.importorskip("numpy")
pytestmark = [
    pytest.mark.skipif(not _C.frame_evaluation, reason="no frame evaluator for this Python"),
    pytest.mark.skipif(not are_there(), reason="NumPy is installed without its tests"),
]


@pytest.mark.parametrize(
    "module",
    [
        "numpy._core.tests.test_indexing",
        pytest.param("numpy._core.tests.test_nep50_promotions", marks=pytest.mark.slow),
    ],
)
def test_module(module):
    plain, _, messages = run(module, "plain")
    assert plain, messages[-2000:]
    found, counters, messages = run(module, "everywhere")
    unexplained = [test for test, reason in lost(plain, found).items() if reason is None]
    assert not unexplained, messages[-5000:]
    assert counters["instructions"]["translator"] > 1000 and not counters["hand_overs"]["internal_error"]
