"""The name of torch.nn.modules.lazy: the class of minidynamo.nn itself."""

from ..._missing_names import explain_missing as _explain_missing
from ..lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]

_explain_missing(__name__)
