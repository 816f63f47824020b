"""Everyday programs over torch, in all that they leave behind as plainly: results, arguments, state, gradients, errors."""

import pytest

pytest.importorskip("torch")
import everyday_models  # noqa: E402, F401
import everyday_python  # noqa: E402, F401
import everyday_state  # noqa: E402, F401
import everyday_tasks  # noqa: E402, F401
from everyday_comparison import MODES, PROGRAMS, differences  # noqa: E402


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_everyday_program(name, mode):
    assert differences(name, mode) == []
