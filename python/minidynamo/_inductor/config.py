"""Settings of torch's compiler for programs that write them: what is written here changes nothing."""

from .._missing_names import explain_missing as _explain_missing

_explain_missing(__name__)
