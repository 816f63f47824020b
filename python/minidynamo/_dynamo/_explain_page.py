"""An ExplainOutput as one HTML page that needs nothing else: no script, no network."""

import inspect
import linecache
from collections import defaultdict
from html import escape

from ..fx import Graph

_HUES = (210, 130, 30, 280, 60, 330, 170, 0)
_MOST_NODES = 200
_BOX_WIDTH, _BOX_HEIGHT, _GAP_X, _GAP_Y = 118, 26, 14, 26

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #1b1b1b }
h1 { font-size: 1.4em }
h2 { font-size: 1.15em; margin-top: 2em }
code, pre, td.code { font-family: ui-monospace, monospace }
table { border-collapse: collapse }
td, th { padding: .15em .6em; text-align: left; vertical-align: top }
table.source { font-size: 13px; width: 100%; background: #f7f7f7 }
table.source td { padding: 0 .6em; white-space: pre-wrap }
td.number { color: #777; text-align: right; user-select: none; width: 3em }
td.graphs { width: 6em; white-space: nowrap }
.mark { border-radius: 3px; padding: 0 .4em; font-size: 12px; background: hsl(var(--hue) 70% 80%) }
tr.in td.code { background: hsl(var(--hue) 70% 94%) }
tr.break td { background: #fde3df; font-family: system-ui, sans-serif; white-space: normal }
.bar { display: inline-block; height: .8em; min-width: 1px }
.walk { background: #4a7ab5 }
.plan { background: #d99a3d }
details { margin: .4em 0 }
svg { max-width: 100%; height: auto }
svg text { font: 12px ui-monospace, monospace }
ul.guards { font: 13px ui-monospace, monospace }
"""


def page_of(report):
    graphs = {}  # position of a region: number of its graph
    for at, region in enumerate(report.regions):
        if region.ops:
            graphs[at] = len(graphs) + 1
    title = f"{report.regions[0].name}: what is captured" if report.regions else "Nothing was captured"
    parts = [f"<h1>{escape(title)}</h1>", _summary(report)]
    parts += [_source(function, report, graphs) for function in _functions(report)]
    if report.regions:
        parts += ["<h2>Times</h2>", _times(report.regions, graphs), "<h2>Regions</h2>"]
    parts += [_region(region, at, graphs) for at, region in enumerate(report.regions)]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _summary(report):
    rows = (
        ("Graphs", report.graph_count),
        ("Graph breaks", report.graph_break_count),
        ("Operations", report.op_count),
        ("Guards", len(report.out_guards)),
    )
    cells = "".join(f"<tr><th>{name}</th><td>{number}</td></tr>" for name, number in rows)
    return f"<table>{cells}</table>"


def _functions(report):
    """(file, name, first line or None) of each function that has a region, an operation or a break, as they are met."""
    found = {}
    for region in report.regions:
        found[region.file, region.name] = region.line
        for _, frames in region.ops:
            for file, _, name in frames:
                found.setdefault((file, name), None)
    for reason in report.break_reasons:
        for frame in reason.user_stack:
            found.setdefault((frame.filename, frame.name), None)
    return [(file, name, line) for (file, name), line in found.items()]


def _source(function, report, graphs):
    file, name, first = function
    ops = defaultdict(lambda: defaultdict(list))  # line: graph: names of operations
    for at, region in enumerate(report.regions):
        for op, frames in region.ops:
            for op_file, line, op_function in frames:
                if (op_file, op_function) == (file, name):
                    ops[line][graphs[at]].append(op)
    breaks = defaultdict(list)
    for number, reason in enumerate(report.break_reasons, 1):
        for frame in reason.user_stack:
            if (frame.filename, frame.name) == (file, name):
                breaks[frame.lineno].append((number, reason))
    lines = _lines_of(file, first, [*ops, *breaks])
    rows = []
    for line, text in lines:
        hue = f' class="in" style="--hue: {_hue(min(ops[line]))}"' if line in ops else ""
        marks = "".join(_mark(graph, names) for graph, names in sorted(ops[line].items())) if line in ops else ""
        code = f'<td class="number">{line}</td><td class="code">{escape(text) or " "}</td>'
        rows.append(f'<tr{hue}>{code}<td class="graphs">{marks}</td></tr>')
        rows += [_break_row(number, reason) for number, reason in breaks.get(line, ())]
    where = f"{file}:{first}" if first else file
    heading = f"<h2><code>{escape(name)}</code> <small>{escape(where)}</small></h2>"
    if not rows:
        return heading + "<p>Its source cannot be read.</p>"
    return f'{heading}<table class="source">{"".join(rows)}</table>'


def _lines_of(file, first, needed):
    """(number, text) of the function's lines; where its first line is not known, of those that are needed."""
    source = linecache.getlines(file)
    if not source:
        return []
    if first is None:
        first, last = min(needed), max(needed)
    else:
        last = first - 1 + len(inspect.getblock(source[first - 1 :]))
        last = max([last, *needed])
    return [(line, source[line - 1].rstrip()) for line in range(first, min(last, len(source)) + 1)]


def _hue(graph):
    return _HUES[(graph - 1) % len(_HUES)]


def _mark(graph, ops):
    return f'<span class="mark" style="--hue: {_hue(graph)}" title="{escape(", ".join(ops))}">graph {graph}</span> '


def _break_row(number, reason):
    title, _, rest = reason.reason.partition("\n")
    return (
        f'<tr class="break"><td></td><td colspan="2"><details><summary><b>Graph break {number}</b> '
        f"({escape(reason.gb_id)}): {escape(title)}</summary><pre>{escape(rest)}</pre></details></td></tr>"
    )


def _title_of(region, at, graphs):
    what = f"graph {graphs[at]}" if at in graphs else "no graph"
    return f"{region.name}, line {region.start}: {what}, {len(region.ops)} operations, ends by {region.exit}"


def _times(regions, graphs):
    longest = max(region.walk_ns + region.plan_ns for region in regions) or 1
    rows = []
    for at, region in enumerate(regions):
        bars = "".join(
            f'<span class="bar {kind}" style="width: {300 * ns / longest:.1f}px"></span>'
            for kind, ns in (("walk", region.walk_ns), ("plan", region.plan_ns))
        )
        numbers = f"capture {region.walk_ns / 1e6:.3f} ms, plan {region.plan_ns / 1e6:.3f} ms"
        rows.append(f"<tr><td>{escape(_title_of(region, at, graphs))}</td><td>{bars} {numbers}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _region(region, at, graphs):
    guards = "".join(f"<li>{escape(guard)}</li>" for guard in region.guards)
    drawing = _drawing(region.graph) if region.ops else ""
    return (
        f"<details open><summary>{escape(_title_of(region, at, graphs))}</summary>"
        f'<ul class="guards">{guards}</ul>{drawing}</details>'
    )


def _drawing(native):
    """The graph as SVG, inputs on top, each node below all that it uses."""
    nodes = Graph(native).nodes
    if len(nodes) > _MOST_NODES:
        return f"<p>{len(nodes)} nodes are too many to draw.</p>"
    level = {}
    rows = defaultdict(list)
    for node in nodes:
        level[node] = 1 + max((level[each] for each in node.all_input_nodes), default=-1)
        rows[level[node]].append(node)
    place = {}
    for depth, row in rows.items():
        for column, node in enumerate(row):
            place[node] = (column * (_BOX_WIDTH + _GAP_X) + 1, depth * (_BOX_HEIGHT + _GAP_Y) + 1)
    width = max(map(len, rows.values())) * (_BOX_WIDTH + _GAP_X)
    height = len(rows) * (_BOX_HEIGHT + _GAP_Y)
    shapes = []
    for node in nodes:
        x, y = place[node]
        for used in node.all_input_nodes:
            from_x, from_y = place[used]
            start = f'x1="{from_x + _BOX_WIDTH // 2}" y1="{from_y + _BOX_HEIGHT}"'
            shapes.append(f'<line {start} x2="{x + _BOX_WIDTH // 2}" y2="{y}" stroke="#999"/>')
    for node in nodes:
        x, y = place[node]
        fill = {"placeholder": "#e3eefb", "output": "#e6f4e6"}.get(node.op, "#fff")
        box = f'x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="4" fill="{fill}" stroke="#666"'
        middle = f'x="{x + _BOX_WIDTH // 2}" y="{y + 17}" text-anchor="middle"'
        shapes.append(
            f"<g><title>{escape(node.format_node())}</title><rect {box}/>"
            f"<text {middle}>{escape(_shortened(node.name))}</text></g>"
        )
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">{"".join(shapes)}</svg>'


def _shortened(name, most=15):
    return name if len(name) <= most else name[: most - 1] + "…"
