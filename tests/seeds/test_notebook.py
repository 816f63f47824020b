"""The behaviour of the notebook's cells: values, records of the log, errors and the places that they name."""

import pytest
from cells import CELLS

import minidynamo

BODY = """\
Call to `minidynamo._dynamo.graph_break()`
  Explanation: The program asked for a graph break here. Message: None
  Hint: Remove the call of `minidynamo._dynamo.graph_break()`.

  Developer debug context: Called `minidynamo._dynamo.graph_break()` with args `[]`, kwargs `{}`
"""

# By cell: what is added to the argument (None: the cell prints an error), the line of the break, the records without nested
# breaks and with them, and the functions that the full record or the error names.
CASES = [
    (2, 3, 4, 4, 1, ["fn", "inner", "code_with_a_difficult_graph_break"]),
    (3, 3, 7, 1, 1, ["fn"]),
    (4, 3, 4, 3, 1, ["fn", "forward"]),
    (5, None, 14, 1, 1, ["fn", "inner", "inner2"]),
    (6, 3, 3, 3, 1, ["fn", "inner2", "inner"]),
    (7, 3, 4, 3, 1, ["fn", "inner2", "inner"]),
    (8, None, None, 0, 0, ["fn", "inner"]),
    (9, None, None, 0, 0, ["fn", "inner"]),
    (10, None, 4, 1, 1, ["inner"]),
]

pytestmark = pytest.mark.counts_regions


def functions_named(text, cell):
    return [line.rpartition(", in ")[2] for line in text.splitlines() if f'File "{cell}"' in line]


@pytest.mark.parametrize(("number", "added", "line", "flat", "nested", "functions"), CASES)
@pytest.mark.parametrize("nested_breaks", [False, True])
def test_cell(notebook, number, added, line, flat, nested, functions, nested_breaks):
    notebook.run(CELLS[1], "<cell 1>")
    assert notebook.records == []
    cell = f"<cell {number}>"
    minidynamo.manual_seed(number)
    expected = None if added is None else (minidynamo.randn(3) + 1 + 2).tolist()
    minidynamo.manual_seed(number)
    with minidynamo._dynamo.config.patch(nested_graph_breaks=nested_breaks):
        value = notebook.run(CELLS[number], cell)
    records = list(notebook.records)
    assert len(records) == (nested if nested_breaks else flat)
    if records:
        hold_full_record(records[0], cell, line)
    for record in records[1:]:
        hold_suppressed_record(record, cell, line)
    if added is None:
        hold_error(notebook.output, cell, functions)
        return
    assert value.tolist() == expected
    assert notebook.output == ""
    if nested_breaks:
        assert [name for name in functions_named(records[0], cell) if name != "<module>"] == functions
    # The second call logs nothing.
    notebook.records.clear()
    with minidynamo._dynamo.config.patch(nested_graph_breaks=nested_breaks):
        assert notebook.namespace["fn"](minidynamo.zeros(3)).tolist() == [float(added)] * 3
    assert notebook.records == []


def hold_full_record(record, cell, line):
    assert record.startswith(f"Graph break in user code at {cell}:{line}\nGraph Break Reason: ")
    assert BODY in record
    assert "\nUser code traceback:\n" in record
    assert f'File "{cell}", line {line}, in ' in record


def hold_suppressed_record(record, cell, line):
    assert record.startswith(
        f"Graph break (user stack suppressed due to duplicate graph break) in user code at {cell}:{line}\n"
        "Graph Break Reason: "
    )
    assert BODY in record
    assert "User code traceback:" not in record


def hold_error(output, cell, functions):
    assert output.startswith(BODY)
    assert "\nfrom user code:\n   File " in output
    assert functions_named(output, cell) == functions


def test_the_error_of_cell_5_names_the_lines(notebook):
    notebook.run(CELLS[1], "<cell 1>")
    notebook.run(CELLS[5], "<cell 5>")
    places = [line.strip() for line in notebook.output.splitlines() if 'File "<cell 5>"' in line]
    # The frame that continued after the first break is fn itself; the decorator's wrapper is not shown.
    assert places == [
        'File "<cell 5>", line 15, in fn',
        'File "<cell 5>", line 8, in inner',
        'File "<cell 5>", line 4, in inner2',
    ]
    assert "torch._dynamo.graph_break()  # error" in notebook.output


def test_all_cells_in_one_session(notebook):
    counts = []
    with minidynamo._dynamo.config.patch(nested_graph_breaks=False):
        for number, source in CELLS.items():
            notebook.run(source, f"<cell {number}>")
            counts.append(len(notebook.records))
    assert counts == [0, 4, 1, 3, 1, 3, 3, 0, 0, 1]
