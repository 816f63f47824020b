"""The user's source: each line in the colour of the graph that captured it, breaks below the line where they happen."""

from __future__ import annotations

import ast
import inspect
import io
import keyword
import linecache
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable
from html import escape

from .._explain import BreakReason, ExplainOutput
from .marks import colour_class, graph_chip, is_own, shown_path

# CPython's name for unnamed sources: there may be any number, and linecache has at most one (3.13: python -c).
_SHARED_NAMES = {"<string>", "<stdin>", "<unknown>"}


def _lines_of(file: str) -> list[str]:
    """The lines of that file; none if they might belong to another source."""
    return [] if file in _SHARED_NAMES else linecache.getlines(file)


class _Function:
    """A function of which lines are shown: its file, name, and first and last line."""

    def __init__(self, file: str, name: str, first: int, last: int) -> None:
        self.file, self.name, self.first, self.last = file, name, first, last
        # line: graph: names of operations
        self.ops: defaultdict[int, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        # line: (number, BreakReason, whether it happens there rather than in a call)
        self.breaks: defaultdict[int, list[tuple[int, BreakReason, bool]]] = defaultdict(list)


class Sources:
    """The functions in a report, in order of occurrence, without our own.

    graphs: position of a region among the report's: number of its graph.
    """

    def __init__(self, report: ExplainOutput, graphs: dict[int, int]) -> None:
        self._functions: dict[tuple[str, str, int], _Function] = {}
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        for region in report.regions:
            self._function(region.file, region.name, region.line, region.line)
        for at, region in enumerate(report.regions):
            for op, frames in region.ops:
                for file, line, name in frames:
                    self._function(file, name, line).ops[line][graphs[at]].append(op)
        for number, reason in enumerate(report.break_reasons, 1):
            for frame in reason.user_stack:
                place = self._function(frame.filename, frame.name, frame.lineno)  # type: ignore[arg-type]  # an int
                found = (number, reason, frame is reason.user_stack[-1])
                place.breaks[frame.lineno].append(found)  # type: ignore[index]  # likewise

    def html(self) -> str:
        shown = [each for each in self._functions.values() if not is_own(each.file)]
        return "\n".join(map(_panel, shown or self._functions.values()))

    def _function(self, file: str, name: str, line: int, first: int | None = None) -> _Function:
        """The function of that name around that line; two of one name in one file are told apart by their lines."""
        span = self._span(file, name, line, first)
        key = (file, name, span[0])
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = _Function(file, name, *span)
        found.first, found.last = min(found.first, span[0]), max(found.last, span[1])
        return found

    def _span(self, file: str, name: str, line: int, first: int | None) -> tuple[int, int]:
        around = [span for span in self._defined(file) if span[2] == name and span[0] <= line <= span[1]]
        if around:
            return max(around)[:2]
        if first is not None:  # a lambda or an expression: the source there as one block
            lines = _lines_of(file)[first - 1 :]
            return (first, first - 1 + len(inspect.getblock(lines))) if lines else (first, first)
        for known in self._functions.values():
            if (known.file, known.name) == (file, name) and known.first <= line <= known.last:
                return known.first, known.last
        return line, line

    def _defined(self, file: str) -> list[tuple[int, int, str]]:
        """(first line, last line, name) of each def in the file."""
        if file not in self._spans:
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            try:
                tree = ast.parse("".join(_lines_of(file)))
            except (SyntaxError, ValueError):
                tree = ast.Module([], [])
            self._spans[file] = [
                (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno, node.name)  # type: ignore[misc]  # an int
                for node in ast.walk(tree)
                if isinstance(node, kinds)
            ]
        return self._spans[file]


def _panel(function: _Function) -> str:
    lines = _lines_of(function.file)
    header = (
        f'<header><code><b>{escape(function.name)}</b></code><span class="md-soft md-code">'
        f"{escape(shown_path(function.file))}:{function.first}</span></header>"
    )
    if not lines:
        breaks = [row for found in function.breaks.values() for row in map(_break_row, found)]
        rest = f'<table class="md-source">{"".join(breaks)}</table>' if breaks else ""
        return f'<section class="md-panel">{header}<p class="md-inside">Its source cannot be read.</p>{rest}</section>'
    texts = [line.rstrip("\n") for line in lines[function.first - 1 : function.last]]
    shown = _coloured(texts)
    rows = []
    for line, text in enumerate(shown, function.first):
        graphs = function.ops.get(line)
        colour = f' class="md-in {colour_class(min(graphs) - 1)}"' if graphs else ""
        chips = " ".join(graph_chip(graph, ", ".join(ops)) for graph, ops in sorted(graphs.items())) if graphs else ""
        rows.append(
            f'<tr{colour}><td class="md-number">{line}</td><td class="md-text md-code">{text or " "}</td>'
            f'<td class="md-chips">{chips}</td></tr>'
        )
        rows += map(_break_row, function.breaks.get(line, ()))
    return f'<section class="md-panel">{header}<table class="md-source">{"".join(rows)}</table></section>'


def _break_row(found: tuple[int, BreakReason, bool]) -> str:
    number, reason, is_place = found
    name = f"<b>Graph break {number}</b>"
    if not is_place:
        return f'<tr class="md-break"><td></td><td colspan="2">{name} happens in this call.</td></tr>'
    explanation = re.search(r"Explanation: (.*?)\n  (?:Hint|Developer)", reason.reason, re.DOTALL)
    context = re.search(r"Developer debug context: (.*?)(?:\n\n|$)", reason.reason, re.DOTALL)
    parts = [f'{name} <span class="md-soft">{escape(reason.gb_id)}</span> {escape(reason.title)}']
    if explanation:
        parts.append(f"<p>{escape(' '.join(explanation[1].split()))}</p>")
    if context and context[1].strip():
        parts.append(f'<p class="md-code md-soft">{escape(context[1].strip())}</p>')
    parts += [f'<p class="md-hint">{escape(hint)}</p>' for hint in reason.hints]
    return f'<tr class="md-break"><td></td><td colspan="2">{"".join(parts)}</td></tr>'


def _coloured(lines: list[str]) -> list[str]:
    """The lines as HTML with highlighted keywords, strings, numbers and comments; plain if they do not parse."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    cut = [line[margin:] for line in lines]
    marks: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)  # line: (from column, to column, class)
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(cut)).readline):
            kind = _class_of(token)
            if kind is None:
                continue
            (line, start), (last, end) = token.start, token.end
            for at in range(line, last + 1):
                begin, stop = start if at == line else 0, end if at == last else len(cut[at - 1])
                marks[at].append((begin, stop, kind))
    except (tokenize.TokenError, SyntaxError):
        marks.clear()
    return [" " * margin + _marked(line, marks.get(at, ())) for at, line in enumerate(cut, 1)]


def _class_of(token: tokenize.TokenInfo) -> str | None:
    name = tokenize.tok_name[token.type]
    if name == "NAME":
        return "md-kw" if keyword.iskeyword(token.string) else None
    if name == "COMMENT":
        return "md-rem"
    if name == "NUMBER":
        return "md-num"
    return "md-str" if "STRING" in name else None


def _marked(line: str, marks: Iterable[tuple[int, int, str]]) -> str:
    parts, done = [], 0
    for start, end, kind in marks:
        start = max(start, done)  # the parts of an f-string may overlap in 3.12
        parts.append(f'{escape(line[done:start])}<span class="{kind}">{escape(line[start:end])}</span>')
        done = end
    return "".join(parts) + escape(line[done:])
