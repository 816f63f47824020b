"""What the tests over torch's tensors share."""

import pytest

import minidynamo


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
