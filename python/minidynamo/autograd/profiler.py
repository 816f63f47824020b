"""torch.autograd.profiler by name: nothing is measured. MINIDYNAMO_LOGS=perf measures what is compiled."""

from __future__ import annotations

import contextlib

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["emit_itt", "emit_nvtx", "profile", "record_function"]


class profile:
    """A context manager that records nothing; its reports are empty."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __str__(self) -> str:
        return "<no events were recorded>"

    def key_averages(self, *args: Any, **options: Any) -> Self:
        return self

    def total_average(self) -> Self:
        return self

    def table(self, *args: Any, **options: Any) -> str:
        return str(self)

    def export_chrome_trace(self, path: str) -> None:
        """Writes a trace without events."""
        with open(path, "w") as file:
            file.write('{"traceEvents": []}')

    @property
    def function_events(self) -> list[Any]:
        return []


class record_function(contextlib.ContextDecorator):
    """A label for a block, or a function, which nothing records."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class emit_nvtx(profile):
    """Marks for a profiler of GPUs: none."""


class emit_itt(profile):
    """Marks for VTune: none."""


class EventList(list["Any"]):
    """For annotations and isinstance() tests: profiles have no list of events."""


_explain_missing(__name__)
