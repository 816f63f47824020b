"""The tuples with names that operations return: values and indices, and those of decompositions."""

from __future__ import annotations

import sys
from typing import Any

import minidynamo as md

from ._missing_names import explain_missing as _explain_missing


def _types() -> dict[str, type]:
    """By torch's names: the type that the operation returns here."""
    x = md.tensor([[2.0, 0.0], [0.0, 1.0]])
    calls: dict[str, Any] = {
        "aminmax": lambda: md.aminmax(x),
        "cummax": lambda: md.cummax(x, 0),
        "cummin": lambda: md.cummin(x, 0),
        "frexp": lambda: md.frexp(x),
        "histogram": lambda: md.histogram(x, 2),
        "kthvalue": lambda: md.kthvalue(x, 1),
        "linalg_eigh": lambda: md.linalg.eigh(x),
        "linalg_qr": lambda: md.linalg.qr(x),
        "linalg_slogdet": lambda: md.linalg.slogdet(x),
        "linalg_svd": lambda: md.linalg.svd(x),
        "max": lambda: md.max(x, 0),
        "median": lambda: md.median(x, 0),
        "min": lambda: md.min(x, 0),
        "mode": lambda: md.mode(x, 0),
        "nanmedian": lambda: md.nanmedian(x, 0),
        "qr": lambda: md.qr(x),
        "slogdet": lambda: md.slogdet(x),
        "sort": lambda: md.sort(x),
        "svd": lambda: md.svd(x),
        "topk": lambda: md.topk(x, 1),
    }
    return {name: type(call()) for name, call in calls.items()}


sys.modules[__name__].__dict__.update(_types())

_explain_missing(__name__)
