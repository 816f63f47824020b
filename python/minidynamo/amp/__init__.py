"""Automatic mixed precision, by torch's names: autocast leaves dtypes, and GradScaler gradients, as they are."""

from .._missing_names import explain_missing as _explain_missing
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_explain_missing(__name__)
