"""explain(): what one call of a function captures, and where it breaks. why(): the captures of a function so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import starmap
from types import CodeType
from typing import Any

from .. import _C
from ..fx import GraphModule


class BreakReason:
    """One graph break.

    reason      its whole text: title, explanation, hints
    title       the first line of that, hints the sentences that say what to do
    gb_id       its id in docs/graph_breaks.md
    user_stack  the place, outermost frame first
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        from traceback import StackSummary

        self.reason = facts["text"]
        self.title = facts["title"]
        self.hints = facts["hints"]
        self.gb_id = facts["id"]
        self.user_stack = StackSummary.from_list([(*frame, None) for frame in facts["user_stack"]])

    def __repr__(self) -> str:
        return f"BreakReason({self.gb_id}: {self.reason.partition(chr(10))[0]})"


class Step:
    """One step of a plan.

    text        what it does: "fused loop mul, add -> add (1 x 3)"
    kernel      what computes it
    nodes       names of the nodes of the graph that it runs
    why         why it runs no more of them, or ""
    bytes       that it reads and writes, estimated; likewise flops
    fastest_ns  measured time of one run, None where nothing was measured; likewise mean_ns
    least_ns    what this machine needs for copying those bytes, by the cache that holds them, or for products of that
                many flops in the dtype that is multiplied, whichever is longer: measured once in a process
    """

    text: str
    kernel: str
    nodes: list[str]
    why: str
    bytes: int
    flops: int
    fastest_ns: float | None
    mean_ns: float | None
    least_ns: float | None

    def __init__(self, facts: dict[str, Any]) -> None:
        for name in ("text", "kernel", "nodes", "why", "bytes", "flops", "fastest_ns", "mean_ns", "least_ns"):
            setattr(self, name, facts[name])

    @property
    def of_the_bound(self) -> float | None:
        """least_ns / fastest_ns: 1 where the step is as fast as the machine."""
        if not self.fastest_ns or self.least_ns is None:
            return None
        return self.least_ns / self.fastest_ns

    def __repr__(self) -> str:
        return f"Step({self.text})"


class Plan:
    """How a graph is run, with times measured during explain().

    steps                each a Step, in the order in which they run
    views                names of the nodes that need no step: strided views
    in_place             names of the writes that need no step: what they write is computed in its place
    arena_nbytes         memory for values that live between steps
    runs                 number of measured runs: more than one if a run can be repeated, so that caches are warm
    fastest_ns, mean_ns  of a whole run, None if nothing was measured
    """

    arena_nbytes: int
    runs: int
    fastest_ns: float | None
    mean_ns: float | None

    def __init__(self, facts: dict[str, Any]) -> None:
        self.steps = [Step(step) for step in facts["steps"]]
        self.views = facts["places"]
        self.in_place = facts["in_place"]
        for name in ("arena_nbytes", "runs", "fastest_ns", "mean_ns"):
            setattr(self, name, facts[name])

    def __repr__(self) -> str:
        return f"Plan({len(self.steps)} steps)"


class Loop:
    """What was decided of a loop, at the line of its header: "unrolled", "a region of its own" or "left to Python"."""

    def __init__(self, file: str, line: int, function: str, decision: str, why: str) -> None:
        self.file, self.line, self.function = file, line, function
        self.decision, self.why = decision, why

    def __repr__(self) -> str:
        return f"Loop({self.function} at line {self.line}, {self.decision})"


class Region:
    """The result of one trace.

    name, file, line  of the function in which it starts, at the line `start`
    exit              how it ends: "return", "break", "raise" (its last instruction raises), "loop" (at the header of a
                      loop whose body is another region) or `hand over` (bails out)
    break_reason      a BreakReason, or None
    lines_left        first and last line of what is left to Python because so much of it was traced in vain, or None
    ops               (name, [(file, line, function), ...]) of each operation of its graph, outermost frame first
    guards            its conditions, as texts
    recompile_reasons the guards of earlier captures of the same place that failed, so that it was captured again
    graph             a minidynamo._C.Graph
    plan              a Plan of the default backend, None if there is nothing to compute
    walk_ns, plan_ns  duration of the trace and of lowering
    """

    name: str
    file: str
    line: int
    start: int
    exit: str
    ops: list[tuple[str, list[tuple[str, int, str]]]]
    guards: list[str]
    recompile_reasons: list[str]
    graph: _C.Graph

    def __init__(self, facts: dict[str, Any]) -> None:
        for name in ("name", "file", "line", "start", "exit", "ops", "guards", "recompile_reasons", "graph"):
            setattr(self, name, facts[name])
        self.lines_left: tuple[int, int] | None = facts["lines_left"]
        self.walk_ns, self.plan_ns = facts["walk_ns"], facts["plan_ns"]
        self.plan = None if facts["plan"] is None else Plan(facts["plan"])
        self.break_reason = None if facts["break"] is None else BreakReason(facts["break"])

    def __repr__(self) -> str:
        return f"Region({self.name} at line {self.start}, {len(self.ops)} ops, {self.exit})"


