"""Assembles the page: figures, source, then each region with its guards, plan and graph."""

from __future__ import annotations

from html import escape

from .._explain import ExplainOutput, Region
from .drawing import drawing_of
from .marks import colour_class, duration, graph_chip, is_own, plural, shown_path
from .plan_bars import plan_table
from .source import Sources
from .style import style

_EXITS = {
    "return": "returns",
    "break": "ends at a graph break",
    "raise": "ends where an exception is raised",
    "loop": "ends at a loop whose body is another region",
    "hand over": "leaves the rest to Python",
}


def page_of(report: ExplainOutput) -> str:
    """The text of an HTML file."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(_title(report))}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>body {{ margin: 0; background: Canvas; color-scheme: light dark }}</style></head>\n"
        f"<body>\n{body_of(report)}\n</body>\n</html>\n"
    )


def body_of(report: ExplainOutput) -> str:
    """The same as an element for notebooks."""
    graphs: dict[int, int] = {}  # position of a region: number of its graph
    for at, region in enumerate(report.regions):
        if region.ops:
            graphs[at] = len(graphs) + 1
    parts = [f"<style>{style()}</style>", _heading(report), _tiles(report)]
    if report.regions:
        parts += ["<h2>Source</h2>", Sources(report, graphs).html(), "<h2>Compilation</h2>"]
        parts += [_compile_times(report.regions, graphs), "<h2>Regions</h2>"]
    parts += [_region(region, at, graphs) for at, region in enumerate(report.regions)]
    parts.append(_earlier(report.earlier))
    return f'<div class="md-page">{"".join(parts)}</div>'


def _title(report: ExplainOutput) -> str:
    return f"{report.regions[0].name}: what is captured" if report.regions else "Nothing was captured"


def _heading(report: ExplainOutput) -> str:
    if not report.regions:
        return "<h1>Nothing was captured</h1>"
    first = report.regions[0]
    what = "as minidynamo captures it" if report.graph_count else "has nothing that is captured"
    place = "" if is_own(first.file) else f"{escape(shown_path(first.file))}:{first.line}"
    return f'<h1><code>{escape(first.name)}</code> {what}</h1><p class="md-soft md-code">{place}</p>'


def _tiles(report: ExplainOutput) -> str:
    plans = [region.plan for region in report.regions if region.plan and region.plan.runs]
    compiling = sum(region.walk_ns + region.plan_ns for region in report.regions)
    tiles: list[tuple[object, str, str]] = [
        (report.graph_count, "graphs" if report.graph_count != 1 else "graph", ""),
        (
            report.graph_break_count,
            "graph break" if report.graph_break_count == 1 else "graph breaks",
            " md-bad" if report.graph_break_count else " md-well",
        ),
        (report.op_count, "operation" if report.op_count == 1 else "operations", ""),
        (len(report.out_guards), "guard" if len(report.out_guards) == 1 else "guards", ""),
    ]
    if report.regions:
        tiles.append((duration(compiling), "to compile", ""))
    if plans:
        tiles.append((duration(sum(plan.fastest_ns for plan in plans)), "to run the plans", ""))  # type: ignore[misc]  # measured
    cells = "".join(
        f'<div class="md-tile{kind}"><b>{number}</b><span class="md-soft">{name}</span></div>'
        for number, name, kind in tiles
    )
    return f'<div class="md-tiles">{cells}</div>'


def _name_of(region: Region, at: int, graphs: dict[int, int]) -> str:
    chip = graph_chip(graphs[at]) if at in graphs else '<span class="md-soft">no graph</span>'
    return f"{chip} <code>{escape(region.name)}</code>, line {region.start}"


def _compile_times(regions: list[Region], graphs: dict[int, int]) -> str:
    longest = max(region.walk_ns + region.plan_ns for region in regions) or 1
    rows = []
    for at, region in enumerate(regions):
        bars = "".join(
            f'<span class="md-bar {kind}" style="width: {100 * ns / longest:.1f}%"></span>'
            for kind, ns in (("md-capture", region.walk_ns), ("md-lower", region.plan_ns))
        )
        rows.append(
            f'<tr><td style="width: 30%">{_name_of(region, at, graphs)}</td>'
            f'<td style="width: 46%"><span class="md-track">{bars}</span></td>'
            f'<td class="md-figure">{duration(region.walk_ns)}</td>'
            f'<td class="md-figure">{duration(region.plan_ns)}</td></tr>'
        )
    heading = (
        '<tr><th>region</th><th></th><th class="md-figure"><span class="md-key md-capture"></span>capture</th>'
        '<th class="md-figure"><span class="md-key md-lower"></span>plan</th></tr>'
    )
    return f'<table class="md-steps">{heading}{"".join(rows)}</table>'


def _list(texts: list[str]) -> str:
    return f'<ul class="md-list md-code">{"".join(f"<li>{escape(text)}</li>" for text in texts)}</ul>'


def _region(region: Region, at: int, graphs: dict[int, int]) -> str:
    colour = f" {colour_class(graphs[at] - 1)}" if at in graphs else ""
    facts = f"{plural(len(region.ops), 'operation')}, {plural(len(region.guards), 'guard')}, {_EXITS[region.exit]}"
    parts = [
        f'<header><span>{_name_of(region, at, graphs)}</span><span class="md-soft">{facts}</span></header>'
        '<div class="md-inside">'
    ]
    if region.recompile_reasons:
        parts.append(f"<h3>Captured again because</h3>{_list(region.recompile_reasons)}")
    if region.ops and region.plan:
        parts.append(plan_table(region.plan))
    parts.append('<div class="md-beside">')
    if region.ops:
        parts.append(f"<div><h3>Graph</h3>{drawing_of(region.graph, region.plan)}</div>")
    if region.guards:
        parts.append(f"<div><h3>Guards</h3>{_guards(region.guards)}</div>")
    return f'<section class="md-panel{colour}">{"".join(parts)}</div></div></section>'


def _guards(guards: list[str]) -> str:
    """KIND: condition."""
    items = []
    for guard in guards:
        kind, _, rest = guard.partition(": ")
        kind = f'<span class="md-kind">{escape(kind)}: </span>'
        items.append(f"<li>{kind}{escape(rest)}</li>")
    return f'<ul class="md-list md-code md-guards">{"".join(items)}</ul>'


def _earlier(regions: list[Region]) -> str:
    """Captures of the function by earlier calls, and the reason for each recompilation."""
    if not regions:
        return ""
    rows = []
    for region in regions:
        why = _list(region.recompile_reasons) if region.recompile_reasons else '<span class="md-soft">the first</span>'
        rows.append(
            f"<tr><td>line {region.start}</td><td>{plural(len(region.ops), 'operation')}, {_EXITS[region.exit]}</td>"
            f"<td>{why}</td></tr>"
        )
    heading = "<tr><th>from</th><th>captured</th><th>captured again because this did not hold</th></tr>"
    return f'<h2>Captured by earlier calls</h2><table class="md-steps md-earlier">{heading}{"".join(rows)}</table>'
