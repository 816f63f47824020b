"""The names of torch.onnx.utils that programs import."""

from . import export, register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = ["export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]
