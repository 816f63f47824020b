"""A compiled function that captured nothing says so once, in the log, with the reason; never in a warning."""

import logging
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import minidynamo

HEAD = "minidynamo captured nothing in "


class Table:
    """Stands in for a DataFrame: it has arrays, and is none."""

    def __init__(self, column):
        self.column = column

    def __array__(self, dtype=None, copy=None):
        return self.column

    def to_numpy(self):
        return self.column


def summed(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i]
    return total


def computed(x):
    return x * 2 + 1


# What the log says, of the reason.
TOLD = {
    "complex": (computed, np.ones(3, "c16").astype("O"), "has a dtype that is not supported"),
    "a subclass": (computed, np.ones(3).view(type("Sub", (np.ndarray,), {})), "Sub"),
    "a declined call": (lambda x: np.may_share_memory(x, x), np.ones(3), "_ArrayFunctionDispatcher may_share_memory"),
    "elements": (summed, np.ones(300), "entering a region costs"),
    "a scalar": (computed, np.float64(3), "costs Python less than a graph"),
    "a table": (lambda x: np.asarray(x), Table(np.ones(3)), "asarray of no array"),
}
SILENT = {
    "captured": (computed, np.ones(3)),
    "captured of a column": (lambda x: computed(x.to_numpy()), Table(np.ones(3))),
    "no arrays": (computed, 3),
    "nothing": (lambda x: None, np.ones(3)),
    "a shape": (lambda x: x.shape, np.ones(3)),
    "raises": (lambda x: x + np.ones(7), np.ones(3)),
}


def records_of(caplog):
    return [record for record in caplog.records if record.getMessage().startswith(HEAD)]


@pytest.mark.parametrize("name", TOLD)
def test_it_is_told_once(name, caplog):
    function, argument, reason = TOLD[name]
    compiled = minidynamo.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(argument)
    (record,) = records_of(caplog)
    assert (record.name, record.levelno) == ("minidynamo", logging.WARNING)
    code = function.__code__
    assert record.getMessage().startswith(
        f"{HEAD}{code.co_qualname} ({code.co_filename}:{code.co_firstlineno}), which runs as Python: "
    )
    assert reason in record.getMessage()


@pytest.mark.parametrize("name", SILENT)
def test_it_is_not_told(name, caplog):
    function, argument = SILENT[name]
    compiled = minidynamo.compile(function)
    for _ in range(2):
        try:
            compiled(argument)
        except ValueError:
            assert name == "raises"
    assert not records_of(caplog)


def test_not_told_where_capture_is_off(caplog):
    refused = np.array([1, 2], object)
    with minidynamo._dynamo.config.patch(disable=True):
        minidynamo.compile(computed)(refused)
    minidynamo.compile(minidynamo._dynamo.disable(computed))(refused)
    assert not records_of(caplog)


def test_what_is_inside_counts(caplog):
    inner = minidynamo.compile(computed)

    @minidynamo.compile
    def outer(x, y):
        inner(x)
        minidynamo._dynamo.graph_break()
        return computed(y)

    outer(np.array([1, 2], object), np.ones(3))
    assert not records_of(caplog)
    # Nothing is traced: what the others have captured is used.
    minidynamo.compile(outer)(np.array([1, 2], object), np.ones(3))
    assert not records_of(caplog)


def test_told_later_of_a_function_that_has_raised(caplog):
    @minidynamo.compile
    def function(x):
        if len(x) > 2:
            raise ValueError("too long")
        return x * 2

    with pytest.raises(ValueError, match="too long"):
        function(np.array([1, 2, 3], object))
    assert not records_of(caplog)
    function(np.array([1, 2], object))
    assert len(records_of(caplog)) == 1


PROGRAM = """
import numpy, minidynamo
minidynamo.compile(lambda x: x * 2)(numpy.array([1], object))
"""


@pytest.mark.parametrize("settings, said", [("", True), ("-dynamo", False)])
def test_shown_without_settings(settings, said):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    environment.pop("MINIDYNAMO_LOGS", None)
    if settings:
        environment["MINIDYNAMO_LOGS"] = settings
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and (HEAD in done.stderr) == said


def test_pandas(caplog):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})

    def scaled(frame):
        return (frame - frame.mean()) / frame.std()

    pandas.testing.assert_frame_equal(minidynamo.compile(scaled)(frame), scaled(frame))
    assert len(records_of(caplog)) == 1
    caplog.clear()

    def of_columns(frame):
        return frame["a"].to_numpy() * 2 + frame["b"].to_numpy()

    assert minidynamo.compile(of_columns)(frame).tolist() == of_columns(frame).tolist()
    assert not records_of(caplog)


# A package whose files are left to Python, as those of pandas are.
TABLES = """
class Table:
    def __init__(self, column):
        self.column = column

    def __sub__(self, other):
        return Table(self.column - other)

    def to_numpy(self):
        return self.column * 1.0
"""


def test_files_that_are_left(tmp_path, caplog, monkeypatch):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "__init__.py").write_text(TABLES)
    monkeypatch.syspath_prepend(str(tmp_path))
    import tables

    minidynamo._C._leave_files(f"{folder}/")
    table = tables.Table(np.ones(3))
    before = minidynamo._C.engine_counters()["graphs_captured"]
    assert minidynamo.compile(lambda t: (t - 1) - 1)(table).column.tolist() == [-1.0] * 3
    assert minidynamo._C.engine_counters()["graphs_captured"] == before and len(records_of(caplog)) == 1
    caplog.clear()
    assert minidynamo.compile(lambda t: t.to_numpy() * 2 + 1)(table).tolist() == [3.0] * 3
    assert minidynamo._C.engine_counters()["graphs_captured"] == before + 1 and not records_of(caplog)
