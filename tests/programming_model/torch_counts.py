"""Counts graphs and graph breaks of every program, here and in torch, and stores them in counts.json.

    python tests/programming_model/torch_counts.py              counts in minidynamo
    python tests/programming_model/torch_counts.py --torch      counts in torch, where that is installed

The names of programs may follow, to count only those. For the first call with backend "eager", it counts the graphs that contain
an operation, and the records of breaks. A program whose call raises another exception than in eager Python has `null`.
"""

import contextlib
import io
import json
import logging
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE / "counts.json"


def as_torch():
    """Lets the programs import torch under our name."""
    import torch
    import torch._dynamo

    sys.modules |= {"minidynamo": torch, "minidynamo._dynamo": torch._dynamo, "minidynamo.compiler": torch.compiler}
    return torch


def graph_has_ops(gm):
    return any(node.op.startswith("call") for node in gm.graph.nodes)


def count_in_torch(torch, function):
    graphs = 0
    records = []

    def backend(gm, example_inputs):
        nonlocal graphs
        graphs += graph_has_ops(gm)
        return gm.forward

    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [Collect(records)]
    torch._dynamo.reset()
    outcome = run(torch.compile(function, backend=backend), torch)
    return graphs, len(records), outcome


class Collect(logging.Handler):
    def __init__(self, records):
        super().__init__()
        self.emit = records.append


def count_here(minidynamo, function):
    minidynamo._dynamo.reset()
    outcome = run(minidynamo.compile(function, backend="eager"), minidynamo)
    counted = minidynamo._C.engine_counters()
    return counted["graphs_captured"], counted["graph_breaks"], outcome


def run(function, library):
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(library.tensor([1.0, -2.0, 3.0]), [])
    except Exception as error:
        return type(error).__name__
    return None


def count_all(library, count, programs):
    """For each program [graphs, breaks] with nested breaks and without."""
    found = {}
    for name, program in sorted(programs.items()):
        with library.compiler.set_stance("force_eager"):
            plain = run(program.function, library)
        row = []
        for nested in (True, False):
            with library._dynamo.config.patch(nested_graph_breaks=nested):
                graphs, breaks, outcome = count(library, program.function)
            expected = program.default is None and outcome == plain
            row.append([graphs, breaks] if expected or program.default is not None else None)
        found[name] = row
    return found


def main():
    sys.path.insert(0, str(HERE))
    is_torch = "--torch" in sys.argv[1:]
    if is_torch:
        library, count = as_torch(), count_in_torch
    else:
        import minidynamo as library

        count = count_here
    from programs import PROGRAMS

    names = [name for name in sys.argv[1:] if name in PROGRAMS]
    counted = count_all(library, count, {name: PROGRAMS[name] for name in names} or PROGRAMS)
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    of_library = stored.setdefault("torch" if is_torch else "minidynamo", {})
    merged = of_library | counted
    of_library.clear()
    of_library.update((name, merged[name]) for name in sorted(PROGRAMS) if name in merged)
    if is_torch:
        stored["torch_version"] = library.__version__
    lines = [f' "{key}": ' + dump(value) for key, value in sorted(stored.items())]
    STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def dump(value):
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f'  "{name}": {json.dumps(row)}' for name, row in value.items()) + "\n }"


if __name__ == "__main__":
    main()
