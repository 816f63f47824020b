"""autocast and GradScaler of this device, by torch's older names."""

from ..._missing_names import explain_missing as _explain_missing
from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_explain_missing(__name__)
