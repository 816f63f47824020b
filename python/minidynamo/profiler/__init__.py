"""torch's profiler by name: nothing is measured. MINIDYNAMO_LOGS=perf measures what is compiled."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .._missing_names import explain_missing as _explain_missing

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_F = TypeVar("_F", bound=Callable[..., Any])


class ProfilerActivity(enum.Enum):
    """What torch's profiler can record."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    return False


def supported_activities() -> set[ProfilerActivity]:
    """Empty: nothing is recorded."""
    return set()


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function of the number of a step that says what a profiler would do in it. profile() does not call it."""

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[..., None]:
    """A function for profile(on_trace_ready=...): it is not called, and writes nothing."""

    def handler(prof: profile) -> None:
        return None

    return handler


class _NoAverages(list[Any]):
    def table(self, *args: Any, **kwargs: Any) -> str:
        return "minidynamo records no profile; MINIDYNAMO_LOGS=perf measures what is compiled\n"

    def total_average(self) -> None:
        return None


class profile(contextlib.AbstractContextManager["profile"]):  # noqa: N801  torch's name
    """Records nothing: the block runs as it is, key_averages() is empty and its table says so."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **kwargs: Any,
    ) -> None:
        self.step_num = 0

    def __exit__(self, *args: object) -> None:
        pass

    def start(self) -> None:
        """Does nothing."""

    def stop(self) -> None:
        """Does nothing."""

    def step(self) -> None:
        """Counts the step."""
        self.step_num += 1

    def key_averages(self, *args: Any, **kwargs: Any) -> _NoAverages:
        """An empty list with a table() that says so."""
        return _NoAverages()

    def events(self) -> list[Any]:
        """Empty."""
        return []

    def export_chrome_trace(self, path: str) -> None:
        """Raises RuntimeError: nothing was recorded."""
        raise RuntimeError("profile.export_chrome_trace() is not in minidynamo, which records no profile")

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Raises RuntimeError: nothing was recorded."""
        raise RuntimeError("profile.export_stacks() is not in minidynamo, which records no profile")


class record_function(contextlib.ContextDecorator):  # noqa: N801  torch's name
    """A block or function under a name: nothing is recorded."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *args: object) -> None:
        pass


_explain_missing(__name__)
