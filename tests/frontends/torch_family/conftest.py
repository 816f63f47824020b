"""What the tests over torch's tensors share."""

import importlib.util

import pytest

import minidynamo


@pytest.fixture(autouse=True)
def warnings_as_by_default():
    """torch's own test library has torch warn each time, in the whole process."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    yield
    torch.set_warn_always(before)


@pytest.fixture
def without_gradients():
    import torch

    with torch.no_grad():
        yield


@pytest.fixture
def in_float64():
    """Without the captures and counts of other tests; tensors of both libraries are float64 by default."""
    import torch

    minidynamo._dynamo.reset()
    minidynamo._dynamo.utils.counters.clear()
    before = torch.get_default_dtype(), minidynamo.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    minidynamo.set_default_dtype(minidynamo.float64)
    yield
    torch.set_default_dtype(before[0])
    minidynamo.set_default_dtype(before[1])
