"""User-defined operators: opaque to capture, one node in the graph."""

from .._missing_names import explain_missing as _explain_missing
from .custom_op import CustomOpDef, custom_op, register_autograd, register_fake, register_kernel
from .definitions import Library, define, impl, impl_abstract
from .opcheck import opcheck
from .schema import infer_schema
from .triton_op import triton_op, wrap_triton

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "triton_op",
    "wrap_triton",
]

_explain_missing(__name__)
