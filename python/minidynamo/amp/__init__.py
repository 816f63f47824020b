"""Mixed precision: torch.amp's names."""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing
from .grad_scaler import GradScaler

__all__ = ["GradScaler"]

_explain_missing(__name__)
