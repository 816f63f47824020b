"""The names of torch.nn.modules.pooling: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    LPPool1d,
    LPPool2d,
    LPPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
)
from ..pooling import (
    _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd,
)
from ..pooling import (
    _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd,
)
from ..pooling import (
    _AvgPoolNd as _AvgPoolNd,
)
from ..pooling import (
    _LPPoolNd as _LPPoolNd,
)
from ..pooling import (
    _MaxPoolNd as _MaxPoolNd,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

_explain_missing(__name__)
