"""The names of torch.nn.modules.linear: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..lazy import LazyLinear
from ..linear import (
    Identity,
    Linear,
)
from ..module import Module as Module
from ..shapes import (
    Bilinear,
)
from ..transformer import (
    NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear,
)

__all__ = [
    "Bilinear",
    "Identity",
    "LazyLinear",
    "Linear",
]

_explain_missing(__name__)
