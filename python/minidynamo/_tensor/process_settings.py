"""Settings of the process that torch has and that change nothing here: results are deterministic, float32 is exact."""

from __future__ import annotations

import warnings

from .. import _C
from .typed_tensors import TYPED_TENSORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_settings: dict[str, Any] = {
    "deterministic": False,
    "deterministic_warn_only": False,
    "matmul_precision": "highest",
    "warn_always": False,
    "interop_threads": None,
}
_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembers the mode. Every operation is deterministic anyhow."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    _settings.update(deterministic=mode, deterministic_warn_only=warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms() was given."""
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms() was given."""
    return bool(_settings["deterministic_warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms() by a word or its number: "default", "warn", "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, or `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: the number of the mode."""
    if not _settings["deterministic"]:
        return 0
    return 1 if _settings["deterministic_warn_only"] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers it: products of float32 are computed in float32. Warns for an unknown word."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )
        return
    _settings["matmul_precision"] = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision() was given."""
    return str(_settings["matmul_precision"])


def set_flush_denormal(mode: bool) -> bool:
    """False: small numbers are kept."""
    return False


def set_num_interop_threads(count: int) -> None:
    """Remembers it: operations run one after the other. RuntimeError for less than 1."""
    if count <= 0:
        raise RuntimeError("Expected positive number of threads")
    _settings["interop_threads"] = count


def get_num_interop_threads() -> int:
    """What set_num_interop_threads() was given, or get_num_threads()."""
    return _settings["interop_threads"] or _C.get_num_threads()


def set_warn_always(b: bool) -> None:
    """Whether a warning that is given once in a process is given each time; Python's filters then decide."""
    _settings["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """What set_warn_always() was given."""
    return bool(_settings["warn_always"])


def set_default_device(device: _C.device | str | None) -> None:
    """Accepts the CPU; RuntimeError for another device."""
    if device is not None:
        _C.device(device)


def get_default_device() -> _C.device:
    """The CPU."""
    return _C.device("cpu")


def set_default_tensor_type(t: Any) -> None:
    """set_default_dtype() by a type of tensors, or its name: FloatTensor, "torch.DoubleTensor"."""
    found = TYPED_TENSORS.get(t.rpartition(".")[2]) if isinstance(t, str) else t
    dtype = getattr(found, "dtype", None)
    if dtype is None:
        raise TypeError(f"invalid type object: {t!r}")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _C.set_default_dtype(dtype)


def is_vulkan_available() -> bool:
    """False."""
    return False


def is_inference(input: _C.Tensor) -> bool:
    """False: tensors of inference mode are like others."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True."""
    return True


PROCESS_SETTINGS = {
    **{
        each.__name__: each
        for each in (
            are_deterministic_algorithms_enabled,
            compiled_with_cxx11_abi,
            get_default_device,
            get_deterministic_debug_mode,
            get_float32_matmul_precision,
            get_num_interop_threads,
            is_deterministic_algorithms_warn_only_enabled,
            is_inference,
            is_vulkan_available,
            is_warn_always_enabled,
            set_default_device,
            set_default_tensor_type,
            set_deterministic_debug_mode,
            set_float32_matmul_precision,
            set_flush_denormal,
            set_num_interop_threads,
            set_warn_always,
            use_deterministic_algorithms,
        )
    },
    "has_lapack": True,
    "has_mkl": False,
    "has_openmp": True,
    "has_spectral": True,
}
