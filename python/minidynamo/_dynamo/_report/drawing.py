"""A graph as SVG: inputs on top, each node below all that it uses, in the colour of the step that runs it."""

from __future__ import annotations

import re
from collections import defaultdict
from html import escape

from ... import _C
from ...fx import Graph, Node
from .._explain import Plan
from .marks import colour_class

# The left, upper end of a node's box, and its width.
_Place = tuple[float, float, float]

_MOST_NODES = 250
_HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 38, 18, 30, 4
_LETTER = 7.3  # width of one at 12 px
_MOST_LETTERS = 22


def drawing_of(native: _C.Graph, plan: Plan | None) -> str:
    """The SVG of a minidynamo._C.Graph; plan is a Plan or None."""
    nodes = Graph(native).nodes
    if len(nodes) > _MOST_NODES:
        return f'<p class="md-soft">{len(nodes)} nodes are too many to draw.</p>'
    types = {node.name: ", ".join(map(_short_type, node.types)) for node in native.nodes}
    steps = {name: at for at, step in enumerate(plan.steps) for name in step.nodes} if plan else {}
    views = set(plan.views) if plan else set()
    places, width, height = _layout(nodes, types)
    shapes = [_edge(places[used], places[node]) for node in nodes for used in node.all_input_nodes]
    shapes += [_box(node, places[node], types.get(node.name, ""), steps, views) for node in nodes]
    return (
        f'<div class="md-drawing"><svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img">{"".join(shapes)}</svg></div>'
    )


def _short_type(text: str) -> str:
    """f32[3, 4] from "f32[3, 4][4, 1]cpu"."""
    found = re.match(r"[^\[]*(\[[^\]]*\])?", text)
    return found[0] if found else text


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _levels(nodes: list[Node]) -> dict[Node, int]:
    """The row of each node. Inputs and constants are placed just above their first user."""
    level: dict[Node, int] = {}
    for node in nodes:
        used = [level[each] for each in node.all_input_nodes]
        level[node] = 1 + max(used) if used else 0
    for node in nodes:
        if not node.all_input_nodes and node.users:
            level[node] = max(0, min(level[user] for user in node.users) - 1)
    return level


def _layout(nodes: list[Node], types: dict[str, str]) -> tuple[dict[Node, _Place], float, float]:
    """(x, y, width) of each node, and the size of the drawing."""
    level = _levels(nodes)
    rows = defaultdict(list)
    for node in nodes:
        rows[level[node]].append(node)
    widths = {
        node: max(64, _LETTER * max(len(_shortened(node.name)), 0.84 * len(_shortened(types.get(node.name, "")))) + 20)
        for node in nodes
    }
    centre: dict[Node, float] = {}
    spans = {}
    for depth in sorted(rows):
        # Nodes are ordered by their operands; inputs by their users.
        rows[depth].sort(key=lambda node: _pull(node, centre))
        spans[depth] = sum(widths[node] + _GAP_X for node in rows[depth]) - _GAP_X
        x = -spans[depth] / 2
        for node in rows[depth]:
            centre[node] = x + widths[node] / 2
            x += widths[node] + _GAP_X
    total = max(spans.values())
    places: dict[Node, _Place] = {
        node: (
            centre[node] - widths[node] / 2 + total / 2 + _MARGIN,
            level[node] * (_HEIGHT + _GAP_Y) + _MARGIN,
            widths[node],
        )
        for node in nodes
    }
    return places, total + 2 * _MARGIN, len(rows) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN


def _pull(node: Node, centre: dict[Node, float]) -> float:
    around = [centre[each] for each in node.all_input_nodes if each in centre]
    for user in node.users:
        around += [centre[each] for each in user.all_input_nodes if each in centre]
    return sum(around) / len(around) if around else 0


def _edge(start: _Place, end: _Place) -> str:
    x, y = start[0] + start[2] / 2, start[1] + _HEIGHT
    to_x, to_y = end[0] + end[2] / 2, end[1]
    bend = max(_GAP_Y / 2, (to_y - y) / 2)
    return f'<path d="M{x:.1f} {y} C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y}"/>'


def _box(node: Node, place: _Place, type_text: str, steps: dict[str, int], views: set[str]) -> str:
    x, y, width = place
    if node.op == "output":
        kind, tip = "md-end", "output"
    elif node.name in steps:
        kind, tip = f"md-step {colour_class(steps[node.name])}", f"step {steps[node.name]}: {node.format_node()}"
    else:
        kind, tip = "md-view" if node.name in views else "md-start", node.format_node()
    middle = f'x="{x + width / 2:.1f}" text-anchor="middle"'
    label_y = y + (17 if type_text else 24)
    second = f'<text class="md-type" {middle} y="{y + 31}">{escape(_shortened(type_text))}</text>' if type_text else ""
    return (
        f'<g class="{kind}"><title>{escape(tip)}</title>'
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_HEIGHT}" rx="6"/>'
        f'<text {middle} y="{label_y}">{escape(_shortened(node.name))}</text>{second}</g>'
    )
