"""Functions of torch in Python whose bodies cannot be followed, written over torch's own: loaded where torch is."""

from __future__ import annotations

import sys

from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

torch: Any = sys.modules["torch"]


def combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """Without the class of torch.autograd that each call of torch's defines for masked tensors alone."""
    masked = torch.masked._ops
    if masked.is_masked_tensor(input):
        decline("a masked tensor")
    if mask is None:
        return input
    fill = masked._reduction_identity(op.__name__, input, *args)
    return masked._where(masked._input_mask(input, mask=mask), input, fill)


TABLE = (StandIn("masked._ops._combine_input_and_mask", combine_input_and_mask, "Rewritten"),)
