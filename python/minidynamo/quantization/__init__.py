"""The older place of ao.quantization."""

from .._missing_names import explain_missing as _explain_missing
from ..ao.quantization import (
    DeQuantStub,
    QConfig,
    QuantStub,
    QuantWrapper,
    convert,
    default_observer,
    default_per_channel_weight_observer,
    default_qconfig,
    default_weight_observer,
    fuse_modules,
    get_default_qat_qconfig,
    get_default_qconfig,
    prepare,
    prepare_qat,
    quantize_dynamic,
)

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
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
]

_explain_missing(__name__)
