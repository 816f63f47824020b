"""The names of torch.distributed.algorithms.join: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class

__all__ = [
    "Join",
    "JoinHook",
    "Joinable",
]

Join = absent_class(__name__, "Join")
JoinHook = absent_class(__name__, "JoinHook")
Joinable = absent_class(__name__, "Joinable")


_explain_missing(__name__)
