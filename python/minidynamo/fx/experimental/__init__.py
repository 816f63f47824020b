"""The names of torch.fx.experimental that programs import."""

from ..._missing_names import explain_missing as _explain_missing

_explain_missing(__name__, ("proxy_tensor", "symbolic_shapes"))
