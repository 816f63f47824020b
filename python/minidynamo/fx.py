"""A captured graph in the shape that backends written for torch.fx expect.

The graph itself is an immutable minidynamo._C.Graph; the classes here are views of it, built on demand.
"""

from __future__ import annotations

import operator
import sys
from functools import cached_property
from typing import Any

from . import _C


class Op:
    """The target of a call whose operation has no Python function of its own."""

    def __init__(self, path: str) -> None:
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__module__ = path.rpartition(".")[0]

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.__name__}"


class Node:
    """One step: op is placeholder, get_attr, call_function, call_method or output.

    args and kwargs hold other nodes and constants, users the nodes that use this one, meta what is known of its result:
    "val" and "example_value" (a fake tensor, or the type of a number), "stack_trace" (where the user wrote it).
    """

    def __init__(
        self,
        graph: Graph,
        op: str,
        name: str,
        target: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.graph = graph
        self.op = op
        self.name = name
        self.target = target
        self.args = args
        self.kwargs = kwargs or {}
        self.meta = meta or {}
        self.users: dict[Node, None] = {}
        for node in self.all_input_nodes:
            node.users[self] = None

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that this one uses, without duplicates."""
        found: dict[Node, None] = {}
        _visit((self.args, tuple(self.kwargs.values())), found)
        return list(found)

    @property
    def stack_trace(self) -> str | None:
        return self.meta.get("stack_trace")

    def format_node(self) -> str:
        if self.op == "output":
            return f"return {self.args[0]}"
        parts = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={_target_name(self.target)}]"
        if self.op in ("placeholder", "get_attr"):
            return parts
        return f"{parts}(args = {_format(self.args)}, kwargs = {_format(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name


class Graph:
    """The nodes in the order in which they run, the output last."""

    def __init__(self, graph: _C.Graph) -> None:
        self._graph = graph
        self._results: dict[tuple[str, int], Node] = {}
        self.nodes: list[Node] = []
        for node in graph.nodes:
            self._add(node)
        outputs = tuple(self._value(value) for value in graph.outputs)
        self._append(Node(self, "output", "output", "output", (outputs,)))

    @property
    def output_node(self) -> Node:
        return self.nodes[-1]

    def find_nodes(self, *, op: str, target: object = None) -> list[Node]:
        """The nodes of a kind and, for calls, of a target."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def print_tabular(self) -> None:
        """Prints a table of the nodes."""
        header = ("opcode", "name", "target", "args", "kwargs")
        rows = [(n.op, n.name, _target_name(n.target), _format(n.args), _format(n.kwargs)) for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        rule = tuple("-" * width for width in widths)
        for row in (header, rule, *rows):
            print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())

    def to_dot(self) -> str:
        """The graph in the language of Graphviz: a box for each node, an arrow to each of its users."""
        lines = ["digraph {", "    node [shape=box, fontname=monospace];"]
        for node in self.nodes:
            label = node.name if node.op in ("placeholder", "output") else f"{node.name}\n{_target_name(node.target)}"
            style = _DOT_STYLES.get(node.op, "")
            lines.append(f"    {_quoted(node.name)} [label={_quoted(label)}{style}];")
        for node in self.nodes:
            lines += [f"    {_quoted(used.name)} -> {_quoted(node.name)};" for used in node.all_input_nodes]
        return "\n".join([*lines, "}", ""])

    def lint(self) -> None:
        """Raises InternalError if the graph violates an invariant."""
        self._graph.verify()

    def __str__(self) -> str:
        inputs = ", ".join(f"%{node.target}" for node in self.nodes if node.op == "placeholder")
        return "\n    ".join([f"graph({inputs}):", *(node.format_node() for node in self.nodes)])

    def _append(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _add(self, native: _C.Node) -> None:
        values = native.example_values
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        if native.kind == "op":
            args, kwargs = self._map(native.arguments[0]), self._map(native.arguments[1])
        op, target = _op_and_target(native)
        meta: dict[str, Any] = {"stack_trace": native.stack_trace} if native.stack_trace else {}
        value = values[0] if len(values) == 1 else tuple(values)
        meta["val"] = meta["example_value"] = value
        node = self._append(Node(self, op, native.name, target, args, kwargs, meta))
        self._results[native.name, 0] = node
        if len(values) != 1:
            self._add_items(node, values)

    def _add_items(self, node: Node, values: list[Any]) -> None:
        """One getitem for each of several results, as torch.fx has them."""
        taken = {native.name for native in self._graph.nodes}
        for index, value in enumerate(values):
            name = f"{node.name}_item_{index}"
            while name in taken:
                name += "_"
            meta = {**node.meta, "val": value, "example_value": value}
            item = self._append(Node(self, "call_function", name, operator.getitem, (node, index), None, meta))
            self._results[node.name, index] = item

    def _value(self, value: _C.GraphValue) -> Node:
        return self._results[value.node, value.out]

    def _map(self, value: Any) -> Any:
        if isinstance(value, _C.GraphValue):
            return self._value(value)
        if type(value) in (tuple, list):
            return type(value)(map(self._map, value))
        if isinstance(value, dict):
            return {key: self._map(item) for key, item in value.items()}
        return value


class GraphModule:
    """A captured graph as a callable: takes the graph's inputs in order and returns its outputs as a tuple."""

    def __init__(self, graph: _C.Graph) -> None:
        self._graph = graph
        # Runs the graph operation by operation.
        self.forward = graph.eager()
        for node in graph.nodes:
            if node.kind == "constant":
                setattr(self, node.name, node.constant)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self._graph)

    @property
    def code(self) -> str:
        """Python source of forward()."""
        return self._graph.code()

    def print_readable(self, print_output: bool = True) -> str:
        """Source of the module with types and the user's lines; printed, and returned."""
        text = self._graph.code(readable=True)
        if print_output:
            print(text)
        return text

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        return self.forward(*args)

    def __repr__(self) -> str:
        return f"GraphModule()\n\n{self.code}"


def _op_and_target(native: _C.Node) -> tuple[str, Any]:
    if native.kind in ("tensor input", "scalar input"):
        return "placeholder", native.target
    if native.kind == "constant":
        return "get_attr", native.name
    if native.form == "method":
        return "call_method", native.op
    if native.form != "function":
        return "call_function", getattr(operator, native.form.removeprefix("operator."))
    return "call_function", _find(native.path) or _op_without_function(native.path)


def _find(path: str) -> Any:
    """The function at that path in the loaded modules of minidynamo, None if there is none."""
    first, *rest = path.split(".")
    found = sys.modules[__name__.partition(".")[0]] if first == "minidynamo" else None
    for name in rest:
        found = getattr(found, name, None)
    return found


_OPS: dict[str, Op] = {}


def _op_without_function(path: str) -> Op:
    return _OPS.setdefault(path, Op(path))


def _target_name(target: Any) -> str:
    if isinstance(target, str):
        return target
    return f"{getattr(target, '__module__', None) or 'minidynamo'}.{target.__name__}"


def _format(value: object) -> str:
    if isinstance(value, Node):
        return f"%{value.name}"
    if type(value) is tuple:
        return f"({', '.join(map(_format, value))}{',' if len(value) == 1 else ''})"
    if type(value) is list:
        return f"[{', '.join(map(_format, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_format(item)}' for key, item in value.items())}}}"
    return repr(value)


_DOT_STYLES = {
    "placeholder": ", style=filled, fillcolor=lightblue",
    "get_attr": ", style=filled, fillcolor=lightgrey",
    "output": ", style=filled, fillcolor=lightgreen",
}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _visit(value: object, found: dict[Node, None]) -> None:
    if isinstance(value, Node):
        found[value] = None
    elif isinstance(value, (tuple, list)):
        for item in value:
            _visit(item, found)


_C._hold_module(sys.modules[__name__])
