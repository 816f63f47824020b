"""By name alone, for programs that import it: the operators of ONNX's opset 12 are not in minidynamo."""

from .._missing_names import explain_missing as _explain_missing

_explain_missing(__name__)
