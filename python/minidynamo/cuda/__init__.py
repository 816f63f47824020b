"""Device queries: only the CPU exists.

Questions are answered, memory is 0, and what frees or resets does nothing. What needs a device raises RuntimeError.
"""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn, Union

from .._missing_names import explain_missing as _explain_missing
from . import amp as amp

has_half = False
has_magma = False


class OutOfMemoryError(RuntimeError):
    """For except clauses: there is no device whose memory could end."""


def _no_device() -> RuntimeError:
    return RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def current_device() -> int:
    raise _no_device()


def synchronize(device: object = None) -> None:
    raise _no_device()


def empty_cache() -> None:
    """Does nothing: no device is in use."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def seed() -> None:
    """Does nothing: there is no generator to seed."""


def seed_all() -> None:
    """Does nothing: there is no generator to seed."""


def ipc_collect() -> None:
    """Does nothing: no device is in use."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def is_tf32_supported() -> bool:
    return False


def is_current_stream_capturing() -> bool:
    return False


def can_device_access_peer(device: object, peer_device: object) -> bool:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def get_arch_list() -> list[str]:
    """Empty: nothing is compiled for GPUs."""
    return []


def memory_allocated(device: object = None) -> int:
    return 0


def max_memory_allocated(device: object = None) -> int:
    return 0


def memory_reserved(device: object = None) -> int:
    return 0


def max_memory_reserved(device: object = None) -> int:
    return 0


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def memory_stats(device: object = None) -> dict[str, Any]:
    """Empty: there is no allocator of a device."""
    return {}


def reset_peak_memory_stats(device: object = None) -> None:
    """Does nothing: memory_allocated() stays 0."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def init() -> None:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def set_device(device: object) -> None:
    """Raises RuntimeError, but for None and negative numbers, which choose no device."""
    if device is None or (isinstance(device, int) and device < 0):
        return
    raise _no_device()


def get_device_name(device: object = None) -> str:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def get_device_properties(device: object = None) -> Any:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def current_stream(device: object = None) -> NoReturn:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


default_stream = current_stream


def get_rng_state(device: object = "cuda") -> Any:
    """Raises RuntimeError: there is no device."""
    raise _no_device()


def set_rng_state(new_state: Any, device: object = "cuda") -> None:
    """Does nothing: there is no generator."""


def get_rng_state_all() -> list[Any]:
    """Empty: a state for each of no devices."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Does nothing for no states. RuntimeError for others."""
    if len(new_states):
        raise _no_device()


_initialized = False
default_generators: tuple[Any, ...] = ()


class StreamContext(contextlib.AbstractContextManager[None]):
    """stream(): a block in which nothing is different for None."""

    def __init__(self, stream: Any) -> None:
        if stream is not None:
            raise _no_device()

    def __exit__(self, *args: object) -> None:
        pass


class device_of(contextlib.AbstractContextManager[None]):  # noqa: N801  torch's name
    """A block on the device of a tensor: tensors are on the CPU."""

    def __init__(self, obj: object) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


class graph(contextlib.AbstractContextManager[None]):  # noqa: N801  torch's name
    """RuntimeError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _no_device()


def memory_summary(device: object = None, abbreviated: bool = False) -> str:
    """Empty: no device is in use."""
    return ""


def get_sync_debug_mode() -> int:
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Does nothing: nothing synchronizes."""


def initial_seed() -> int:
    raise _no_device()


def cudart() -> NoReturn:
    """Raises RuntimeError."""
    raise _no_device()


def set_stream(stream: object) -> None:
    """Does nothing for None."""
    if stream is not None:
        raise _no_device()


class _TensorType:
    """FloatTensor and its like: no tensor is of them, and they make none."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __instancecheck__(self, value: object) -> bool:
        return False

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{self.__name__} not available. minidynamo runs on the CPU only.")

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007  neither side is always a class

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<class 'torch.cuda.{self.__name__}'>"


BFloat16Tensor = _TensorType("BFloat16Tensor")
BoolTensor = _TensorType("BoolTensor")
ByteTensor = _TensorType("ByteTensor")
CharTensor = _TensorType("CharTensor")
DoubleTensor = _TensorType("DoubleTensor")
FloatTensor = _TensorType("FloatTensor")
HalfTensor = _TensorType("HalfTensor")
IntTensor = _TensorType("IntTensor")
LongTensor = _TensorType("LongTensor")
ShortTensor = _TensorType("ShortTensor")


class Stream:
    """For annotations and isinstance() tests. RuntimeError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _no_device()


class Event:
    """For annotations and isinstance() tests. RuntimeError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _no_device()


class CUDAGraph:
    """For annotations and isinstance() tests. RuntimeError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _no_device()


class device(contextlib.AbstractContextManager[None]):  # noqa: N801  torch's name
    """A block on a device. Entering it raises RuntimeError, but for None and negative numbers: no device."""

    def __init__(self, device: object) -> None:
        self._device = device

    def __enter__(self) -> None:
        set_device(self._device)

    def __exit__(self, *args: object) -> None:
        pass


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[None]:
    """A block on a stream: None, as there are no others."""
    return contextlib.nullcontext()


_explain_missing(__name__)
