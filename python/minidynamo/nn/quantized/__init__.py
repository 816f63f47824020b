"""The older place of ao.nn.quantized."""

from ..._missing_names import explain_missing as _explain_missing
from ...ao.nn.quantized import FloatFunctional

__all__ = ["FloatFunctional"]

_explain_missing(__name__)
