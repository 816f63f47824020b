"""Decorators of functions that torch's ONNX export calls: here they return the functions, which nothing calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .._missing_names import explain_missing as _explain_missing
from . import OnnxExporterError

__all__ = ["parse_args", "quantized_args"]

_F = TypeVar("_F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[_F], _F]:
    """A decorator that returns the function."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors: bool, **kwargs: Any) -> Callable[[_F], _F]:
    """A decorator that returns the function."""
    return lambda fn: fn


def _unimplemented(op: str, msg: str, value: object = None) -> NoReturn:
    """Raises OnnxExporterError."""
    raise OnnxExporterError(f"{op}: {msg}: minidynamo does not export to ONNX")


_explain_missing(__name__)
