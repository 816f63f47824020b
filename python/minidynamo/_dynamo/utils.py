"""Statistics of captures: counts, times, and a profiler of recompilations."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from ..fx import GraphModule
from . import _events, config
from .backends import lookup_backend


class _Counters(collections.defaultdict):  # type: ignore[type-arg]  # of str to Counter
    """utils.counters: {group: Counter}, updated whenever it is read.

    frames       total: captures begun, ok: captures made
    stats        calls_captured: operations in graphs, unique_graphs: graphs
    graph_break  how often each reason broke a graph, by its title
    check_captures  hits under config.check_captures: compared, mismatches, uncompared, and these by reason
    recompiles   total: places captured again, refused: look-ups that a recompile limit refused
    """

    def __init__(self) -> None:
        super().__init__(collections.Counter)
        self._seen: dict[tuple[str, str], int] = {}

    def _update_from_engine(self) -> None:
        engine = _C.engine_counters()
        values = {
            ("frames", "total"): engine["captures_begun"],
            ("frames", "ok"): engine["regions_captured"],
            ("stats", "calls_captured"): engine["ops_captured"],
            ("stats", "unique_graphs"): engine["graphs_captured"],
            ("recompiles", "total"): engine["recompiles"],
            ("recompiles", "refused"): engine["limits_reached"],
        }
        values.update((("graph_break", title), count) for title, count in _C.graph_break_counts().items())
        values.update((("check_captures", name), count) for name, count in _C.check_captures_counts().items())
        for (group, name), value in values.items():
            seen = self._seen.get((group, name), 0)
            more = value - seen if value >= seen else value  # smaller: there was a reset
            if more:
                super().__getitem__(group)[name] += more
        self._seen = values

    def clear(self) -> None:
        self._update_from_engine()
        super().clear()

    def copy(self) -> dict[str, collections.Counter[str]]:  # type: ignore[override]  # not a _Counters
        return {group: counter.copy() for group, counter in self.items()}


def _updated(name: str) -> Callable[..., Any]:
    method = getattr(collections.defaultdict, name)

    def updated(self: _Counters, *args: Any, **kwargs: Any) -> Any:
        self._update_from_engine()
        return method(self, *args, **kwargs)

    updated.__name__ = updated.__qualname__ = name
    return updated


_LOOKING = "__contains__ __eq__ __getitem__ __iter__ __len__ __ne__ __repr__ __reversed__ get items keys pop popitem"
for _name in (*_LOOKING.split(), "setdefault", "values"):
    setattr(_Counters, _name, _updated(_name))
del _name

counters = _Counters()


def is_compile_supported(device_type: str) -> bool:
    """Whether functions over tensors of the device are captured: on the CPU, where this Python is supported."""
    return device_type.partition(":")[0] == "cpu" and bool(_C.frame_evaluation)


def compile_times(repr: str = "str", aggregate: bool = False) -> str | tuple[list[str], list[str]]:
    """Durations of captures since the start or the last reset: the last 4096 individually, or the totals.

    repr       "str": a table as text; "csv": (headers, rows)
    aggregate  True: one number per phase, in seconds, for all captures together
    """
    times, (walk_total, plan_total) = _C.compile_times()
    parts = {
        "capture": [walk + plan for walk, plan in times],
        "capture.walk": [walk for walk, _ in times],
        "capture.plan": [plan for _, plan in times],
    }
    if aggregate:
        totals = (walk_total + plan_total, walk_total, plan_total)
        parts = {name: [total] for name, total in zip(parts, totals, strict=True)}
    if repr == "str":
        rows = [(name, ", ".join(f"{value / 1e9:.4f}" for value in values)) for name, values in parts.items()]
        return "minidynamo compilation metrics:\n" + _table(("Function", "Runtimes (s)"), rows)
    if repr == "csv":
        return list(parts), [", ".join(f"{value / 1e9:.6f}" for value in values) for values in parts.values()]
    raise ValueError(f"compile_times(): repr must be 'str' or 'csv', not {repr!r}")


def _table(headers: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (headers, *rows)]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


class CompilationProfiler:
    """A backend that runs graphs eagerly and records captures, graph breaks and failed guards.

    While it is used in optimize(), one capture of each place is kept, as if the recompile limit were 1: calls that do
    not match it run eagerly, and each counts as a recompilation.

    frame_count, op_count  graphs captured and operations in them
    graph_breaks           the text of each graph break, with its place
    guard_failures         for each recompilation, the place and the guards that failed
    """

    def __init__(self, backend: str | Callable[..., Any] = "eager") -> None:
        self.backend = lookup_backend(backend)
        self.frame_count = 0
        self.op_count = 0
        self._breaks: collections.Counter[str] = collections.Counter()
        self._failures: list[tuple[str, str]] = []
        self._patches: list[config.ConfigPatch] = []

    def __call__(self, gm: GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum(node.op in ("call_function", "call_method") for node in gm.graph.nodes)
        return self.backend(gm, example_inputs)

    @property
    def graph_breaks(self) -> list[str]:
        return list(self._breaks)

    @property
    def guard_failures(self) -> list[str]:
        return [failure for _, failure in self._failures]

    def start(self) -> None:
        """Starts listening; called by optimize()."""
        if not self._patches:
            _events.listen(self._on_event)
        self._patches.append(config.patch(recompile_limit=1))
        self._patches[-1].__enter__()

    def stop(self) -> None:
        self._patches.pop().__exit__(None, None, None)
        if not self._patches:
            _events.stop_listening(self._on_event)

    def _on_event(self, event: dict[str, Any]) -> None:
        payload = event["payload"]
        if event["kind"] == "graph_break":
            place = "{file}:{line} in {function}".format(**payload)
            self._breaks[f"Graph break in user code at {place}\n{payload['text']}"] += 1
        elif event["kind"] in ("recompile", "recompile_limit"):
            place = "{function} ({file}:{start_line})".format(**payload)
            guards = [f"{each['compile_id']}: {guard}" for each in payload["failures"] for guard in each["all"]]
            self._failures.append((place, "\n".join([place, *(f"- {guard}" for guard in guards)])))

    def report(self) -> str:
        """Text: the graphs and operations seen, each graph break once with its count, each recompilation with its
        failed guards."""
        lines = ["Compilation profiler report", f"Graphs: {self.frame_count}", f"Operations: {self.op_count}", ""]
        lines.append(f"Graph breaks: {self._breaks.total()}")
        for number, (text, count) in enumerate(self._breaks.items(), 1):
            times = "" if count == 1 else f"{count} times: "
            lines.append(f"  {number}. {times}" + text.replace("\n", "\n    "))
        lines += ["", f"Recompilations: {len(self._failures)}"]
        for place, count in collections.Counter(place for place, _ in self._failures).items():
            lines.append(f"  {count} of {place}")
        for number, failure in enumerate(self.guard_failures, 1):
            lines.append(f"  {number}. " + failure.replace("\n", "\n    "))
        return "\n".join([*lines, ""])


# Its name in later versions of torchdynamo.
CompileProfiler = CompilationProfiler


_explain_missing(__name__)
