"""Generates docs/constructs.md: which snippets of the corpus are captured whole, and why the others are not."""

import inspect
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

import corpus  # noqa: E402, F401  registers the snippets
from differential import check, snippets  # noqa: E402

from minidynamo import _C  # noqa: E402

HEAD = """# Constructs

The snippets of `tests/corpus`, topic by topic: first the constructs that are captured without a graph break, then those
that break, and why. A snippet that breaks still behaves as in eager Python; every snippet is tested for that.
The names are those of the functions in the corpus. The results are those of CPython 3.11.
"""


def page():
    """Returns the text of docs/constructs.md; runs the whole corpus."""
    # asyncio looks for it; a process started in the background has another one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    titles = {row["id"]: row["title"] for row in _C.graph_break_rows()}
    topics = {}
    for snippet in snippets():
        records = _C.record_breaks(lambda snippet=snippet: check(snippet))
        reasons = list(dict.fromkeys(titles[record["id"]] for record in records))
        topics.setdefault(snippet.function.__module__, {})[snippet.function.__name__] = reasons
    parts, whole, total = [], 0, 0
    for module, constructs in topics.items():
        captured = [name for name, reasons in constructs.items() if not reasons]
        whole += len(captured)
        total += len(constructs)
        parts.append(_topic(module, captured, {name: reasons for name, reasons in constructs.items() if reasons}))
    return f"{HEAD}\n{whole} of {total} snippets are captured whole.\n\n" + "\n".join(parts)


def _topic(module, captured, broken):
    name = module.rpartition(".")[2]
    lines = [f"## {name.replace('_', ' ').capitalize()}\n", f"{inspect.getdoc(sys.modules[module]).splitlines()[0]}\n"]
    if captured:
        lines.append(f"Captured: {', '.join(f'`{construct}`' for construct in captured)}.\n")
    if broken:
        lines += ["| breaks | because of |", "| --- | --- |"]
        lines += [
            f"| `{construct}` | {'; '.join(reasons)} |".replace("\n", " ") for construct, reasons in broken.items()
        ]
        lines.append("")
    return "\n".join(lines)
