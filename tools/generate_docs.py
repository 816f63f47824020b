"""Writes the pages of docs/ that come from tables: tools/generate_docs.py [--check]

Needs the built package. --check writes nothing and fails if a page is not what its table says.
"""

import sys
from pathlib import Path

from minidynamo import _C

DOCS = Path(__file__).parent.parent / "docs"


def table(header, rows):
    lines = [f"| {' | '.join(header)} |", f"| {' | '.join('---' for _ in header)} |"]
    for row in rows:
        cells = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def graph_breaks():
    parts = [
        "# Graph breaks\n",
        "Why a captured region ends before its function does. The table is `csrc/symbolic/graph_breaks.def`.",
        "A reason that is marked *silent* is no graph break to the program: it is neither logged nor counted, and no",
        "error under `error_on_graph_break(True)`.\n",
    ]
    for row in _C.graph_break_rows():
        parts.append(f"## {row['id']}\n")
        parts.append(f"**{row['title']}**{' (silent)' if row['silent'] else ''}\n")
        parts.append(row["explanation"] + "\n")
        parts.extend(f"- {hint}" for hint in row["hints"])
        if row["hints"]:
            parts.append("")
        anchor = f"; TorchDynamo: {row['anchor']}" if row["anchor"] else ""
        parts.append(f"Name: `{row['name']}`{anchor}\n")
    return "\n".join(parts)


def config():
    rows = [
        (f"`{r['name']}`", r["type"], f"`{r['default']!r}`", f"`{r['env']}`" if r["env"] else "", r["doc"])
        for r in _C.config_rows()
    ]
    return (
        "# Configuration\n\nThe flags of `minidynamo._dynamo.config`; the table is `csrc/base/config_flags.def`.\n\n"
        + table(("flag", "type", "default", "environment", "meaning"), rows)
    )


def logs():
    rows = [(f"`{r['name']}`", "no" if r["off_in_all"] else "yes", r["doc"]) for r in _C.log_rows()]
    return (
        "# Logs\n\nThe names for `MINIDYNAMO_LOGS` and `minidynamo._logging.set_logs`; the table is "
        "`csrc/base/log_artifacts.def`.\n\n" + table(("artifact", "in `+all`", "shows"), rows)
    )


PAGES = {"graph_breaks.md": graph_breaks, "config.md": config, "logs.md": logs}


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text)
    if check and stale:
        sys.exit(f"not what the tables say: {', '.join(stale)}; run tools/generate_docs.py")


if __name__ == "__main__":
    main()
