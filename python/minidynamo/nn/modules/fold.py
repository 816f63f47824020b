"""The names of torch.nn.modules.fold: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    Fold,
    Unfold,
)

__all__ = ["Fold", "Unfold"]
