"""The names of torch.fx._symbolic_trace that programs import."""

from .tracing import Tracer, symbolic_trace, wrap

__all__ = ["Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]


def is_fx_tracing() -> bool:
    return False
