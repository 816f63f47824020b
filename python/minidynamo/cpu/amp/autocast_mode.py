"""autocast of this device."""

from __future__ import annotations

from ... import _C
from ..._missing_names import explain_missing as _explain_missing
from ...amp import autocast_mode


class autocast(autocast_mode.autocast):
    """amp.autocast("cpu")."""

    def __init__(
        self, enabled: bool = True, dtype: _C.dtype = _C._dtypes["bfloat16"], cache_enabled: bool = True
    ) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


_explain_missing(__name__)
