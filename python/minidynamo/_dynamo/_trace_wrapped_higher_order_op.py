"""The name of torch._dynamo._trace_wrapped_higher_order_op that libraries import."""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing


class TransformGetItemToIndex:
    """A block that changes nothing: func.vmap indexes by tensors as everything else does."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


_explain_missing(__name__)
