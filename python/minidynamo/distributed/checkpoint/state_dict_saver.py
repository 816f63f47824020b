"""The names of torch.distributed.checkpoint.state_dict_saver."""

from ..._missing_names import explain_missing as _explain_missing
from . import async_save, save, save_state_dict

__all__ = ["async_save", "save", "save_state_dict"]

_explain_missing(__name__)
