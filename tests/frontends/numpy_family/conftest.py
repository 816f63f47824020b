"""What the tests over NumPy's arrays share."""

import pytest

import minidynamo


@pytest.fixture(autouse=True)
def any_number_of_captures():
    with minidynamo._dynamo.config.patch(recompile_limit=10_000):
        yield
    minidynamo._dynamo.reset()
