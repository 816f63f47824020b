"""GradScaler of this device."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ...amp import grad_scaler


class GradScaler(grad_scaler._DeviceGradScaler):
    """amp.GradScaler("cuda"); warns that torch has deprecated the name."""

    _device_of_class = "cuda"


_explain_missing(__name__)
