"""Writes the pages of docs/ that are made from tables and tests: tools/generate_docs.py [--check] [PAGE ...]

Needs the built package. --check writes nothing and fails if a page is not what its table says. Without names it does
the pages made from tables; constructs.md, which runs the whole corpus, and accuracy.md, which measures, have to be
named.
"""

import inspect
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
        "Why a captured region ends before its function does. The table is `csrc/symbolic/breaks/graph_breaks.def`.",
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
    inert = [(f"`{name}`", f"`{default}`", doc) for name, default, doc in _C.inert_flag_rows()]
    aliases = [(f"`{alias}`", f"`{name}`") for alias, name in _C.config_aliases().items()]
    return (
        CONFIG
        + table(("flag", "type", "default", "environment", "meaning"), rows)
        + INERT
        + table(("flag", "default", "no effect, because"), inert)
        + "\n## Other names\n\n"
        + table(("name", "of"), aliases)
    )


CONFIG = """# Configuration

The flags of `minidynamo._dynamo.config`, for the whole process; the table is `csrc/base/config_flags.def`. A value of
another type is a `TypeError`, an unknown name an `AttributeError`.

`config.patch(flag=value, ...)`, `config.patch("flag", value)` and `config.patch({"flag": value})` set flags for a
block, for each call of the function that they decorate, or for a `unittest.TestCase`; so does
`unittest.mock.patch.object(config, "flag", value)`. `config.get_config_copy()` gives all flags as a dict,
`config.save_config()` as bytes, and `config.load_config()` takes either.

"""

INERT = """
## Flags of TorchDynamo without effect

They are there with their defaults in TorchDynamo 2.13, so that programs that set them run, and take any value. The
table is `csrc/base/inert_flags.def`.

"""


LOGS = """# Logs

Nothing but warnings is printed by default. `MINIDYNAMO_LOGS` is a comma list of names:

| setting | meaning |
| --- | --- |
| `graph_breaks` | an artifact of the table below is on; `-graph_breaks` is off |
| `dynamo`, `all` | level INFO: the steps of each capture, a summary at exit |
| `+dynamo`, `+all` | level DEBUG: also every artifact that is marked *yes* below |
| `-dynamo`, `-all` | level ERROR: not even warnings |
| `my.module`, `+my.module`, `-my.module` | the level of another logger of the program |
| `help`, `+help` | ends the program with the list, or the whole list |

Anything else is a ValueError at import. `minidynamo._logging.set_logs(graph_breaks=True, dynamo=logging.INFO)` does the
same in a program, unless `MINIDYNAMO_LOGS` is set. Records go to the loggers `minidynamo.NAME` of the standard library,
warnings and steps to `minidynamo`; as long as a program has not imported `logging`, its warnings are printed to stderr
without it. `MINIDYNAMO_LOGS_OUT=FILE` writes them to a file, `MINIDYNAMO_LOGS_FORMAT` is a
format of `logging`. The table is `csrc/base/log_artifacts.def`.

"""

TRACES = """
## Structured traces

`MINIDYNAMO_TRACE=directory` writes what happens while programs are captured, as one JSON object a line, to
`directory/minidynamo_PID.jsonl`, one file for each process; a child of `fork` has its own. The directory is made, the
file only when something is captured; what cannot be written is told in one warning, and changes nothing else. Each
object has

- `time`, seconds since 1970
- `kind`, one of the table
- `frame`, the number of the code object in order of first capture, and `compile_id`, `frame/capture`; not in
  `process_start`. The number of a capture that failed is used again.
- `payload`, an object with the fields of the table

"""


def logs():
    rows = [(f"`{r['name']}`", "no" if r["off_in_all"] else "yes", r["doc"]) for r in _C.log_rows()]
    events = [(f"`{r['name']}`", r["doc"], r["fields"]) for r in _C.event_rows()]
    return (
        LOGS
        + table(("artifact", "in `+all`", "shows"), rows)
        + TRACES
        + table(("kind", "when", "payload"), events)
        + "\nThe table is `csrc/base/events.def`.\n"
    )


