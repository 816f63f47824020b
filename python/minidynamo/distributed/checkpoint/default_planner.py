"""The names of torch.distributed.checkpoint.default_planner."""

from ..._missing_names import explain_missing as _explain_missing
from . import DefaultLoadPlanner, DefaultSavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]

_explain_missing(__name__)
