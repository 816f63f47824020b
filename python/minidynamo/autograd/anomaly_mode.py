"""Anomaly mode: errors of a backward name the forward call, and a NaN in a gradient is an error."""

from __future__ import annotations

import warnings

from .. import _C
from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _State:
    enabled = False
    check_nan = True


state = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return state.enabled


def _stack() -> list[str]:
    """The calls that make a node, for its metadata."""
    import traceback

    return traceback.format_list(traceback.extract_stack()[:-1])


def _warn_of(node: Any) -> None:
    """Says where a node was made that failed, and where those were made whose backwards made it."""
    _warn(node, f"Error detected in {node.name()}.", "caused the error")
    parent = node.metadata.get("parent_") if "traceback_" in node.metadata else None
    while parent is not None:
        _warn(parent, f"\n\nPrevious calculation was induced by {parent.name()}.", "induced the previous calculation")
        parent = parent.metadata.get("parent_")


def _warn(node: Any, what: str, effect: str) -> None:
    if "traceback_" in node.metadata:
        calls = "".join(node.metadata["traceback_"])
        text = f"Traceback of forward call that {effect}:\n{calls}"
    else:
        text = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    warnings.warn(f"{what} {text}", stacklevel=3)


def _set(enabled: bool, check_nan: bool) -> None:
    if enabled != state.enabled:
        _C._set_node_observer(_stack if enabled else None, _warn_of)
    state.enabled, state.check_nan = enabled, check_nan


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once and, as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (state.enabled, state.check_nan)
        _set(bool(mode), check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _set(*self._before)


class detect_anomaly:
    """A context manager under which a NaN in a gradient is a RuntimeError that names the function."""

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for"
            " debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = (state.enabled, state.check_nan)
        _set(True, self._check_nan)

    def __exit__(self, *exception: object) -> None:
        _set(*self._before)


_explain_missing(__name__)
