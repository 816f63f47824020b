"""The functions of torch.nn.functional that the op table has."""

from .. import _C

globals().update(_C._functional)

__all__ = sorted(_C._functional)
