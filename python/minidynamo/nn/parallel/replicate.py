"""replicate: copies of a module for devices, of which there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> NoReturn:
    """Raises RuntimeError: there is one device."""
    raise RuntimeError("nn.parallel.replicate: minidynamo runs on the CPU only, where one module is enough")


_explain_missing(__name__)
