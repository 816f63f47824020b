"""autocast of this device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._missing_names import explain_missing as _explain_missing
from ...amp import autocast_mode


class autocast(autocast_mode.autocast):
    """amp.autocast("cuda")."""

    def __init__(
        self, enabled: bool = True, dtype: _C.dtype = _C._dtypes["float16"], cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: _C.dtype | None = None) -> Callable[..., Any]:
    """amp.custom_fwd(device_type="cuda")."""
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """amp.custom_bwd(device_type="cuda")."""
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


_explain_missing(__name__)
