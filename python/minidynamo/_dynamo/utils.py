"""Looking on while programs are captured."""

import logging

from . import config
from .backends import lookup_backend


class CompilationProfiler:
    """A backend that runs graphs as they are and keeps what was captured, where graphs broke and which guards failed.

    While it is used in optimize(), one capture of each place is kept, so that every recapture shows.
    """

    def __init__(self, backend="eager"):
        self.backend = lookup_backend(backend)
        self.frame_count = 0
        self.op_count = 0
        self.graph_breaks = []
        self.guard_failures = []
        self._patches = []
        self._listeners = [
            _Listener("minidynamo.graph_breaks", self.graph_breaks),
            _Listener("minidynamo.recompiles", self.guard_failures),
            _LimitListener(self.guard_failures),
        ]

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum(node.op in ("call_function", "call_method") for node in gm.graph.nodes)
        return self.backend(gm, example_inputs)

    def start(self):
        """Begins to listen; called by optimize()."""
        if not self._patches:
            for listener in self._listeners:
                listener.start()
        self._patches.append(config.patch(recompile_limit=1))
        self._patches[-1].__enter__()

    def stop(self):
        self._patches.pop().__exit__(None, None, None)
        if not self._patches:
            for listener in self._listeners:
                listener.stop()

    def report(self):
        """Text: the graphs and operations seen, each graph break once, each failed guard."""
        lines = ["Compilation profiler report", f"Graphs: {self.frame_count}", f"Operations: {self.op_count}", ""]
        for title, records in (("Graph breaks", self.graph_breaks), ("Recompilations", self.guard_failures)):
            lines.append(f"{title}: {len(records)}")
            for number, record in enumerate(records, 1):
                text = record.replace("\n", "\n    ")
                lines.append(f"  {number}. {text}")
            lines.append("")
        return "\n".join(lines)


# The name that later torchdynamo gave it.
CompileProfiler = CompilationProfiler


class _Listener(logging.Handler):
    """Takes the records of one log artifact, which it switches on; they are shown only if they were before."""

    def __init__(self, name, records):
        super().__init__()
        self._logger = logging.getLogger(name)
        self._artifact = name.rpartition(".")[2]
        self._records = records

    def emit(self, record):
        self._records.append(record.getMessage())

    def start(self):
        from .. import _C, _logging  # noqa: F401  the records arrive through _logging

        self._was_shown = self._logger.isEnabledFor(logging.DEBUG)
        self._propagated, self._level = self._logger.propagate, self._logger.level
        self._logger.propagate = self._was_shown and self._propagated
        self._logger.setLevel(logging.DEBUG)
        self._logger.addHandler(self)
        _C.set_log_enabled(self._artifact, True)

    def stop(self):
        from .. import _C

        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)
        self._logger.propagate = self._propagated
        _C.set_log_enabled(self._artifact, self._was_shown)


class _LimitListener(logging.Handler):
    """Takes the warnings that name the guard for which a place was not captured again."""

    def __init__(self, records):
        super().__init__()
        self._records = records

    def emit(self, record):
        if "recompile_limit" in record.getMessage():
            self._records.append(record.getMessage())

    def start(self):
        logging.getLogger("minidynamo").addHandler(self)

    def stop(self):
        logging.getLogger("minidynamo").removeHandler(self)
