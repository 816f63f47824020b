"""ONNX by name: nothing is exported. export() raises what to use instead; is_in_onnx_export() is False."""

from __future__ import annotations

import logging
import re
from typing import Any, NoReturn

from .._missing_names import explain_missing as _explain_missing

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

_NAME = re.compile(r"[a-zA-Z0-9-_]+::[a-zA-Z-_]+[a-zA-Z0-9-_]*")
_log = logging.getLogger("minidynamo.onnx")

ONNX_ARCHIVE_MODEL_PROTO_NAME = "__MODEL_PROTO"
producer_name = "pytorch"


class OnnxExporterError(RuntimeError):
    """export() raises it."""


class ONNXProgram:
    """For annotations and isinstance() tests: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OnnxExporterError("ONNXProgram cannot be constructed: minidynamo does not export to ONNX")


def is_in_onnx_export() -> bool:
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises OnnxExporterError, a RuntimeError."""
    raise OnnxExporterError(
        "onnx.export() is not in minidynamo: save(model.state_dict(), path) and export with torch, "
        "or take the graph that a backend of minidynamo.compile is given"
    )


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Keeps nothing, and says so in the log "minidynamo.onnx": there is no export that could use it.

    OnnxExporterError for a name that is not "domain::operator".
    """
    if not _NAME.fullmatch(symbolic_name):
        raise OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name, and "
            "should start with a letter and contain only alphanumeric characters"
        )
    _log.info("onnx.register_custom_op_symbolic(%r) keeps nothing: minidynamo does not export to ONNX", symbolic_name)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Does nothing: nothing was kept."""


_explain_missing(__name__, ("operators", "symbolic_helper", "symbolic_opset10", "symbolic_opset9", "utils"))
