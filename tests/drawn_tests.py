"""Settings and dtypes of tests on drawn tensors."""

from hypothesis import HealthCheck, settings

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


def drawn(count, derandomize):
    """count examples, however long they take; the same ones each time, or others."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
