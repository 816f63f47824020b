"""The name of torch.fx.node that programs import."""

from . import Node

__all__ = ["Node"]
