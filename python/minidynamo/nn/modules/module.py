"""The names of torch.nn.modules.module: the classes of minidynamo.nn themselves."""

import textwrap

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module
from ..module_state import _IncompatibleKeys as _IncompatibleKeys

__all__ = ["Module"]


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803  torch's names
    """The text with every line but the first one indented, as far as it is not blank."""
    first, newline, rest = s_.partition("\n")
    return first + newline + textwrap.indent(rest, " " * numSpaces)


_explain_missing(__name__)
