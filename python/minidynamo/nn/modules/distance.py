"""The names of torch.nn.modules.distance: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    CosineSimilarity,
    PairwiseDistance,
)

__all__ = ["CosineSimilarity", "PairwiseDistance"]
