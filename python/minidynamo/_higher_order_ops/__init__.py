"""The names of torch._higher_order_ops that programs import."""

from .._missing_names import explain_missing as _explain_missing
from ..func.conditions import cond as cond
from .associative_scan import associative_scan as associative_scan

_explain_missing(__name__)
