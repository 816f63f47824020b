"""The texts of a graph break that a user reads: exception, log record, documentation."""

import hashlib
import logging
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minidynamo import _C, _dynamo, _logging
from minidynamo._dynamo import exc

ROOT = Path(__file__).parents[3]
ROWS = _C.graph_break_rows()
HERE = __file__
# The stacks below show the first line of this file.
STACK = [(HERE, 1, "outer"), (HERE, 1, "inner")]
SOURCE = Path(HERE).read_text().splitlines()[0]


def unsupported(name, context="the context", stack=STACK, explanation=""):
    with pytest.raises(exc.Unsupported) as caught:
        _C.raise_unsupported(name, context, stack, explanation)
    return caught.value


@pytest.fixture
def records(monkeypatch):
    monkeypatch.delenv("MINIDYNAMO_LOGS", raising=False)
    found = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("minidynamo.graph_breaks")
    logger.addHandler(handler)
    _logging.set_logs(graph_breaks=True)
    _dynamo.reset()
    yield found
    _logging.set_logs()
    logger.removeHandler(handler)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_is_complete(row):
    assert re.fullmatch(r"MD\d{4}", row["id"])
    assert re.fullmatch(r"(GB\d{4})?", row["anchor"])
    assert row["title"] and not row["title"].endswith(".")
    assert row["explanation"].endswith(".")
    assert all(re.search(r"[.:]$", hint) for hint in row["hints"])
    assert row["hints"] or row["silent"]


LEDGER = [tuple(line.split()) for line in (ROOT / "docs" / "graph_break_ids.txt").read_text().splitlines()]


def test_ids_are_those_of_the_ledger():
    numbers = [row["id"] for row in ROWS]
    assert numbers == sorted(numbers)
    assert {(row["id"], row["name"]) for row in ROWS} <= set(LEDGER)
    assert [number for number, _ in LEDGER] == [f"MD{number:04}" for number in range(1, len(LEDGER) + 1)]
    assert len({name for _, name in LEDGER}) == len(LEDGER)


def test_the_ledger_only_grows():
    start = "".join(f"{number} {name}\n" for number, name in LEDGER[:66])
    assert (
        hashlib.sha256(start.encode()).hexdigest() == "f8b3335d3a9caf4d7ae858b8a0b3d568742e5b7cdeb673da366e745881f1bd12"
    )


def test_each_reason_is_used_somewhere():
    sources = "".join(path.read_text() for path in (ROOT / "csrc").rglob("*") if path.suffix in {".cpp", ".h", ".inl"})
    python = "".join(path.read_text() for path in (ROOT / "python").rglob("*.py"))
    refusals = (ROOT / "csrc/frontends/tensor_refusals.def").read_text()
    given = {
        *re.findall(r"\bBreakReason::(\w+)", sources),
        *re.findall(r"MD_TENSOR_REFUSAL\(\w+, (\w+)", refusals),
        *re.findall(r'CannotCapture\("(\w+)"', python),
    }
    assert {row["name"] for row in ROWS} <= given


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_body(row):
    hints = "".join(f"  Hint: {hint}\n" for hint in row["hints"]) or "\n"
    body = (
        f"{row['title']}\n  Explanation: {row['explanation']}\n{hints}\n"
        "  Developer debug context: the context\n\n"
        " For more details about this graph break, please visit: "
        f"docs/graph_breaks.md#{row['id'].lower()}\n\nfrom user code:\n "
    )
    assert str(unsupported(row["name"])).startswith(body)


def test_the_whole_text_of_an_exception():
    error = unsupported("data_dependent_branch", stack=[(HERE, 1, "f"), ("<nowhere>", 7, "g")])
    assert str(error).partition("from user code:\n")[2] == (
        f'   File "{HERE}", line 1, in f\n    {SOURCE}\n  File "<nowhere>", line 7, in g\n\n'
        'Set MINIDYNAMO_LOGS="graph_breaks" to see every graph break of the program.\n'
    )


