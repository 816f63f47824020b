"""A captured graph in the shape that backends written for torch.fx expect.

The graph itself is an immutable minidynamo._C.Graph; the classes here are views of it, built on demand.
"""

from __future__ import annotations

import ast
import operator
import sys
from functools import cached_property, partial
from typing import Any

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from .proxy import Proxy as Proxy
from .tracing import Interpreter as Interpreter
from .tracing import Tracer as Tracer
from .tracing import Transformer as Transformer
from .tracing import symbolic_trace as symbolic_trace
from .tracing import wrap as wrap


class Op:
    """The target of a call whose operation has no function of its own: in minidynamo, or in the graph's library.

    For a library it takes and returns the library's tensors.
    """

    def __init__(self, path: str, row: str, library: str) -> None:
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__module__ = path.rpartition(".")[0]
        self._row = row
        self._library = library

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._in_library(partial(_C._call_op, self._row), args, kwargs)

    def _in_library(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = partial(_C._to_own, self._library)
        return _mapped(partial(_C._from_own, self._library), function(*_mapped(own, args), **_mapped(own, kwargs)))

    def __repr__(self) -> str:
        return f"{self.__module__}.{self.__name__}"


class HostCall(Op):
    """The target of a step that calls a function of the program: a custom operator, one under allow_in_graph."""

    def __init__(self, path: str, native: _C.Node, library: str) -> None:
        super().__init__(path, native.row, library)
        self._native = native

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._in_library(self._native.call_host, args, kwargs)


class Node:
    """One step: op is placeholder, get_attr, call_function, call_method or output.

    args and kwargs hold other nodes and constants, users the nodes that use this one, meta what is known of its result:
    "val" and "example_value" (a fake tensor, or the type of a number), "stack_trace" (where the user wrote it),
    "is_number" for nodes that compute sizes that vary.
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
        self._numbers: dict[str, Node | int] = {}
        self._places: dict[str, tuple[str, int]] = graph.symbols_of_inputs()
        self._names = {native.name for native in graph.nodes}
        self.nodes: list[Node] = []
        # Any node may need the sizes of any input.
        for node in sorted(graph.nodes, key=lambda node: not node.kind.endswith("input")):
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
        values = self._graph.example_values(native)
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        if native.kind == "op":
            args, kwargs = self._map(self._graph.arguments(native))
        op, target = _op_and_target(self._graph, native)
        meta: dict[str, Any] = {"stack_trace": native.stack_trace} if native.stack_trace else {}
        value = tuple(values) if native.has_several_results else values[0]
        meta["val"] = meta["example_value"] = value
        node = self._append(Node(self, op, native.name, target, args, kwargs, meta))
        self._results[native.name, 0] = node
        if native.symbol and native.kind == "op":
            self._places[native.symbol] = native.name, _ELEMENT
        if native.has_several_results:
            self._add_items(node, values)

    def _add_items(self, node: Node, values: list[Any]) -> None:
        """One getitem for each of several results, as torch.fx has them."""
        for index, value in enumerate(values):
            name = self._free_name(f"{node.name}_item_{index}")
            meta = {**node.meta, "val": value, "example_value": value}
            item = self._append(Node(self, "call_function", name, operator.getitem, (node, index), None, meta))
            self._results[node.name, index] = item

    def _value(self, value: _C.GraphValue) -> Node:
        return self._results[value.node, value.out]

    def _free_name(self, name: str) -> str:
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def _number(self, text: str) -> Node | int:
        """The node that computes a number that varies, from sizes, numbers and elements of tensors."""
        if text not in self._numbers:
            self._numbers[text] = self._computed(ast.parse(text, mode="eval").body)
        return self._numbers[text]

    def _computed(self, expression: ast.expr) -> Node | int:
        if isinstance(expression, ast.Constant):
            return int(expression.value)  # type: ignore[arg-type]  # the only constants in sizes
        if isinstance(expression, ast.Name):
            return self._symbol(expression.id)
        if isinstance(expression, ast.UnaryOp):
            return self._call("call_function", operator.neg, (self._number(ast.unparse(expression.operand)),))
        assert isinstance(expression, ast.BinOp), ast.dump(expression)
        sides = self._number(ast.unparse(expression.left)), self._number(ast.unparse(expression.right))
        return self._call("call_function", _ARITHMETIC[type(expression.op)], sides)

    def _symbol(self, name: str) -> Node:
        place, dim = self._places[name]
        node = self._results[place, 0]
        if dim == _ELEMENT:
            return self._call("call_method", "item", (node,))
        return node if dim < 0 else self._call("call_method", "size", (node, dim))

    def _call(self, op: str, target: Any, args: tuple[Any, ...]) -> Node:
        stem = target if isinstance(target, str) else target.__name__
        meta = {"val": int, "example_value": int, "is_number": True}
        return self._append(Node(self, op, self._free_name(stem), target, args, None, meta))

    def _map(self, value: Any) -> Any:
        if isinstance(value, _C.GraphValue):
            return self._value(value)
        if isinstance(value, _C.GraphNumber):
            return self._number(value.text)
        if type(value) in (tuple, list):
            return type(value)(map(self._map, value))
        if isinstance(value, dict):
            return {key: self._map(item) for key, item in value.items()}
        return value


_ELEMENT = -2  # in the place of a dim: the only element of a tensor
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


class GraphModule:
    """A captured graph as a callable: takes the graph's inputs in order and returns its outputs as a tuple."""

    def __init__(self, graph: _C.Graph) -> None:
        self._graph = graph
        # Runs the graph operation by operation.
        self.forward = graph.eager()
        for node in graph.nodes:
            if node.kind == "constant":
                setattr(self, node.name, graph.constant(node))

    @cached_property
    def graph(self) -> Graph:
        return Graph(self._graph)

    @property
    def library(self) -> str:
        """Whose tensors it takes and returns: "minidynamo", "torch"."""
        return self._graph.library

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


def _op_and_target(graph: _C.Graph, native: _C.Node) -> tuple[str, Any]:
    if native.kind in ("tensor input", "scalar input"):
        return "placeholder", native.target
    if native.kind == "constant":
        return "get_attr", native.name
    form, path = graph.form(native), graph.path(native)
    if form == "method":
        return "call_method", native.op
    if form != "function":
        return "call_function", getattr(operator, form.removeprefix("operator."))
    if native.is_host_call:
        return "call_function", HostCall(path, native, graph.library)
    # A function of ours takes tensors of ours.
    if graph.is_own or path.partition(".")[0] != __name__.partition(".")[0]:
        found = _find(path)
        if found is not None:
            return "call_function", found
    return "call_function", _op_without_function(path, native.row, graph.library)


def _find(path: str) -> Any:
    """The function at that path, None if there is none."""
    first, *rest = path.split(".")
    found: Any = sys.modules.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


_OPS: dict[tuple[str, str, str], Op] = {}


def _op_without_function(path: str, row: str, library: str) -> Op:
    key = (path, row, library)
    return _OPS.setdefault(key, Op(*key))


def _mapped(function: Any, value: Any) -> Any:
    """The value with function(leaf) in the place of what lies in its tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        items = [_mapped(function, item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _mapped(function, item) for key, item in value.items()}
    return function(value)


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

_explain_missing(__name__, ("experimental", "graph", "graph_module", "node", "proxy"))
