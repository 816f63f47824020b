"""The names of torch.nn.modules.flatten: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    Flatten,
    Unflatten,
)

__all__ = ["Flatten", "Unflatten"]
