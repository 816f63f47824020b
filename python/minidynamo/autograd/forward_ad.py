"""Forward mode by dual numbers: torch.autograd.forward_ad's names, which raise NotImplementedError.

func.jvp and autograd.functional.jvp compute the same products by two backwards.
"""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: minidynamo has no dual numbers; func.jvp(f, primals, tangents) gives derivatives along tangents"
    )


class dual_level:
    """The level of dual numbers: NotImplementedError."""

    def __init__(self) -> None:
        _refuse("dual_level")


def enter_dual_level() -> int:
    _refuse("enter_dual_level")


def exit_dual_level(*, level: int | None = None) -> None:
    _refuse("exit_dual_level")


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    _refuse("make_dual")


def unpack_dual(tensor: Any, *, level: int | None = None) -> Any:
    _refuse("unpack_dual")


_explain_missing(__name__)
