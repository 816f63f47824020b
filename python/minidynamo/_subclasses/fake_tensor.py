"""The names of torch._subclasses.fake_tensor."""

from .._missing_names import explain_missing as _explain_missing
from . import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]

_explain_missing(__name__)
