"""The names of torch._custom_ops, which torch.library has replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .library import register_fake

__all__ = ["impl_abstract"]


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """library.register_fake."""
    if func is None:
        return register_fake(qualname)
    return register_fake(qualname, func)
