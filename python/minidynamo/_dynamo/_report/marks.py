"""Colours, numbers and small pieces of HTML that all parts of the page share."""

from __future__ import annotations

import os
from html import escape

import minidynamo

_COLOURS = 8


def colour_class(number: int) -> str:
    """The CSS class of the colour of graph or step `number`; colours repeat after eight."""
    return f"md-c{number % _COLOURS}"


def graph_chip(number: int, title: str = "") -> str:
    tip = f' title="{escape(title)}"' if title else ""
    return f'<span class="md-chip {colour_class(number - 1)}"{tip}>graph {number}</span>'


def shown_path(file: str) -> str:
    """The shortest path relative to the working directory."""
    here = os.getcwd() + os.sep
    return file.removeprefix(here)


def is_own(file: str) -> bool:
    """Whether it belongs to this package rather than to user code."""
    return file.startswith(os.path.dirname(minidynamo.__file__))


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(ns: float) -> str:  # type: ignore[return]  # in seconds at the latest
    """Nanoseconds with three digits: 850 ns, 1.23 µs, 4.5 ms."""
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < 999.5 * size or unit == "s":
            return f"{_three_digits(ns / size)} {unit}"


def quantity(number: float, unit: str) -> str:  # type: ignore[return]  # with T at the latest
    """1234567, "B" is 1.23 MB."""
    for prefix, size in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if number < 999.5 * size or prefix == "T":
            return f"{_three_digits(number / size)} {prefix}{unit}"


def _three_digits(number: float) -> str:
    if number == int(number) or number >= 99.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"
