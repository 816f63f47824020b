"""The names of torch._subclasses, for isinstance() tests: capture has fake tensors of its own."""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FakeTensor:
    """For isinstance() tests: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("FakeTensor is not in minidynamo: fake tensors are made by capture alone")


class FakeTensorMode:
    """NotImplementedError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("FakeTensorMode is not in minidynamo: sizes are computed by capture alone")


_explain_missing(__name__, ("fake_tensor",))