OP_KINDS = {
    "PointwiseUnary": "Pointwise, one operand",
    "PointwiseBinary": "Pointwise, two operands",
    "PointwiseTernary": "Pointwise, three operands",
    "Compare": "Comparisons",
    "Reduction": "Reductions and running totals",
    "Matmul": "Matrix products",
    "Decomposition": "Decompositions of matrices",
    "Softmax": "Along one dim",
    "View": "Views",
    "Cast": "Casts",
    "Gather": "Copies, joins and selections",
    "Write": "Writes",
    "Creation": "Creation",
    "Random": "Random numbers",
}


def forms(row):
    """How the op is called from Python."""
    name = row["name"].partition(".")[0]
    found = [f"`{name}()`"] if row["function"] else []
    found += [f"`Tensor.{name}()`"] if row["method"] else []
    found += [f"`nn.functional.{name}()`"] if row["functional"] else []
    found += [f"`Tensor.{name}_()`"] if row["in_place"] else []
    found += ["`out=`"] if row["out"] else []
    found += ["an operator"] if row["operator"] else []
    return ", ".join(found) or "in graphs only"


MEMORY_FORMATS = [
    ("`contiguous_format`", "row-major: the last dim varies fastest"),
    ("`preserve_format`", "those of a tensor that fills its memory; else without gaps, the dims in the same order"),
    ("`channels_last`", "of (N, C, H, W): the channels of one place side by side, as if (N, H, W, C) were row-major"),
    ("`channels_last_3d`", "of (N, C, D, H, W): as if (N, D, H, W, C) were row-major"),
]


def ops():
    rows = _C._op_rows()
    parts = [
        "# Ops\n",
        "Every op on tensors; the table is `csrc/tensor/ops/ops.def`. Names, arguments and results are torch's.",
        "`Number` is a tensor or a Python number, `int[*]` takes `f(2, 3)` and `f((2, 3))`, `?` allows `None`,",
        "and what follows `*` is given by name. Overloads of one name have a suffix after a dot: the first that",
        "takes the arguments is called.\n",
        "An op raises `TypeError` for an argument of the wrong type, `IndexError` for a dim or an index out of range,",
        "`NotImplementedError` for a dtype that it has no code for, and `RuntimeError` for shapes and dtypes that",
        "do not fit together; the message names the op and the shapes.\n",
        "## Memory formats\n",
        "`memory_format` is one of four objects of the class `minidynamo.memory_format`, which a name as text does not",
        "stand for. It says in which order the dims of a new tensor lie in memory, nothing else: sizes and elements",
        "are the same. What is wrong in an order (`channels_last` of a tensor that has not 4 dims) is a",
        "`RuntimeError`.\n",
        table(("format", "strides of the result"), MEMORY_FORMATS),
        "`preserve_format`, which `None` means, is the default of everything but `contiguous` and `empty`. `to`, the",
        "conversions such as `float` and `double`, `is_contiguous` and `nn.Module.to` (for the parameters and buffers",
        "with 4 or 5 dims) take formats as well. `contiguous` and `to` give the tensor itself where it lies so already",
        "and nothing else is asked for. No operation is computed in another way for it.\n",
    ]
    for kind, title in OP_KINDS.items():
        parts.append(f"## {title}\n")
        parts.append(
            table(
                ("op", "what it gives", "called as"),
                [(f"`{r['schema']}`", r["doc"], forms(r)) for r in rows if r["kind"] == kind],
            )
        )
    parts.extend(composites())
    missing = {r["kind"] for r in rows} - set(OP_KINDS) - {"HostCall"}
    if missing:
        sys.exit(f"no heading for ops of the kinds {sorted(missing)}")
    return "\n".join(parts)


COMPOSITES = """## Made of others

Python functions over the ops above, in `python/minidynamo/_composites` and `python/minidynamo/nn/functional`. In
captured code their ops are in the graph.
"""


