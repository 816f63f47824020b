"""Quantization: the stubs that models contain, which do nothing here, and functions that refuse to be called."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NoReturn

from ..._missing_names import explain_missing as _explain_missing
from ...nn.module import Module

__all__ = [
    "DeQuantStub",
    "QConfig",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_qconfig",
    "default_weight_observer",
    "fuse_modules",
    "fuse_modules_qat",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
]

QConfig = namedtuple("QConfig", ["activation", "weight"])


class QuantStub(Module):
    """Where torch's convert() would put a quantization: the identity."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Where torch's convert() would put the way back to floats: the identity."""


class QuantWrapper(Module):
    """A module between both stubs."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()
        self.module = module

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"ao.quantization.{name}: minidynamo has no quantized tensors")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises NotImplementedError."
    return refuse


convert = _refusing("convert")
default_observer = _refusing("default_observer")
default_per_channel_weight_observer = _refusing("default_per_channel_weight_observer")
default_weight_observer = _refusing("default_weight_observer")
default_qconfig = QConfig(default_observer, default_weight_observer)
fuse_modules = _refusing("fuse_modules")
fuse_modules_qat = _refusing("fuse_modules_qat")
get_default_qat_qconfig = _refusing("get_default_qat_qconfig")
get_default_qconfig = _refusing("get_default_qconfig")
prepare = _refusing("prepare")
prepare_qat = _refusing("prepare_qat")
quantize_dynamic = _refusing("quantize_dynamic")

_explain_missing(__name__)
