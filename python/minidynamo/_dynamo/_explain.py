"""explain(): what one call of a function captures, and where it breaks."""

from .. import _C


class BreakReason:
    """One graph break: reason is its text, gb_id its id in docs/graph_breaks.md, user_stack the place."""

    def __init__(self, facts):
        from traceback import StackSummary

        self.reason = facts["text"]
        self.gb_id = facts["id"]
        self.user_stack = StackSummary.from_list([(*frame, None) for frame in facts["user_stack"]])

    def __repr__(self):
        return f"BreakReason({self.gb_id}: {self.reason.partition(chr(10))[0]})"


class ExplainOutput:
    """graphs, graph_count, op_count, ops_per_graph, break_reasons, graph_break_count; str() is a report."""

    def __init__(self, graphs, break_reasons):
        self.graphs = graphs
        self.graph_count = len(graphs)
        self.ops_per_graph = [
            [node.target for node in gm.graph.nodes if node.op in ("call_function", "call_method")] for gm in graphs
        ]
        self.op_count = sum(map(len, self.ops_per_graph))
        self.break_reasons = break_reasons
        self.graph_break_count = len(break_reasons)

    def __str__(self):
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
            lines.append(f"  Ops {number}: {', '.join(getattr(op, '__name__', op) for op in ops)}")
        return "\n".join(lines)


def explain(function):
    from .._compile import compile

    def explained(*args, **kwargs):
        graphs = []

        def keep(gm, example_inputs):
            graphs.append(gm)
            return gm.forward

        # A backend of its own: nothing that was captured before is used.
        captured = compile(function, backend=keep)
        breaks = _C.record_breaks(lambda: captured(*args, **kwargs))
        return ExplainOutput(graphs, [BreakReason(facts) for facts in breaks])

    return explained