LINALG = """### linalg

Decompositions and solutions are computed by the LAPACK of NumPy, through `numpy.linalg` on the tensors' own memory:
it is kept well, installed nearly everywhere, and minidynamo links no LAPACK of its own. Without NumPy they raise
`ImportError`; the rest of `minidynamo` does without. In captured code each is one op of the graph. Matrices are
float32 or float64; float32 ones of inverses, solutions and determinants are computed in float64 and rounded. A matrix
without inverse or decomposition raises `linalg.LinAlgError`, a `RuntimeError`. NumPy's LAPACK has threads of its own,
which `set_num_threads` does not change.

Not there, because there are no complex numbers: `eig` and `eigvals`; nor LU factors, which NumPy does not give.
"""


def signature_of(name, function):
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = getattr(parameter.default, "__name__", repr(parameter.default))
        parts.append(f"{stars}{parameter.name}" + ("" if parameter.default is parameter.empty else f"={default}"))
    return f"{name}({', '.join(part for part in parts if part != 'self')})"


def first_paragraph(function):
    return " ".join(function.__doc__.strip().partition("\n\n")[0].split())


def composites():
    from minidynamo import _composites, linalg
    from minidynamo.nn import functional

    rows = []
    for name in sorted({*_composites.functions, *_composites.methods}):
        function = _composites.functions.get(name) or _composites.methods[name]
        faces = [f"`{name}()`"] if name in _composites.functions else []
        faces += [f"`Tensor.{name}()`"] if name in _composites.methods else []
        rows.append((f"`{signature_of(name, function)}`", first_paragraph(function), ", ".join(faces)))
    yield COMPOSITES
    yield table(("op", "what it gives", "called as"), rows)
    yield "### nn.functional\n"
    rows = [(f"`{signature_of(name, f)}`", first_paragraph(f)) for name, f in sorted(functional.COMPOSITES.items())]
    yield table(("function", "what it gives"), rows)
    yield LINALG
    functions = {name: getattr(linalg, name) for name in linalg.__all__ if name != "LinAlgError"}
    rows = [(f"`{signature_of(name, f)}`", first_paragraph(f)) for name, f in sorted(functions.items())]
    yield table(("function", "what it gives"), rows)


RESULTS = Path(__file__).parent.parent / "tests" / "cpython" / "results"

EVERYWHERE = """# Everywhere mode

`minidynamo._dynamo.eval_frame.enable_everywhere()` puts every Python frame that starts from then on, in every
thread of the process, under the frame evaluator. It is there to test the evaluator with ordinary programs.

    from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters

    with enable_everywhere():
        program()
    print(execution_counters())

Otherwise a frame in which nothing worth running was captured is left to the interpreter. Here its regions are kept
and run though their graphs are empty: the translator walks, the snapshot is restored, the driver executes the
instruction at which the region ends, and so on to the end. Past the recompile limit the driver executes the rest of
the frame. Generators and coroutines come under the evaluator each time that they are resumed.
`MINIDYNAMO_SNAPSHOT_STRESS=n` ends every region after n instructions. Programs get slower, not different.

A plain call lasts until `disable_everywhere()`, and calls nest. While the mode is off it costs nothing.

## Who executed what

`execution_counters()` tells how many instructions were executed by the *translator* (those that a region covers,
counted for each run, calls inlined into it included), by the *driver*, and by the *interpreter* for them: the
return, yield or reraise by which a frame is left, which is always the interpreter's. What the interpreter does in
frames that were handed over is not in this number, since nobody can count it; the frames are, by reason.
`MINIDYNAMO_LOGS=handover` logs each.
"""

EVERYWHERE_RESULTS = """## CPython's own tests

`python -m tests.cpython` runs CPython's regression tests but those that need the network or a display, each module in
processes of its own: without a hook, with an idle hook (one that only calls the interpreter), in everywhere mode, and
so with a region for every 3 instructions. The module is the first that such a process imports after minidynamo, under
the hook. Compared is test by test: what passes under the idle hook has to pass under everywhere mode. An idle
hook loses tests by itself, because every Python call then takes C stack and because inlined calls are off; no
evaluator by PEP 523 can avoid that.
"""


