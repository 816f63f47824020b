"""Anomaly mode: errors of a backward name the forward call, and a NaN in a gradient is an error."""

from __future__ import annotations

import contextlib

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class _State:
    enabled = False
    check_nan = True


state = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return state.enabled


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """A backward under anomaly mode."""
    yield


class set_detect_anomaly:
    """Turns anomaly mode on or off, at once and, as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (state.enabled, state.check_nan)
        state.enabled, state.check_nan = bool(mode), check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        state.enabled, state.check_nan = self._before


class detect_anomaly:
    """A context manager under which a NaN in a gradient is a RuntimeError that names the function."""

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for"
            " debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = (state.enabled, state.check_nan)
        state.enabled, state.check_nan = True, self._check_nan

    def __exit__(self, *exception: object) -> None:
        state.enabled, state.check_nan = self._before


_explain_missing(__name__)
