"""The names of torch.fx.experimental.proxy_tensor that programs import."""

from __future__ import annotations

from typing import Any, NoReturn

from ..._missing_names import explain_missing as _explain_missing
from ..tracing import _INSTEAD

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """None: nothing is traced by torch.fx."""
    return None


def make_fx(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"make_fx() is not in minidynamo: {_INSTEAD}")


_explain_missing(__name__)
