"""Everyday programs over NumPy: results, dtypes, types, strides and warnings as plainly, from the first call to the fifth."""

import compared
import everyday_data  # noqa: F401
import everyday_images  # noqa: F401
import everyday_integers  # noqa: F401
import everyday_numerics  # noqa: F401
import everyday_signals  # noqa: F401
import everyday_structures  # noqa: F401
import pytest
from everyday import PROGRAMS, drawn

# Iterations add up what is rounded otherwise.
WIDER = {width: 10 * tolerance for width, tolerance in compared.TOLERANCES.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_everyday_program(name, monkeypatch):
    monkeypatch.setattr(compared, "TOLERANCES", WIDER)
    assert compared.mismatch(*drawn(name), calls=5) == ""
