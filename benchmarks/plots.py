"""Time against size, both on logarithmic axes: python benchmarks/plots.py FILE.json DIRECTORY

FILE is what steady.py --curves --json wrote; each family with three sizes or more gives one picture,
DIRECTORY/<family>_<threads>.svg.
"""

import json
import math
import os
import re
import sys
from xml.sax.saxutils import escape

from peers import OURS
from workloads import ROWS

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 170, 30, 45
FEWEST_SIZES = 3
COLOURS = {
    OURS: "#d62728",
    "NumPy": "#1f77b4",
    "numexpr": "#17becf",
    "Numba": "#2ca02c",
    "JAX": "#9467bd",
    "MLX": "#8c564b",
    "torch eager": "#ff7f0e",
    "torch.compile": "#e377c2",
}


class Axis:
    """Powers of ten from below the smallest value to above the largest, onto pixels."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self.start, self.end = start, end

    def place(self, value):
        return self.start + (math.log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0**power for power in range(self.low, self.high + 1)]


def curves(rows):
    """{family: {contender: [(size, seconds)]}} of what was measured in float32 at several sizes."""
    families = {}
    for name, measured in rows.items():
        row = ROWS.get(name)
        if row is None or not row.size or row.dtype != "float32":
            continue
        for contender, found in measured["contenders"].items():
            if "min" in found and contender in COLOURS:
                points = families.setdefault(row.family, {}).setdefault(contender, [])
                points.append((row.size, found["min"]))
        families.setdefault(row.family, {}).setdefault("limit", []).append((row.size, measured["limit"]))
    return {
        family: {name: sorted(points) for name, points in lines.items()}
        for family, lines in families.items()
        if len(lines["limit"]) >= FEWEST_SIZES
    }


def line_of(points, x, y, colour, style=""):
    path = " ".join(f"{x.place(size):.1f},{y.place(seconds):.1f}" for size, seconds in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" {style}/>'


def text(x, y, words, anchor="start", colour="#333"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def time_label(seconds):
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 999:
            return f"{seconds * scale:.0f} {unit}"
    return f"{seconds:.0f} s"


def drawing(title, lines):
    """One SVG; `lines` is {name: [(size, seconds)]}, with "limit" for what the machine allows."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    x = Axis([size for points in lines.values() for size, _ in points], LEFT, right)
    y = Axis([seconds for points in lines.values() for _, seconds in points], bottom, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, TOP - 12, title),
        text((LEFT + right) / 2, HEIGHT - 8, "elements", "middle"),
    ]
    for size in x.ticks():
        place = x.place(size)
        parts.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(text(place, bottom + 16, f"10^{round(math.log10(size))}", "middle"))
    for seconds in y.ticks():
        place = y.place(seconds)
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{place:.1f}" y2="{place:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, place + 4, time_label(seconds), "end"))
    parts.append(line_of(lines["limit"], x, y, "#999", 'stroke-dasharray="4 3"'))
    named = [("limit", "#999")]
    for name in COLOURS:
        if name in lines:
            parts.append(line_of(lines[name], x, y, COLOURS[name], f'stroke-width="{2.5 if name == OURS else 1.3}"'))
            named.append((name, COLOURS[name]))
    named.sort(key=lambda pair: -lines[pair[0]][-1][1])
    for place, (name, colour) in enumerate(named):
        parts.append(text(right + 10, TOP + 14 + 18 * place, name, colour=colour))
    return "\n".join([*parts, "</svg>", ""])


def main():
    path, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    with open(path) as file:
        results = json.load(file)["results"]
    for threads, measured in results.items():
        if not threads.isdigit():
            continue
        for family, lines in curves(measured["rows"]).items():
            plural = "s"[: threads != "1"]
            name = f"{re.sub(r'[^a-z0-9]+', '_', family.lower()).strip('_')}_{threads}.svg"
            with open(os.path.join(directory, name), "w") as file:
                file.write(drawing(f"{family}, float32, {threads} thread{plural}, minimum of a call", lines))
            print(os.path.join(directory, name))


if __name__ == "__main__":
    main()
