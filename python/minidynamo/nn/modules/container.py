"""The names of torch.nn.modules.container: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..container import (
    ModuleDict,
    ModuleList,
    Sequential,
)
from ..module import Module as Module
from ..parameter_containers import (
    ParameterDict,
    ParameterList,
)

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

_explain_missing(__name__)
