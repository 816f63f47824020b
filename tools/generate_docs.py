"""Writes the pages of docs/ that are generated from tables and tests: tools/generate_docs.py [--check] [PAGE ...]

Needs the built package. --check writes nothing and fails if a page differs from what would be generated. Without names
it covers the pages generated from tables; constructs.md, which runs the whole corpus, and accuracy.md, which measures,
have to be named.
"""

import inspect
import sys
import textwrap
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
        "A reason marked *silent* is not a graph break to the program: it is neither logged nor counted, and it is",
        "not an error under `error_on_graph_break(True)`.\n",
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

The flags of `minidynamo._dynamo.config`, which hold for the whole process; the table is `csrc/base/config_flags.def`. A
value of another type raises `TypeError`, an unknown name `AttributeError`.

`config.patch(flag=value, ...)`, `config.patch("flag", value)` and `config.patch({"flag": value})` set flags for a
block, for each call of the function that they decorate, or for a `unittest.TestCase`; so does
`unittest.mock.patch.object(config, "flag", value)`. `config.get_config_copy()` returns all flags as a dict,
`config.save_config()` returns them as bytes, and `config.load_config()` accepts either.

"""

INERT = """
## Flags of TorchDynamo without effect

They exist, with their defaults in TorchDynamo 2.13, so that programs that set them run, and they accept any value. The
table is `csrc/base/inert_flags.def`.

"""


LOGS = """# Logs

By default only warnings are printed. One of them says, once for each compiled function, that its first call that
returned captured nothing, and why: an array that is not captured, a call that is not known, a loop whose iterations are
not worth a region. Nothing is said where there was nothing to capture, where the program switched capture off, or where
a callee was captured. `MINIDYNAMO_LOGS` is a comma-separated list of names:

| setting | meaning |
| --- | --- |
| `graph_breaks` | turns on an artifact of the table below; `-graph_breaks` turns it off |
| `dynamo`, `all` | level INFO: the steps of each capture, a summary at exit |
| `+dynamo`, `+all` | level DEBUG: also every artifact that is marked *yes* below |
| `-dynamo`, `-all` | level ERROR: not even warnings |
| `my.module`, `+my.module`, `-my.module` | the level of another logger of the program |
| `help`, `+help` | prints the list, or the whole list, and exits |

Anything else raises ValueError at import. `minidynamo._logging.set_logs(graph_breaks=True, dynamo=logging.INFO)` does
the same in a program, unless `MINIDYNAMO_LOGS` is set. Records go to the loggers `minidynamo.NAME` of the standard
library, warnings and steps to `minidynamo`; as long as a program has not imported `logging`, warnings are printed to
stderr without it. `MINIDYNAMO_LOGS_OUT=FILE` writes the records to a file, `MINIDYNAMO_LOGS_FORMAT` is a format string
of `logging`. The table is `csrc/base/log_artifacts.def`.

"""

TRACES = """
## Structured traces

`MINIDYNAMO_TRACE=directory` writes the events of each capture, one JSON object per line, to
`directory/minidynamo_PID.jsonl`, one file for each process; a child of `fork` has its own. The directory is created at
once, the file only when something is captured. If writing fails, one warning reports it; nothing else changes. Each
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
    "Decomposition": "Decompositions of matrices, Fourier transforms",
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
    ("`preserve_format`", "those of the tensor if it is dense; else dense, with the dims in the same order"),
    ("`channels_last`", "of (N, C, H, W): the channels of one pixel are adjacent, as if (N, H, W, C) were row-major"),
    ("`channels_last_3d`", "of (N, C, D, H, W): as if (N, D, H, W, C) were row-major"),
]


def ops():
    rows = _C._op_rows()
    parts = [
        "# Ops\n",
        "Every op on tensors; the table is `csrc/tensor/ops/ops.def`. Names, arguments and results are torch's.",
        "`Number` is a tensor or a Python number, `int[*]` accepts `f(2, 3)` and `f((2, 3))`, `?` allows `None`,",
        "and arguments after `*` are keyword-only. Overloads of one name have a suffix after a dot: the first that",
        "accepts the arguments is called.\n",
        "An op raises `TypeError` for an argument of the wrong type, `IndexError` for a dim or an index out of range,",
        "`NotImplementedError` for a dtype that it does not support, and `RuntimeError` for shapes and dtypes that",
        "do not fit together; the message names the op and the shapes.\n",
        "## Memory formats\n",
        "`memory_format` is one of four objects of the class `minidynamo.memory_format`; a string is not accepted. It",
        "determines the order of the dims of a new tensor in memory and nothing else: sizes and elements are the same.",
        "A format that does not apply (`channels_last` for a tensor without 4 dims) raises `RuntimeError`.\n",
        table(("format", "strides of the result"), MEMORY_FORMATS),
        "`preserve_format`, also written `None`, is the default of everything but `contiguous` and `empty`. `to`, the",
        "conversions such as `float` and `double`, `is_contiguous` and `nn.Module.to` (for the parameters and buffers",
        "with 4 or 5 dims) accept formats as well. `contiguous` and `to` return the tensor itself if it has the format",
        "already and no other conversion is requested. The format does not change how an operation is computed.\n",
    ]
    for kind, title in OP_KINDS.items():
        parts.append(f"## {title}\n")
        parts.append(
            table(
                ("op", "result", "called as"),
                [(f"`{r['schema']}`", r["doc"], forms(r)) for r in rows if r["kind"] == kind],
            )
        )
    parts.extend(composites())
    missing = {r["kind"] for r in rows} - set(OP_KINDS) - {"HostCall"}
    if missing:
        sys.exit(f"no heading for ops of the kinds {sorted(missing)}")
    return "\n".join(parts)


