"""DistributedDataParallel by name: there are no process groups."""

from __future__ import annotations

from typing import Any

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module


class DistributedDataParallel(Module):
    """For isinstance() tests. RuntimeError when it is constructed: minidynamo runs in one process."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel is not in minidynamo, which runs in one process "
            "(distributed.is_available() is False): use the module itself"
        )


_explain_missing(__name__)
