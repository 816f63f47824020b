"""GradScaler of this device."""

from __future__ import annotations

import warnings

from ..._missing_names import explain_missing as _explain_missing
from ...amp import grad_scaler


class GradScaler(grad_scaler.GradScaler):
    """amp.GradScaler("cpu"); warns that torch has deprecated the name."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


_explain_missing(__name__)
