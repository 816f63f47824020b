"""cond: one of two functions, by a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing

__all__ = ["cond"]


def cond(
    pred: Tensor | bool,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """true_fn(*operands) where pred, a bool or a tensor of one, is True; else false_fn(*operands).

    In compiled code a condition that depends on data ends the graph, as an if does. RuntimeError for another pred, a
    function that is not callable, or operands that are no tuple or list.
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple, got {operands}.")
    return true_fn(*operands) if pred else false_fn(*operands)


_explain_missing(__name__)
