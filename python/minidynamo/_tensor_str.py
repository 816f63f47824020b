"""The text of tensors, by the names of torch._tensor_str."""

from __future__ import annotations

from ._C import Tensor
from ._missing_names import explain_missing as _explain_missing
from ._tensor import printing
from ._tensor.names import set_printoptions as set_printoptions

PRINT_OPTS = printing._options


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements, without the dtype; lines behind the first are indented as in a repr."""
    return printing._elements_text(self)


_explain_missing(__name__)
