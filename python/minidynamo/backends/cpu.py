"""The processor."""

from __future__ import annotations

from .. import _C


def get_cpu_capability() -> str:
    """The instruction set that kernels were chosen for, as torch names it: "AVX512", "AVX2" or "DEFAULT"."""
    name = str(_C.build_info().get("instruction set", "")).upper().replace("-", "")
    return next((known for known in ("AVX512", "AVX2") if known in name), "DEFAULT")