class ExplainOutput:
    """graphs, graph_count, op_count, ops_per_graph, break_reasons, graph_break_count, regions (each a Region, those
    without a graph among them), loops (each a Loop, by its last decision), out_guards (the guards of all regions),
    compile_times (a table), earlier (the regions of the function that calls before this one captured).

    str() is a report, html() a page.
    """

    def __init__(
        self,
        graphs: list[GraphModule],
        break_reasons: list[BreakReason],
        regions: list[Region],
        earlier: Iterable[Region] = (),
        loops: Iterable[Loop] = (),
    ) -> None:
        self.graphs = graphs
        self.graph_count = len(graphs)
        self.ops_per_graph = [
            [
                node.target
                for node in gm.graph.nodes
                if node.op in ("call_function", "call_method") and "is_number" not in node.meta
            ]
            for gm in graphs
        ]
        self.op_count = sum(map(len, self.ops_per_graph))
        self.break_reasons = break_reasons
        self.graph_break_count = len(break_reasons)
        self.regions = regions
        self.earlier = list(earlier)
        self.loops = list({(loop.file, loop.line): loop for loop in loops}.values())
        self.out_guards = [guard for region in regions for guard in region.guards]
        self.compile_times = _table_of_times(regions)

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, reason in enumerate(self.break_reasons, 1):
            lines.append(f"  Break Reason {number}:")
            lines.extend(f"    {line}" for line in reason.reason.splitlines())
            lines.append("    User Stack:")
            lines.extend(f"      {line}" for entry in reason.user_stack.format() for line in entry.splitlines())
        lines.append("Ops per Graph:")
        for number, ops in enumerate(self.ops_per_graph, 1):
            library = self.graphs[number - 1].library
            of = "" if library == "minidynamo" else f" of {library}"
            lines.append(f"  Ops {number}{of}: {', '.join(getattr(op, '__name__', op) for op in ops)}")
        if self.loops:
            lines.append("Loops:")
        for loop in self.loops:
            lines.append(f"  {loop.function}, line {loop.line}: {loop.decision} ({loop.why})")
        lines.append("Out Guards:")
        for number, region in enumerate(self.regions, 1):
            lines.append(f"  Guards {number}: {region.name}, line {region.start}")
            lines.extend(f"    {guard}" for guard in region.guards)
        lines.append("Compile Times:")
        lines.extend(f"  {line}" for line in self.compile_times.splitlines())
        return "\n".join(lines)

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes the report to a file as one self-contained page, and returns the text of the page."""
        from ._report.page import page_of

        page = page_of(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        from ._report.page import body_of

        return body_of(self)


def _table_of_times(regions: list[Region]) -> str:
    rows = [("region", "ops", "capture ms", "plan ms")]
    for region in regions:
        rows.append(
            (
                f"{region.name}:{region.start}",
                str(len(region.ops)),
                f"{region.walk_ns / 1e6:.3f}",
                f"{region.plan_ns / 1e6:.3f}",
            )
        )
    width = max(len(row[0]) for row in rows)
    return "\n".join(f"{row[0]:<{width}}  {row[1]:>4}  {row[2]:>10}  {row[3]:>8}" for row in rows)


def explain(function: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    from ._compile import compile

    function = _python_function(function)
    options = getattr(function, "_own_options", None)

    def explained(*args: Any, **kwargs: Any) -> ExplainOutput:
        graphs: list[GraphModule] = []
        breaks: list[dict[str, Any]] = []

        def keep(gm: GraphModule, example_inputs: list[Any]) -> _C.Plan:
            graphs.append(gm)
            return gm._graph.compiled("onednn", example_inputs)

        # A separate backend, so no earlier captures are used.
        keep._stands_for_onednn = True  # type: ignore[attr-defined]  # read by the extension
        captured = compile(function, backend=keep, options=options)
        loops: list[Loop] = []

        def call() -> None:
            breaks.extend(_C.record_breaks(lambda: captured(*args, **kwargs)))

        earlier = _captures_of(function)
        try:
            regions = [
                Region(facts)
                for facts in _C.record_captures(lambda: loops.extend(starmap(Loop, _C.record_loops(call))))
            ]
        finally:
            _C._drop_captures(keep)
        return ExplainOutput(graphs, [BreakReason(facts) for facts in breaks], regions, earlier, loops)

    return explained


def _python_function(function: Any) -> Any:
    """The function that compile() captures for a module or callable; the argument itself if unknown."""
    from .module_wrapper import call_of, is_module

    if is_module(function):
        fields = function.__dict__
        return fields.get("_captured") or fields.get("_compiled_call_impl") or call_of(function)
    return function


def _code_of(function: object) -> CodeType | None:
    from ._compile import _function_of

    return getattr(_function_of(function), "__code__", None) if callable(function) else None


def _captures_of(function: object) -> list[Region]:
    """The existing regions of the function."""
    code = _code_of(function) if _C.frame_evaluation else None
    return [] if code is None else [Region(facts) for facts in _C.code_captures(code)[0]]


def why(function: Callable[..., Any]) -> str:
    function = _python_function(function)
    if isinstance(function, _C.PolicyFunction) and function.disables_callees is not None:
        scope = "it and what it calls are" if function.disables_callees else "it is"
        return f"{_name_of(function)} is not captured: {scope} kept out by disable()."
    if not _C.frame_evaluation:
        return f"{_name_of(function)} is not captured: there is no frame evaluator for this version of Python."
    code = _code_of(function)
    if code is None:
        raise TypeError(f"why() takes a function or a compiled one, not {type(function).__name__}")
    captures, limit_was_met = _C.code_captures(code)
    return f"{code.co_qualname} {_what_became_of(captures, limit_was_met)}"


def _name_of(function: object) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _what_became_of(captures: list[dict[str, Any]], limit_was_met: bool) -> str:
    import sys

    if not captures:
        if sys.gettrace() is not None or sys.getprofile() is not None:
            return "is not captured: a tracer or profiler is active, and what it looks at is Python's."
        return "is not captured: it was not called under compile() since it was defined or since the last reset()."
    if limit_was_met:
        return (
            f"is captured for {len(captures)} kinds of arguments, as many as config.recompile_limit allows: "
            "other arguments run as plain Python."
        )
    if any(each["skips_frame"] for each in captures):
        return "is left to Python: skip_frame() was called in it."
    broken = [each for each in captures if each["break"] is not None]
    if broken:
        first = broken[0]["break"]
        file, line, _ = first["user_stack"][-1]
        more = f", the first of {len(broken)} places" if len(broken) > 1 else ""
        return f"breaks the graph at {file}:{line} ({first['id']}: {first['title']}){more}."
    raising = [each for each in captures if each["raises"] is not None]
    ending = [each for each in captures if each["raises"] is None]
    ops = sum(len(each["ops"]) for each in ending)
    failures = "; ".join(dict.fromkeys(_failure_of(*each["raises"]) for each in raising))
    if ops > 0:
        kinds = sum(each["at_start"] for each in ending)
        variants = f" for each of {kinds} kinds of arguments" if kinds > 1 else ""
        more = f"; {failures}" if raising else ""
        left = [each["lines_left"] for each in captures if each["lines_left"] is not None]
        extent = "whole"
        if left:
            extent = (
                f"but for lines {min(first for first, _ in left)} to {max(last for _, last in left)}, left to Python"
            )
        return f"is captured {extent}{variants}: {ops} operation{'s' if ops > 1 else ''}{more}."
    if raising:
        return f"is captured whole: {failures}."
    return "is not captured: there is no operation on tensors in it that anything needs."


def _failure_of(file: str, line: int, name: str | None, is_statement: bool) -> str:
    name = name or "an exception"
    what = f"it raises {name}" if is_statement else f"an operation fails with {name}"
    return f"{what} at {file}:{line}"
