"""The programs of the programming model and the cells of the notebook over torch's tensors, with torch's own marks: only
torch.compile is minidynamo's."""

import contextlib
import importlib.util
import linecache
import logging
import re
import sys
import types
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)
import torch
import torch._dynamo
from differential import observe
from seeds.cells import CELLS
from seeds.notebook import Collect, Notebook
from torch.utils._pytree import tree_map

import minidynamo
from minidynamo._dynamo.exc import Unsupported

TESTS = Path(__file__).parents[2]
MODES = {
    "default": minidynamo.compile,
    "error_on_graph_break": lambda function, **options: torch._dynamo.error_on_graph_break(True)(
        minidynamo.compile(function, **options)
    ),
    "fullgraph": lambda function, **options: minidynamo.compile(function, fullgraph=True, **options),
}

pytestmark = pytest.mark.counts_regions


class Face(types.ModuleType):
    """torch, but for its compile."""

    def __init__(self):
        super().__init__("torch", torch.__doc__)
        self.compile = minidynamo.compile

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def in_place(**modules):
    """Modules under other names."""
    saved = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in saved.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def load_programs():
    folder = TESTS / "programming_model" / "programs"
    spec = importlib.util.spec_from_file_location(
        "programs_with_torch", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    faces = {"minidynamo": Face(), "minidynamo._dynamo": torch._dynamo, "minidynamo.compiler": torch.compiler}
    minidynamo.compile(torch.nn.Identity())  # imports what it needs, under its own name
    with in_place(**faces):
        spec.loader.exec_module(module)
    return module.PROGRAMS


PROGRAMS = load_programs()


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    with torch.no_grad():
        yield


def arguments():
    return torch.tensor([1.0, -2.0, 3.0]), []


def shown(value):
    def leaf(part):
        if isinstance(part, BaseException):
            return type(part), str(part), vars(part)
        return part.tolist() if isinstance(part, torch.Tensor) else part

    return tree_map(leaf, value)


def seen_of(outcome):
    """All that a program can see, its tensors by their elements."""
    return {
        "result": shown(outcome.result),
        "arguments": shown(outcome.args),
        "printed": outcome.printed,
        "warned": outcome.warned,
        "error": outcome.error and (type(outcome.error), str(outcome.error)),
        # Not the frames of torch's decorators.
        "traceback": [frame for frame in outcome.traceback if frame[0].startswith(str(TESTS))],
    }


# Program and mode: in what torch's marks differ from ours.
DIFFERENT = {
    ("policies.a_class_that_allows", "error_on_graph_break"): "torch's decorator knows no classes",
    **dict.fromkeys(
        [("errors.a_wrong_argument_of_an_op", mode) for mode in ("error_on_graph_break", "fullgraph")],
        "torch may take what no row takes: a break",
    ),
    **dict.fromkeys(
        [("controls.disable_created_inside", mode) for mode in ("error_on_graph_break", "fullgraph")],
        "torch's disable() itself is the break",
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, mode):
    if (name, mode) in DIFFERENT:
        pytest.skip(DIFFERENT[name, mode])
    program = PROGRAMS[name]
    with minidynamo.compiler.set_stance("force_eager"):
        plain = observe(program.function, arguments())
    assert (type(plain.error) if plain.error else None) is program.raises, f"{plain.error!r}"
    log_of_error = getattr(program, mode)
    called = MODES[mode](program.function, backend="eager")
    for _ in range(3):
        seen = observe(called, arguments())
        if log_of_error is None:
            assert seen_of(seen) == seen_of(plain)
            continue
        assert type(seen.error) is Unsupported, f"{seen.error!r}"
        assert seen.args[1] == log_of_error
        marks = "break" if mode == "fullgraph" else "error" if log_of_error else "break|error"
        file, line = re.findall(rf'File "({TESTS}/programming_model/.*)", line (\d+), in ', str(seen.error))[-1]
        assert re.search(rf"# .*\b({marks})\b", linecache.getline(file, int(line))), f"{file}:{line}"


# Of tests/seeds/test_notebook.py: the line of the break, and how many records there are.
BREAKS_OF_CELLS = {
    2: (4, 1),
    3: (7, 1),
    4: (4, 1),
    5: (14, 1),
    6: (3, 1),
    7: (4, 1),
    8: (None, 0),
    9: (None, 0),
    10: (4, 1),
}


@pytest.mark.parametrize("number", BREAKS_OF_CELLS)
def test_cell_of_the_notebook(number):
    line, count = BREAKS_OF_CELLS[number]
    records = Collect()
    notebook = Notebook(records)
    notebook.namespace["torch"] = Face()
    logger = logging.getLogger("minidynamo.graph_breaks")
    logger.addHandler(records)
    minidynamo._logging.set_logs(graph_breaks=True)
    torch.manual_seed(number)
    try:
        value = notebook.run(CELLS[number], f"<cell {number}>")
    finally:
        minidynamo._logging.set_logs()
        logger.removeHandler(records)
    assert len(records.messages) == count, records.messages
    if count:
        assert f'File "<cell {number}>", line {line}, in ' in records.messages[0]
    if value is None:
        assert "Unsupported" in notebook.output or "graph_break" in notebook.output
        return
    torch.manual_seed(number)
    assert value.tolist() == (torch.randn(3) + 1 + 2).tolist()
