"""Runs the text of the seeds as printed: `torch` is minidynamo, and `header_code` is empty."""

import ast
import contextlib
import importlib
import io
import linecache
import logging
import sys
import types

import pytest

import minidynamo

SUBMODULES = ("_dynamo", "_logging", "compiler", "library", "nn", "utils", "utils.cpp_extension")


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


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    for name in SUBMODULES:
        monkeypatch.setitem(sys.modules, f"torch.{name}", importlib.import_module(f"minidynamo.{name}"))
    monkeypatch.setitem(sys.modules, "torch", minidynamo)
    monkeypatch.setitem(sys.modules, "torchdynamo", importlib.import_module("minidynamo.torchdynamo"))
    monkeypatch.setenv("MINIDYNAMO_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    monkeypatch.setitem(sys.modules, "header_code", types.ModuleType("header_code"))
    monkeypatch.chdir(tmp_path)
    handler = Collect()
    logger = logging.getLogger("minidynamo.graph_breaks")
    minidynamo._dynamo.reset()
    logger.addHandler(handler)
    try:
        yield Notebook(handler)
    finally:
        logger.removeHandler(handler)
        minidynamo._logging.set_logs()
        minidynamo._dynamo.reset()
