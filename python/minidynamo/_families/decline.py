"""How a stand-in says that it does not cover a call."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def decline(why: str) -> NoReturn:
    """What is not covered is the library's: the capture breaks at the call of the library's function."""
    raise NotImplementedError(why)


_C._register_call("decline", decline)
