"""Gradients of tensors: torch.autograd's names at torch's places.

Sources: the PyTorch documentation of torch.autograd; A. Griewank and A. Walther, "Evaluating Derivatives" (2008), for
reverse mode.
"""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing
from .._tensor.grad_modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import anomaly_mode as anomaly_mode
from . import function as function
from . import graph as graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine import backward, grad
from .function import Function, NestedIOFunction
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import forward_ad as forward_ad
    from . import functional as functional
    from . import profiler as profiler

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

# Imported when they are first used: modules and training need none of them.
_explain_missing(__name__, ("forward_ad", "functional", "profiler"))
