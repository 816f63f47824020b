"""The place of torch._inductor.config, whose settings programs write."""

from .._missing_names import explain_missing as _explain_missing

_explain_missing(__name__, ("config",))
