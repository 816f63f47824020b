"""Runs one random program eagerly and compiled, in one process."""

from differential.checking import check
from differential.observing import observe
from differential.snippets import Snippet

import minidynamo

MODES = {
    "eager": {"backend": "eager"},
    "onednn": {"backend": "onednn"},
}


def load(source):
    namespace = {"__name__": "random_program"}
    exec(compile(source, "<random program>", "exec"), namespace)  # noqa: S102
    return namespace


def make_arguments(namespace, variant):
    """Fresh arguments; aliases between them depend on the variant."""

    def make():
        x = minidynamo.tensor([1.0, -2.0, 3.0])
        y = minidynamo.tensor([0.5, 0.25, -1.0])
        tensors = [x, y, minidynamo.tensor([2.0, 2.0, 2.0])]
        table = {"a": y, "b": minidynamo.tensor([-1.0, 0.0, 1.0])}
        kind = namespace["Child"] if variant % 2 else namespace["Box"]
        return x, y, variant, [3, 1, variant], tensors, table, kind(x, variant), {1, variant}

    return make


def run(source, backend="eager", stress=0):
    namespace = load(source)
    makers = tuple(make_arguments(namespace, variant) for variant in (2, 3, 0))
    raised = []
    for make in makers:
        namespace.update(TOTAL=0, LOG=[])
        error = observe(namespace["program"], make()).error
        raised.append(type(error) if error is not None else None)
    namespace.update(TOTAL=0, LOG=[])
    for make, kind in zip(makers, raised, strict=True):
        snippet = Snippet(namespace["program"], (make,), ("TOTAL", "LOG"), kind, None, False)
        with minidynamo._dynamo.config.patch(snapshot_stress=stress):
            check(snippet, backend)
