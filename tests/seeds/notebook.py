"""Runs cells of source as a notebook does, and keeps the records of a log."""

import ast
import contextlib
import io
import linecache
import logging


class Collect(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


class Notebook:
    """Cells that share one namespace; run() returns the value of the cell's last line."""

    def __init__(self, handler):
        self.namespace = {"__name__": "__main__"}
        self.records = handler.messages
        self.output = ""

    def run(self, source, name):
        # So that tracebacks find the source, as in a notebook.
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        tree = ast.parse(source, name)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        self.records.clear()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(tree, name, "exec"), self.namespace)
            value = eval(compile(ast.Expression(last.value), name, "eval"), self.namespace) if last else None
        self.output = output.getvalue()
        return value
