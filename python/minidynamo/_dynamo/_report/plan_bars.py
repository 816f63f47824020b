"""A plan as a table: the nodes of each step, its time as a bar, bytes and operations, why it has no more nodes."""

from __future__ import annotations

from html import escape

from .._explain import Plan, Step
from .marks import colour_class, duration, plural, quantity


def plan_table(plan: Plan) -> str:
    if not plan.steps:
        return ""
    ns = [step.fastest_ns or 0 for step in plan.steps]
    longest = max(ns) or 1
    rows = "".join(_row(at, step, step_ns / longest) for at, (step, step_ns) in enumerate(zip(plan.steps, ns)))
    heading = '<tr><th style="width: 48%">step</th><th style="width: 26%">time of one run</th>' + "".join(
        f'<th class="md-figure">{name}</th>' for name in ("fastest", "moved", "computed")
    )
    return f'<h3>Plan</h3><p class="md-soft">{_summary(plan)}</p><table class="md-steps">{heading}</tr>{rows}</table>'


def _summary(plan: Plan) -> str:
    nodes = sum(len(step.nodes) for step in plan.steps)
    parts = [f"{plural(nodes, 'operation')} in {plural(len(plan.steps), 'step')}"]
    if plan.views:
        parts.append(f"{plural(len(plan.views), 'view')} without a step ({escape(', '.join(plan.views))})")
    if plan.arena_nbytes:
        parts.append(f"{quantity(plan.arena_nbytes, 'B')} of memory between steps")
    if plan.runs:
        measured = "one run, the first" if plan.runs == 1 else f"the fastest of {plan.runs} runs"
        parts.append(f"{duration(plan.fastest_ns)} in all, {measured}")  # type: ignore[arg-type]  # measured
    return "; ".join(parts) + "."


def _row(at: int, step: Step, share: float) -> str:
    nodes = ", ".join(step.nodes)
    details = f'<div class="md-soft md-small">{escape(step.kernel)}</div>'
    if step.why:
        details += f'<div class="md-soft md-small">{escape(step.nodes[0])}: {escape(step.why)}</div>'
    length = f"width: {100 * share:.1f}%"
    bar = f'<span class="md-track"><span class="md-bar {colour_class(at)}" style="{length}"></span></span>'
    fastest = "–" if step.fastest_ns is None else duration(step.fastest_ns)
    rate = ""
    if step.fastest_ns:
        rate = f'<div class="md-soft md-small">{quantity(step.bytes / step.fastest_ns * 1e9, "B/s")}</div>'
    if step.of_the_bound is not None:
        fastest += f'<div class="md-soft md-small">{100 * step.of_the_bound:.0f} % of the bound</div>'
    figures = (
        fastest,
        f"{quantity(step.bytes, 'B')}{rate}",
        quantity(step.flops, "FLOP") if step.flops else "–",
    )
    cells = "".join(f'<td class="md-figure">{figure}</td>' for figure in figures)
    return (
        f'<tr><td><span class="md-key {colour_class(at)}"></span>'
        f'<code title="{escape(nodes)}">{escape(step.text)}</code>'
        f"{details}</td><td>{bar}</td>{cells}</tr>"
    )
