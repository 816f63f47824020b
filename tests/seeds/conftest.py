"""Runs the text of the seeds as printed: `torch` is minidynamo, and `header_code` is empty."""

import importlib
import logging
import sys
import types

import pytest
from notebook import Collect, Notebook

import minidynamo

SUBMODULES = ("_dynamo", "_logging", "compiler", "library", "nn", "utils", "utils.cpp_extension")


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
