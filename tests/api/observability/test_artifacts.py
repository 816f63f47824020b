"""Each log artifact for a program that triggers it: what it prints, and that it prints nothing when it is off."""

import logging

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._logging import set_logs

pytestmark = pytest.mark.counts_regions

HISTORY = []


def helper(x):
    return x * 2


def program(x, scale, kept):
    y = helper(x + 1)
    kept.append(3)
    minidynamo._dynamo.graph_break()
    return y * scale


def run(**arguments):
    kept = []
    captured = minidynamo.compile(program, **arguments)
    captured(minidynamo.ones(2, 3), "ab" * 0 or 2, kept)
    captured(minidynamo.ones(2, 3, dtype=minidynamo.float64), 2, kept)
    assert kept == [3, 3]


def records_of(caplog, artifact):
    with caplog.at_level(logging.DEBUG, f"minidynamo.{artifact}"):
        set_logs(**{artifact: True})
        run()
    assert {record.name for record in caplog.records} == {f"minidynamo.{artifact}"}
    assert all(record.levelno == logging.DEBUG for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


def one(records, start):
    (found,) = [record for record in records if record.startswith(start)]
    return found


LINE = program.__code__.co_firstlineno
FILE = __file__


def test_nothing_is_logged_by_default(caplog, capfd):
    run()
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_bytecode(caplog):
    records = records_of(caplog, "bytecode")
    # Each code object once, although it was captured twice and from two places.
    assert len(records) == 1
    assert records[0].startswith(f"ORIGINAL BYTECODE program {FILE} line {LINE}\n")
    assert "LOAD_FAST" in records[0] and "RETURN_VALUE" in records[0]


def test_graph(caplog):
    first = records_of(caplog, "graph")[0]
    lines = first.splitlines()
    assert lines[0] == "TRACED GRAPH"
    assert lines[1] == f" ===== program ({FILE}:{LINE}) ====="
    assert lines[2].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[4].split()[:3] == ["placeholder", "l_x_", "L_x_"]
    assert ["call_function", "add", "add", "(l_x_,", "1)", "{}"] in [line.split() for line in lines]
    assert lines[-1].startswith("output") and lines[-1].split()[3].startswith("((")


def test_graph_breaks(caplog):
    records = records_of(caplog, "graph_breaks")
    assert records[0].startswith(f"Graph break in user code at {FILE}:{LINE + 3}\n")
    assert records[1].startswith("Graph break (user stack suppressed due to duplicate graph break)")


def test_graph_code(caplog):
    first = records_of(caplog, "graph_code")[0]
    assert "class GraphModule" in first and "= l_x_ + 1" in first
    assert f"# File: {FILE}:{LINE + 1} in program, code: y = helper(x + 1)" in first


def test_graph_sizes(caplog):
    assert "l_x_: (2, 3)" in records_of(caplog, "graph_sizes")[0]


def test_guards(caplog):
    first = records_of(caplog, "guards")[0]
    assert first.startswith(f"GUARDS: program ({FILE}:{LINE})\n+- TENSOR_MATCH: L['x'] is ")
    # In the order of the checks, without those that others imply.
    assert "type(L['x'])" not in first
    assert "+- CODE_MATCH: F.__globals__['helper'].__code__ is <code helper" in first


def test_handover(caplog):
    @minidynamo.compile
    def broken(x):
        minidynamo._dynamo.graph_break()
        return x

    with caplog.at_level(logging.DEBUG, "minidynamo.handover"):
        set_logs(handover=True)
        broken(minidynamo.ones(2))
    (record,) = [record.getMessage() for record in caplog.records]
    assert record.startswith("HAND-OVER worthless: broken (") and " at POP_TOP\n" in record


def test_recompiles(caplog):
    records = records_of(caplog, "recompiles")
    lines = records[0].splitlines()
    assert lines[0] == f"Recompiling function program in {FILE}:{LINE}"
    assert lines[1] == "    triggered by the following guard failure(s):"
    assert lines[2].endswith("/0: tensor 'x' dtype mismatch. expected float32, actual float64")
    assert lines[3] == "    - User stack trace:"
    assert any(line.startswith(f'    -   File "{FILE}", line ') for line in lines[4:])


def test_recompiles_verbose(caplog):
    set_logs(recompiles_verbose=True)

    @minidynamo.compile
    def function(x, n, name):
        return x + n if name == "a" else x

    with caplog.at_level(logging.DEBUG, "minidynamo.recompiles_verbose"):
        function(minidynamo.ones(2), 1.5, "a")
        function(minidynamo.ones(2, dtype=minidynamo.float64), 1, "b")
    (record,) = [record.getMessage() for record in caplog.records]
    lines = record.splitlines()
    assert lines[0].startswith("Recompiling function function in ")
    assert lines[2] == "    guard 0 failures:"
    failures = [line.partition(": ")[2] for line in lines[3:] if line.startswith("    - ") and "/0: " in line]
    # All guards that fail, where the recompiles log names only the first.
    assert len(failures) == 3
    assert any("dtype mismatch" in failure for failure in failures)
    assert any("L['name']" in failure for failure in failures)
    assert any("L['n']" in failure for failure in failures)


def test_side_effects(caplog):
    record = one(records_of(caplog, "side_effects")[:1], "Mutating object of type list")
    assert record.startswith("Mutating object of type list (source name: L['kept'])\n    ListAppend: ")
    assert f'File "{FILE}", line {LINE + 2}, in program\n    kept.append(3)' in record


def test_snapshot(caplog):
    first = records_of(caplog, "snapshot")[0]
    assert first.startswith(f"SNAPSHOT: program ({FILE}:{LINE}), break\n")
    assert "= Output #0" in first and "frame at " in first


def test_trace_bytecode(caplog):
    records = records_of(caplog, "trace_bytecode")
    assert all(record.startswith("TRACE ") for record in records)
    assert "TRACE LOAD_FAST x " in "\n".join(records)
    assert any(record.startswith("TRACE BINARY_OP ") and record.endswith("L['x'], 1]") for record in records)


def test_trace_call(caplog):
    records = records_of(caplog, "trace_call")
    assert records[0] == (
        f"TRACE FX call add from {FILE}:{LINE + 1} in program\n    y = helper(x + 1)\n               ^^^^^"
    )
    assert records[1].startswith(f"TRACE inlined call helper from {FILE}:{LINE + 1} in program\n")
    assert records[2].startswith(f"TRACE FX call mul from {FILE}:{helper.__code__.co_firstlineno + 1} in helper\n")


def test_trace_source(caplog):
    records = records_of(caplog, "trace_source")
    assert f"TRACE starts_line {FILE}:{LINE + 1} in program (program)\n    y = helper(x + 1)" in records
    inner = helper.__code__.co_firstlineno + 1
    assert f"TRACE starts_line {FILE}:{inner} in helper (helper) (inline depth: 1)\n    return x * 2" in records


def test_verbose_guards(caplog):
    first = records_of(caplog, "verbose_guards")[0]
    assert first.startswith(f"GUARD PROGRAM: program ({FILE}:{LINE})\n+- LOAD r0 = L['x']\n+- CHECK TENSOR_MATCH: ")
    assert "+- FETCH r" in first
    latency = first.splitlines()[-1]
    assert latency.startswith("Guard eval latency = ") and latency.endswith(" us")
    assert float(latency.split()[-2]) > 0


def test_info_logs_the_steps(caplog):
    set_logs(dynamo=logging.INFO)
    minidynamo.compile(helper)(minidynamo.ones(2))
    steps = [record.getMessage() for record in caplog.records]
    place = f"helper ({FILE}:{helper.__code__.co_firstlineno})"
    assert steps[0] == f"Step 1: start capturing {place}"
    assert steps[1] == f"Step 1: done capturing {place}"
    assert steps[2] == f"Step 2: making the plan of {place}"
    assert steps[3] == f"Step 2: done with {place}"
    assert {record.levelno for record in caplog.records} == {logging.INFO}


IN_TEST_PLAN_LOGS = {"plan", "kernels", "perf"}


def test_every_artifact_has_a_test():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {row["name"] for row in _C.log_rows()} - tested == IN_TEST_PLAN_LOGS


def test_a_log_changes_no_result():
    every = {row["name"]: True for row in _C.log_rows()}
    logging.getLogger("minidynamo").propagate = False
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        set_logs(**every)
        x = minidynamo.tensor([1.0, -2.0])
        kept = []
        assert minidynamo.compile(program)(x, 3, kept).tolist() == ((x + 1) * 2 * 3).tolist()
        assert kept == [3]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger("minidynamo").propagate = True
