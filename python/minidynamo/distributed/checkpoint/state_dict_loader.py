"""The names of torch.distributed.checkpoint.state_dict_loader."""

from ..._missing_names import explain_missing as _explain_missing
from . import load, load_state_dict

__all__ = ["load", "load_state_dict"]

_explain_missing(__name__)
