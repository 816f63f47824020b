"""Everywhere mode: every Python frame of the process under the frame evaluator, to test it with ordinary programs.

A frame that computes nothing with tensors is otherwise left to the interpreter. Here its regions are kept and run
though their graphs are empty, so that the tracer, snapshots and the driver are exercised. Debuggers, profilers and
monitors still get every frame. Programs become slower, not different.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from .. import _C
from .._missing_names import explain_missing as _explain_missing


class _Everywhere:
    """Returned by enable_everywhere(): leaving a `with` block over it disables it."""

    def __init__(self, compiled: Callable[..., Any] | None) -> None:
        self._compiled = compiled  # keeps the backend alive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        disable_everywhere()


_enabled: list[_Everywhere] = []


def enable_everywhere(
    *, backend: str | Callable[..., Any] = "eager", recompile_limit: int | None = None
) -> _Everywhere:
    """Puts every frame that starts from now on, in every thread, under the evaluator.

    A plain call lasts until disable_everywhere(); as a context manager it ends with its block. Calls nest. Where the
    frame evaluator does not exist it does nothing.

    backend          what runs graphs, where tensors are met: a name or a callable as for compile()
    recompile_limit  replaces config.recompile_limit for these frames
    """
    from ._compile import compile

    compiled = None
    if _C.frame_evaluation:
        compiled = compile(_nothing, backend=backend, recompile_limit=recompile_limit)
        _C._enable_everywhere(compiled)
    mode = _Everywhere(compiled)
    _enabled.append(mode)
    return mode


def disable_everywhere() -> None:
    """Undoes one enable_everywhere(). Frames under the evaluator stay there until they return.

    Raises RuntimeError if everywhere mode is not enabled.
    """
    if not _enabled:
        raise RuntimeError("everywhere mode is not enabled")
    mode = _enabled.pop()
    if mode._compiled is not None:
        _C._disable_everywhere()


def execution_counters() -> dict[str, Any]:
    """What executed how many instructions since the start or the last reset().

    instructions: {"translator", "driver", "interpreter"}, where the interpreter's are those that end or suspend a frame
    for the driver; what it executes of frames that bailed out is not counted. regions_run, snapshots_restored,
    frames_driven. hand_overs: {reason: frames that bailed out to the interpreter}.
    """
    counters = _C.engine_counters()
    return {
        "instructions": {
            "translator": counters["translated_instructions"],
            "driver": counters["concrete_instructions"],
            "interpreter": counters["final_instructions"],
        },
        "regions_run": counters["regions_run"],
        "snapshots_restored": counters["snapshots_restored"],
        "frames_driven": counters["frames_driven"],
        "hand_overs": _C.hand_over_counts(),
    }


def _nothing() -> None:
    pass


_explain_missing(__name__)