def everywhere():
    parts = [EVERYWHERE]
    parts.append(table(("reason", "why the interpreter runs the frame, or its rest"), _C.hand_over_rows().items()))
    parts.append(EVERYWHERE_RESULTS)
    sys.path.insert(0, str(DOCS.parent))
    from tests.cpython.running import read_results

    summaries = [read_results(path) for path in sorted(RESULTS.glob("*.json"))]
    for summary in summaries:
        parts.extend(cpython_results(summary))
    return "\n".join(parts)


def cpython_results(summary):
    from tests.cpython.running import WAYS, losses, outside, text_of, totals

    modules = {name: summary["modules"][name] for name in sorted(summary["modules"])}
    parts = [f"### Python {summary['python']}\n"]
    rows = []
    for way in ("everywhere", "stressed"):
        counters = totals(modules, way)
        if not counters:
            continue
        handed_over = sum(counters["hand_overs"].values())
        cells = (
            sum("counters" in ways.get(way, {}) for ways in modules.values()),
            *(counters["instructions"][who] for who in ("translator", "driver", "interpreter")),
            counters["frames_driven"],
            handed_over,
            counters["snapshots_restored"],
        )
        rows.append((way, *(f"{cell:,}" for cell in cells), f"{100 * outside(counters):.1f} %"))
    header = (
        "way",
        "modules",
        "translator",
        "driver",
        "interpreter",
        "frames driven",
        "handed over",
        "snapshots",
        "outside",
    )
    parts.append(table(header, rows))
    parts.append("Tests that pass, of those that ran; a dash: this way the module was not run:\n")
    rows = [(f"`{name}`", *(text_of(ways.get(way)) for way in WAYS)) for name, ways in modules.items()]
    parts.append(table(("module", *WAYS), rows))
    for way, reference in {"everywhere": "idle", "stressed": "idle", "idle": "plain"}.items():
        tests = losses(modules, reference, way)
        count = sum(reference in ways and way in ways for ways in modules.values())
        against = "no hook" if way == "idle" else "the idle hook"
        parts.append(f"Lost by *{way}* against {against}, in {count} modules: {len(tests) or 'none'}.\n")
        if tests:
            rows = [(f"`{test.removeprefix('test.')}`", reason or "not looked into") for test, reason in tests.items()]
            parts.append(table(("test", "cause"), rows))
    return parts


def constructs():
    sys.path.insert(0, str(DOCS.parent / "tests" / "capture"))
    import constructs_page

    return constructs_page.page()


def accuracy():
    sys.path.insert(0, str(DOCS.parent / "tests" / "ops"))
    import accuracy

    return accuracy.page()


def layers():
    from minidynamo import nn

    classes = {name: getattr(nn, name) for name in nn.__all__ if inspect.isclass(getattr(nn, name))}
    rows = [
        (f"`{signature_of(name, layer.__init__)}`", first_paragraph(layer))
        for name, layer in classes.items()
        if name not in ("Module", "Parameter", "Buffer")
    ]
    fills = sorted(name for name in vars(nn.init) if name.endswith("_") and not name.startswith("_"))
    return (
        "# Layers\n\nThe layers of `minidynamo.nn`. Arguments, names of parameters, their initial distributions"
        " and the text of\n"
        "`repr` are torch's, so that the `state_dict` of a torch model loads by name.\n\n"
        + table(("layer", "what it does"), rows)
        + f"\n`nn.init` has {', '.join(f'`{name}`' for name in fills)}.\n"
    )


PAGES = {
    "everywhere.md": everywhere,
    "graph_breaks.md": graph_breaks,
    "config.md": config,
    "logs.md": logs,
    "ops.md": ops,
    "layers.md": layers,
}
# constructs.md under CPython 3.11: what is captured of the standard library differs. accuracy.md beside torch.
FROM_TESTS = {"constructs.md": constructs, "accuracy.md": accuracy}


def main():
    check = sys.argv[1:2] == ["--check"]
    pages = {name: {**PAGES, **FROM_TESTS}[name] for name in sys.argv[2 if check else 1 :] or PAGES}
    stale = []
    for name, page in pages.items():
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
