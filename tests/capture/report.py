"""Prints which constructs of the corpus are captured without a break: python tests/capture/report.py

One line per snippet that breaks, then the totals by topic.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

import corpus  # noqa: E402, F401  registers the snippets
from differential import check, snippets  # noqa: E402


def main():
    totals, whole = Counter(), Counter()
    for snippet in snippets():
        topic = snippet.name.partition(".")[0]
        totals[topic] += 1
        try:
            report = check(snippet)
        except AssertionError as error:
            print(f"WRONG {snippet.name}: {error}")
            continue
        if report.graph_breaks:
            print(f"{report.graph_breaks:3} {snippet.name}")
        else:
            whole[topic] += 1
    print("\n| topic | snippets | without a break |\n| --- | ---: | ---: |")
    for topic, count in totals.items():
        print(f"| {topic} | {count} | {whole[topic]} |")
    print(f"| all | {totals.total()} | {whole.total()} |")


if __name__ == "__main__":
    main()
