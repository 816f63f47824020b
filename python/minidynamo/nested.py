"""The names of torch.nested: there are no nested tensors. padded lists are nn.utils.rnn.pad_sequence's."""

from __future__ import annotations

from typing import Any, NoReturn

from ._missing_names import explain_missing as _explain_missing

__all__ = ["as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def _absent(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"nested.{name}() is not in minidynamo: nn.utils.rnn.pad_sequence pads tensors of different lengths"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises NotImplementedError."
    return function


as_nested_tensor = _absent("as_nested_tensor")
nested_tensor = _absent("nested_tensor")
nested_tensor_from_jagged = _absent("nested_tensor_from_jagged")
to_padded_tensor = _absent("to_padded_tensor")

_explain_missing(__name__)
