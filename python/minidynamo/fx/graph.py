"""The name of torch.fx.graph that programs import."""

from . import Graph

__all__ = ["Graph"]
