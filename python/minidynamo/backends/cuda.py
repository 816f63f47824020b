"""CUDA is not here: is_built() is False, and the switches, which programs set, change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


def is_built() -> bool:
    return False


class _Matmul:
    """backends.cuda.matmul: switches of products on GPUs."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False


matmul = _Matmul()

# Which implementations of attention CUDA may take, by torch's name.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def flash_sdp_enabled() -> bool:
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    _attention["cudnn"] = bool(enabled)


def is_flash_attention_available() -> bool:
    return False


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The switches of attention inside of the block; scaled_dot_product_attention is the same for all of them."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)
