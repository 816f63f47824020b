"""The name of torch.fx.graph_module that programs import."""

from . import GraphModule

__all__ = ["GraphModule"]
