"""Settings and dtypes of tests on random tensors."""

import hypothesis
from hypothesis import HealthCheck, settings

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


def drawn(count, seed):
    """Count examples without a time limit; the same ones for the same seed."""
    rules = settings(
        max_examples=count,
        deadline=None,
        derandomize=False,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: hypothesis.seed(seed)(rules(test))
