"""The older place of names of minidynamo.hub."""

from .._missing_names import explain_missing as _explain_missing
from ..hub import HASH_REGEX, tqdm, urlparse
from ..hub import load_state_dict_from_url as load_url

__all__ = ["HASH_REGEX", "load_url", "tqdm", "urlparse"]

_explain_missing(__name__)