COMPOSITES = """## Composite ops

Python functions built from the ops above, in `python/minidynamo/_composites` and `python/minidynamo/nn/functional`. In
captured code the graph contains their ops.
"""


LINALG = """### linalg

LU, Cholesky and QR decompositions, what is solved by them, inverses and determinants are computed by blocked loops of
our own in the dtype of the matrices, as in torch; so are least squares where all ranks are full beyond doubt. Singular
values, eigenvalues and other least squares are computed by the LAPACK of NumPy, through `numpy.linalg` on the tensors'
own memory: without NumPy they raise `ImportError`; the rest of `minidynamo` does not need it. NumPy's LAPACK has
threads of its own, which `set_num_threads` does not affect. In captured code each is one op of the graph. Matrices are
float32 or float64; inverses, solutions, LU and Cholesky decompositions take complex ones too. A matrix without inverse
or decomposition raises `linalg.LinAlgError`, a `RuntimeError`.

`eig` and `eigvals` return complex numbers and have no derivative.
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
        variants = [f"`{name}()`"] if name in _composites.functions else []
        variants += [f"`Tensor.{name}()`"] if name in _composites.methods else []
        rows.append((f"`{signature_of(name, function)}`", first_paragraph(function), ", ".join(variants)))
    yield COMPOSITES
    yield table(("op", "result", "called as"), rows)
    yield "### nn.functional\n"
    rows = [(f"`{signature_of(name, f)}`", first_paragraph(f)) for name, f in sorted(functional.COMPOSITES.items())]
    yield table(("function", "result"), rows)
    yield LINALG
    functions = {name: getattr(linalg, name) for name in linalg.__all__ if name != "LinAlgError"}
    rows = [(f"`{signature_of(name, f)}`", first_paragraph(f)) for name, f in sorted(functions.items())]
    yield table(("function", "result"), rows)


RESULTS = Path(__file__).parent.parent / "tests" / "cpython" / "results"

EVERYWHERE = """# Everywhere mode

`minidynamo._dynamo.eval_frame.enable_everywhere()` puts every Python frame that starts from then on, in every
thread of the process, under the frame evaluator. It serves to test the evaluator with ordinary programs.

    from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters

    with enable_everywhere():
        program()
    print(execution_counters())

Normally a frame in which nothing worth running was captured is left to the interpreter. In everywhere mode its regions
are kept and run although their graphs are empty: the region is traced, its snapshot is restored, the driver executes
the instruction at which the region ends, and so on to the end of the frame. Past the recompile limit the driver
executes the rest of the frame. Generators and coroutines come under the evaluator each time that they are resumed.
`MINIDYNAMO_SNAPSHOT_STRESS=n` ends every region after n instructions. Programs get slower, but behave the same.

Called outside a `with` statement, the mode lasts until `disable_everywhere()`; calls nest. While the mode is off it
costs nothing.

## Execution counters

`execution_counters()` returns how many instructions were executed by the *translator* (those that a region covers,
counted for each run, inlined calls included), by the *driver*, and by the *interpreter* on their behalf: the
return, yield or reraise that leaves a frame is always executed by the interpreter. The instructions that the
interpreter executes after a frame has bailed out cannot be counted and are not included; those frames are counted, by
reason. `MINIDYNAMO_LOGS=handover` logs each bail-out.
"""

EVERYWHERE_RESULTS = """## CPython's own tests

