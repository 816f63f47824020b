"""The names of torch.nn.modules.dropout: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from ..dropout import (
    _DropoutNd as _DropoutNd,
)
from ..module import Module as Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]

_explain_missing(__name__)
