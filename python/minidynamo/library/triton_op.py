"""triton_op(): registers like custom_op; Triton's kernels themselves need a GPU."""

from __future__ import annotations

from .custom_op import custom_op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """custom_op for a function that calls Triton kernels through wrap_triton."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Raises RuntimeError: a Triton kernel cannot run on a CPU."""
    name = getattr(triton_kernel, "__name__", type(triton_kernel).__name__)
    raise RuntimeError(
        f"wrap_triton({name}): minidynamo runs on CPUs only, and Triton kernels need a GPU. Give the operator a kernel "
        'for the CPU with register_kernel("cpu").'
    )
