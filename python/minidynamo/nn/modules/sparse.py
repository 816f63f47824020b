"""The names of torch.nn.modules.sparse: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..sparse import (
    Embedding,
    EmbeddingBag,
)

__all__ = ["Embedding", "EmbeddingBag"]

_explain_missing(__name__)
