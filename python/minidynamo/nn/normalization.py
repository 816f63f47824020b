"""Layers that normalise, and look-up tables."""

import minidynamo

from .functional import embedding, layer_norm
from .module import Module
from .parameter import Parameter


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias of the shape normalized_shape."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = minidynamo.ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        offset = minidynamo.zeros(self.normalized_shape, dtype=dtype) if elementwise_affine and bias else None
        self.register_parameter("bias", None if offset is None else Parameter(offset))

    def forward(self, input):
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class Embedding(Module):
    """Rows of weight, (num_embeddings, embedding_dim), by integer index: (...) -> (..., embedding_dim)."""

    def __init__(self, num_embeddings, embedding_dim, *, device=None, dtype=None):
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = Parameter(minidynamo.randn(num_embeddings, embedding_dim, dtype=dtype))

    def forward(self, input):
        return embedding(input, self.weight)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"
