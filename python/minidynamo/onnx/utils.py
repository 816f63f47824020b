"""The names of torch.onnx.utils that programs import."""

from .._missing_names import explain_missing as _explain_missing
from . import export, register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = ["export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

_explain_missing(__name__)
