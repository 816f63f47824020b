"""DataParallel without devices to share the batch among, as torch's is without GPUs: the module itself is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module


class DataParallel(Module):
    """Calls `module` on whatever it is called with. Its parameters are named "module.NAME".

    device_ids, output_device and dim choose among GPUs, and are not used, as in torch where there is no GPU.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | minidynamo.device] | None = None,
        output_device: int | minidynamo.device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[int | minidynamo.device] | None = None,
    output_device: int | minidynamo.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """module(*inputs, **module_kwargs), or module(inputs) if they are no tuple."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*arguments, **(module_kwargs or {}))


_explain_missing(__name__)
