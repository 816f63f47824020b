"""scatter and gather: parts of a batch for devices, of which there is one."""

from __future__ import annotations

from typing import Any, NoReturn

from ..._missing_names import explain_missing as _explain_missing

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raises RuntimeError: there is one device."""
    raise _one_device("scatter")


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raises RuntimeError: there is one device."""
    raise _one_device("scatter_kwargs")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Raises RuntimeError: there is one device."""
    raise _one_device("gather")


def _one_device(name: str) -> RuntimeError:
    return RuntimeError(f"nn.parallel.{name}: minidynamo runs on the CPU only, and divides no batch among devices")


_explain_missing(__name__)
