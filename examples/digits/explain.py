"""Writes a page about the variant that prints: its source, graphs, guards and plans, with measured times.

Run it with `python examples/digits/explain.py digits.html`, and open the page in a browser.
"""

import sys

from demo import load_layers
from files import read_digits
from model import classify_aloud

import minidynamo


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "digits.html"
    rows, _ = read_digits()
    report = minidynamo.explain(classify_aloud)(minidynamo.tensor(rows), load_layers())
    report.html(path)
    print(f"{report.graph_count} graphs, {report.graph_break_count} graph break; the page is {path}")


if __name__ == "__main__":
    main()
