"""The names of torch.distributed.nn.functional: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_function

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

all_gather = absent_function(__name__, "all_gather")
all_reduce = absent_function(__name__, "all_reduce")
all_to_all = absent_function(__name__, "all_to_all")
all_to_all_single = absent_function(__name__, "all_to_all_single")
broadcast = absent_function(__name__, "broadcast")
gather = absent_function(__name__, "gather")
reduce = absent_function(__name__, "reduce")
reduce_scatter = absent_function(__name__, "reduce_scatter")
scatter = absent_function(__name__, "scatter")


_explain_missing(__name__)
