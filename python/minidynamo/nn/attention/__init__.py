"""Which implementation scaled_dot_product_attention takes: there is one, so that a choice changes nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

from ..._missing_names import explain_missing as _explain_missing

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """torch's implementations, by name."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Checks its arguments as torch does, and changes nothing: results are the same for all implementations.

    AssertionError for anything but an SDPBackend or a list of them.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    yield


_explain_missing(__name__)
