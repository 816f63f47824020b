"""What the build has: no CUDA, ROCm or XPU. __version__ is minidynamo.__version__."""

from __future__ import annotations

from ._missing_names import missing as _missing
from .torch_version import _version

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda: str | None = None
git_version = "Unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _version()
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__"})
