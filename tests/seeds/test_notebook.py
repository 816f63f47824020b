"""What the cells of the notebook do: values, records of the log, errors and the places that they name."""

import linecache
import logging

import pytest
from cells import CELLS

import minidynamo
from minidynamo._dynamo.exc import Unsupported

BODY = """\
Call to `minidynamo._dynamo.graph_break()`
  Explanation: {explanation}
  Hint: Remove the call of `minidynamo._dynamo.graph_break()`.

  Developer debug context: Called `minidynamo._dynamo.graph_break()` with args `[]`, kwargs `{{}}`
"""

pytestmark = pytest.mark.skipif(
    minidynamo._dynamo.config.snapshot_stress != 0, reason="regions end where the stress switch says"
)


class Cell:
    """A cell that ran: its function, its file, and the records that calls log."""

    def __init__(self, number, handler):
        source = CELLS[number]
        self.file = f"<cell {number}>"
        # So that tracebacks find the source, as in a notebook.
        linecache.cache[self.file] = (len(source), None, source.splitlines(True), self.file)
        namespace = {"torch": minidynamo, "__name__": "__main__"}
        exec(compile(source, self.file, "exec"), namespace)
        self.fn = namespace["fn"]
        self.records = handler.messages

    def call(self):
        self.records.clear()
        return self.fn(minidynamo.tensor([0.0, 0.0, 0.0]))


class Collect(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


@pytest.fixture
def run_cell():
    handler = Collect()
    logger = logging.getLogger("minidynamo.graph_breaks")
    minidynamo._dynamo.reset()
    minidynamo._logging.set_logs(graph_breaks=True)
    logger.addHandler(handler)
    try:
        yield lambda number: Cell(number, handler)
    finally:
        logger.removeHandler(handler)
        minidynamo._logging.set_logs()


def explanation_of(text):
    (line,) = [line for line in text.splitlines() if line.startswith("  Explanation: ")]
    return line.removeprefix("  Explanation: ")


def hold_full_record(record, cell, line):
    assert record.startswith(f"Graph break in user code at {cell.file}:{line}\nGraph Break Reason: ")
    body = BODY.format(explanation=explanation_of(record))
    assert body in record
    assert "\nUser code traceback:\n" in record
    assert f'File "{cell.file}", line {line}, in ' in record


def hold_suppressed_record(record, cell, line):
    assert record.startswith(
        f"Graph break (user stack suppressed due to duplicate graph break) in user code at {cell.file}:{line}\n"
        "Graph Break Reason: "
    )
    assert "User code traceback:" not in record


PLACES = {2: (4, "code_with_a_difficult_graph_break"), 3: (7, "fn")}


@pytest.mark.parametrize("number", PLACES)
def test_allowed_break(number, run_cell):
    line, _ = PLACES[number]
    cell = run_cell(number)
    assert cell.call().tolist() == [3.0] * 3
    (record,) = cell.records
    hold_full_record(record, cell, line)
    assert cell.call().tolist() == [3.0] * 3
    assert cell.records == []


def test_the_record_of_cell_2_has_the_users_functions_only(run_cell):
    cell = run_cell(2)
    cell.call()
    (record,) = cell.records
    names = [line.rpartition(", in ")[2] for line in record.splitlines() if f'File "{cell.file}"' in line]
    assert names == ["fn", "inner", "code_with_a_difficult_graph_break"]


def test_error_of_cell_5(run_cell):
    cell = run_cell(5)
    with pytest.raises(Unsupported) as caught:
        cell.call()
    (record,) = cell.records
    hold_full_record(record, cell, 14)
    text = str(caught.value)
    assert text.startswith(BODY.format(explanation=explanation_of(text)))
    user_code = text[text.index("from user code:") :]
    places = [line.strip() for line in user_code.splitlines() if f'File "{cell.file}"' in line]
    # The frame that went on after the first break is fn itself; the decorator's wrapper is not shown.
    assert places == [
        f'File "{cell.file}", line 15, in fn',
        f'File "{cell.file}", line 8, in inner',
        f'File "{cell.file}", line 4, in inner2',
    ]
    assert "torch._dynamo.graph_break()  # error" in user_code
    with pytest.raises(Unsupported):
        cell.call()
    assert cell.records == []


@pytest.mark.parametrize(("number", "count"), [(2, 4), (3, 1), (5, 1)])
def test_records_without_nested_breaks(number, count, run_cell):
    """One record for each level of calls, the decorator counted as one."""
    cell = run_cell(number)
    with minidynamo._dynamo.config.patch(nested_graph_breaks=False):
        if number == 5:
            with pytest.raises(Unsupported):
                cell.call()
        else:
            assert cell.call().tolist() == [3.0] * 3
    records = list(cell.records)
    assert len(records) == count
    line = {2: 4, 3: 7, 5: 14}[number]
    hold_full_record(records[0], cell, line)
    for record in records[1:]:
        hold_suppressed_record(record, cell, line)