`python -m tests.cpython` runs CPython's regression tests except those that need the network or a display, each module
in separate processes: without a hook, with an idle hook (one that only calls the interpreter), in everywhere mode, and
in everywhere mode with regions of at most 3 instructions. The module is the first one that the process imports after
minidynamo, under the hook. Results are compared test by test: a test that passes under the idle hook must pass in
everywhere mode. An idle hook alone makes some tests fail, because every Python call then uses C stack and because
inlined calls are off; no PEP 523 evaluator can avoid that.
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
        bailouts = sum(counters["hand_overs"].values())
        cells = (
            sum("counters" in ways.get(way, {}) for ways in modules.values()),
            *(counters["instructions"][who] for who in ("translator", "driver", "interpreter")),
            counters["frames_driven"],
            bailouts,
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
        "bail-outs",
        "snapshots",
        "outside the interpreter",
    )
    parts.append(table(header, rows))
    parts.append("Tests that passed, of those that ran; a dash means that the module was not run in this way:\n")
    rows = [(f"`{name}`", *(text_of(ways.get(way)) for way in WAYS)) for name, ways in modules.items()]
    parts.append(table(("module", *WAYS), rows))
    for way, reference in {"everywhere": "idle", "stressed": "idle", "idle": "plain"}.items():
        tests = losses(modules, reference, way)
        count = sum(reference in ways and way in ways for ways in modules.values())
        against = "no hook" if way == "idle" else "the idle hook"
        parts.append(f"Lost by *{way}* against {against}, in {count} modules: {len(tests) or 'none'}.\n")
        if tests:
            rows = [(f"`{test.removeprefix('test.')}`", reason or "not investigated") for test, reason in tests.items()]
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


def torch_names():
    """Each public name of torch, by its module: those that minidynamo has there, and those that it has not."""
    import importlib

    import torch_names

    import minidynamo
    from minidynamo.compat.in_place import module_of

    here, absent, count = [], [], 0
    listed = torch_names.read()
    total = sum(map(len, listed.values()))
    for module, names in listed.items():
        ours = "minidynamo" if module == "torch.Tensor" else module_of(module)
        if ours is None:
            absent.append(f"**{module}**: {' '.join(f'`{name}`' for name in names)}\n")
            continue
        owner = minidynamo.Tensor if module == "torch.Tensor" else importlib.import_module(ours)
        found = [name for name in names if hasattr(owner, name)]
        missing = [name for name in names if name not in found]
        count += len(found)
        here.append(f"## {module}\n\n{len(found)} of {len(names)} names.\n")
        here.extend(
            f"{title}: {' '.join(f'`{name}`' for name in chosen)}\n"
            for title, chosen in (("Here", found), ("Not in minidynamo", missing))
            if chosen
        )
    return "\n".join(
        [
            f"# Names of torch\n\nOf the {total:,} public names of torch 2.13, in {len(listed)} modules,"
            f" minidynamo has {count:,} at the same place.\n`python -m minidynamo run --names script.py` lists those"
            " that a program uses and that are missing; a missing name\nraises `AttributeError` when it is used.\n",
            *here,
            "## Modules that are not in minidynamo\n",
            *absent,
        ]
    )


# By the first row of tensor_callables.def that a callable has.
NUMPY_KINDS = {
    "Op": "Ops: rows of the op table",
    "StandIn": "Functions written over our ops; calls that are not covered are graph breaks",
    "StandIn, HostCall": "Functions written over our ops; calls that are not covered are NumPy's, in the region",
    "HostCall": "Called as they are, in the region",
    "": "Graph breaks",
}
NUMPY_MODULES = ("", "linalg", "fft", "random")


def numpy_functions():
    """Names of NumPy's functions and ufuncs, by kind."""
    import numpy
    import numpy.fft
    import numpy.random

    _C._load_families()
    found = {kind: [] for kind in NUMPY_KINDS}
    for module in NUMPY_MODULES:
        names = vars(getattr(numpy, module) if module else numpy)
        for name, value in sorted(names.items()):
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                continue
            if value.__class__.__name__ == "method":
                value = value.__func__
            kinds = [kind if kind != "Rewritten" else "StandIn" for kind in _C._numpy.kinds(value)]
            if kinds and kinds[0] not in ("Op", "StandIn"):
                kinds = ["HostCall" if "HostCall" in kinds else "StandIn"]
            if not kinds and isinstance(value, numpy.ufunc):
                kinds = ["HostCall"]
            kind = ", ".join(kinds[:1] if kinds[:1] == ["Op"] else kinds)
            found[kind].append(f"{module}.{name}" if module else name)
    return found


def numpy_names():
    import numpy

    parts = [
        "# NumPy's functions\n",
        f"Those of NumPy {numpy.__version__}, to capture; [numpy.md](numpy.md) says which arguments are covered.",
        "Methods of arrays and ufuncs, and those of generators, are not listed.\n",
    ]
    for kind, names in numpy_functions().items():
        parts.append(f"## {NUMPY_KINDS[kind]}\n")
        lines = textwrap.wrap(", ".join(f"`{name}`" for name in names), 130, break_on_hyphens=False)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


PAGES = {
    "everywhere.md": everywhere,
    "graph_breaks.md": graph_breaks,
    "config.md": config,
    "logs.md": logs,
    "ops.md": ops,
    "layers.md": layers,
    "torch_names.md": torch_names,
}
# constructs.md under CPython 3.11: what is captured of the standard library differs. accuracy.md beside torch,
# numpy_names.md beside the NumPy that it names.
FROM_TESTS = {"constructs.md": constructs, "accuracy.md": accuracy, "numpy_names.md": numpy_names}


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
