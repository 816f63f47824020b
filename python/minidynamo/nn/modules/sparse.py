"""The names of torch.nn.modules.sparse: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..sparse import (
    Embedding,
    EmbeddingBag,
)

__all__ = ["Embedding", "EmbeddingBag"]
