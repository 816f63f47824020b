"""What the tests over torch's tensors share."""

import pytest


@pytest.fixture
def without_gradients():
    import torch

    with torch.no_grad():
        yield
