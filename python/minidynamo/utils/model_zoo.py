"""The older place of names of minidynamo.hub."""

from .._missing_names import explain_missing as _explain_missing
from ..hub import load_state_dict_from_url as load_url
from ..hub import tqdm as tqdm

__all__ = ["load_url"]

_explain_missing(__name__)