def test_attributes_of_the_exception():
    error = unsupported("graph_break_call")
    assert (error.msg, error.gb_type, error.gb_id) == (str(error), ROWS[0]["title"], "MD0001")
    assert [(frame.filename, frame.lineno, frame.name) for frame in error.real_stack] == STACK
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.gb_type, list(copy.real_stack)) == (str(error), error.gb_type, list(error.real_stack))
    assert isinstance(error, exc.TorchDynamoException) and isinstance(error, RuntimeError)


def test_a_long_explanation_is_indented():
    text = str(unsupported("graph_break_call", explanation="One line.\nAnother."))
    assert "\n  Explanation: One line.\n    Another.\n  Hint: " in text


def test_text_that_is_not_ascii_or_utf8(tmp_path):
    error = unsupported("graph_break_call", context="é — \U0001f600", stack=[("/odd/\u00e9", 1, "naïve")])
    assert "é — \U0001f600" in str(error) and "in naïve\n" in str(error)


def test_first_record_and_repeat(records):
    for _ in range(2):
        _C.log_graph_break("graph_break_call", "c", STACK, opcode="CALL", callers=[(HERE, 1, "<module>")])
    body = str(unsupported("graph_break_call", "c")).partition("\n\nfrom user code:")[0]
    reason = (
        "Graph Break Reason: Encountered graph break when attempting to trace CALL: a call, as in f(x, y):\n\n" + body
    )
    frames = "".join(f'  File "{HERE}", line 1, in {name}\n    {SOURCE}\n' for name in ("<module>", "outer", "inner"))
    assert records == [
        f"Graph break in user code at {HERE}:1\n{reason}\n\nUser code traceback:\n{frames}",
        f"Graph break (user stack suppressed due to duplicate graph break) in user code at {HERE}:1\n{reason}\n",
    ]


def test_a_jump_has_no_instruction_in_its_record(records):
    _C.log_graph_break("data_dependent_branch", "c", STACK)
    assert "\nGraph Break Reason: Branch on the value of a tensor\n" in records[0]


def test_another_place_or_reason_is_another_break(records):
    _C.log_graph_break("graph_break_call", "c", STACK)
    _C.log_graph_break("print_call", "c", STACK)
    _C.log_graph_break("graph_break_call", "c", [(HERE, 2, "outer"), *STACK[1:]])
    assert not any("duplicate" in record for record in records)
    _dynamo.reset()
    _C.log_graph_break("graph_break_call", "c", STACK)
    assert "duplicate" not in records[3]


def test_without_nested_breaks_the_innermost_line_counts(records):
    with _dynamo.config.patch(nested_graph_breaks=False):
        _C.log_graph_break("graph_break_call", "c", STACK)
        _C.log_graph_break("graph_break_call", "c", STACK[1:])
    assert ["duplicate" in record for record in records] == [False, True]


@pytest.mark.parametrize("row", [row for row in ROWS if row["silent"]], ids=lambda row: row["name"])
def test_a_silent_reason_has_no_record(row, records):
    _C.log_graph_break(row["name"], "c", STACK)
    assert records == []


def test_unknown_names():
    with pytest.raises(ValueError, match="no graph-break reason named 'nope'"):
        _C.raise_unsupported("nope", "c", STACK)
    with pytest.raises(ValueError, match="no instruction named 'NOPE'"):
        _C.log_graph_break("print_call", "c", STACK, opcode="NOPE")


def test_pages_generated_from_tables_are_current():
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_breaks_are_recorded_without_the_log():
    def run():
        _C.log_graph_break("graph_break_call", "c", STACK)
        _C.log_graph_break("opaque_iterator", "silent", STACK)
        assert len(_C.record_breaks(lambda: _C.log_graph_break("print_call", "c", STACK[:1]))) == 1

    first, second = _C.record_breaks(run)
    assert (first["id"], first["user_stack"]) == ("MD0001", STACK)
    assert first["text"] == str(unsupported("graph_break_call", "c")).partition("\n\nfrom user code:")[0]
    assert second["name"] == "print_call"
    with pytest.raises(ZeroDivisionError):
        _C.record_breaks(lambda: 1 / 0)
    assert _C.record_breaks(lambda: None) == []
