"""MINIDYNAMO_TRACE: which events are written, that each line is JSON, and that writing never disturbs the program."""

import json
import os
import subprocess
import sys

import pytest
from at_once import at_once

import minidynamo
from minidynamo import _C

pytestmark = pytest.mark.counts_regions

EVENTS = {row["name"]: row for row in _C.event_rows()}


@pytest.fixture
def traced(tmp_path):
    _C.set_trace_directory(str(tmp_path / "trace"))
    yield lambda: lines_of(tmp_path / "trace")
    _C.set_trace_directory("")


def lines_of(directory):
    (path,) = directory.iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


def broken(x, n):
    y = x.sin()
    minidynamo._dynamo.graph_break()
    return y + n


def test_a_capture_with_a_break_and_a_recompile(traced):
    captured = minidynamo.compile(broken)
    captured(minidynamo.ones(2), 1)
    captured(minidynamo.ones(2), 1)
    captured(minidynamo.ones(2, dtype=minidynamo.float64), 1)
    lines = traced()
    kinds = [line["kind"] for line in lines]
    first = ["capture_start", "graph_break", "graph", "guards", "capture_end"]
    second = ["capture_start", "graph", "guards", "capture_end"]
    assert kinds == ["process_start", *first, *second, "recompile", *first, "recompile", *second]
    times = [line["time"] for line in lines[1:]]
    assert times == sorted(times)
    assert set(lines[0]) == {"time", "kind", "payload"}
    assert all(set(line) == {"time", "kind", "frame", "compile_id", "payload"} for line in lines[1:])
    ids = [line["compile_id"] for line in lines[1:]]
    frame = lines[1]["frame"]
    assert ids == [f"{frame}/0"] * 5 + [f"{frame}/1"] * 4 + [f"{frame}/2"] * 6 + [f"{frame}/3"] * 5


def payload(lines, kind):
    return next(line["payload"] for line in lines if line["kind"] == kind)


def test_payloads(traced):
    captured = minidynamo.compile(broken, dynamic=False, recompile_limit=2)
    for size in (2, 3, 4):
        captured(minidynamo.ones(size), 1)
    lines = traced()
    start = payload(lines, "capture_start")
    line = broken.__code__.co_firstlineno
    assert (start["function"], start["file"], start["line"], start["known"]) == ("broken", __file__, line, 0)
    found = payload(lines, "graph_break")
    assert (found["line"], found["function"], found["raised"]) == (line + 2, "broken", False)
    assert found["user_stack"] == [f"{__file__}:{line + 2} in broken"]
    assert found["title"] in found["text"] and found["hints"]
    graph = payload(lines, "graph")
    assert graph["ops"] == ["sin"] and "class GraphModule" in graph["code"] and "(2,)" in graph["sizes"]
    assert any(text.startswith("TENSOR_MATCH: L['x']") for text in payload(lines, "guards")["guards"])
    end = payload(lines, "capture_end")
    assert (end["outcome"], end["ops"]) == ("break", 1)
    assert end["walk_s"] > 0 and end["plan_s"] >= 0
    again = payload(lines, "recompile")
    assert again["failures"][0]["guard"] == "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    limit = payload(lines, "recompile_limit")
    assert (limit["flag"], limit["limit"]) == ("recompile_limit", 2)
    assert len(limit["failures"]) == 2
    assert limit["counts"] == {"tensor 'x' size mismatch at index 0": 2}


def test_the_table_names_every_field(traced):
    captured = minidynamo.compile(broken, dynamic=False, recompile_limit=2)
    for size in (2, 3, 4):
        captured(minidynamo.ones(size), 1)
    seen = {line["kind"]: set(line["payload"]) for line in traced()}
    assert set(seen) == set(EVENTS)
    for kind, fields in seen.items():
        for field in fields:
            assert field in EVENTS[kind]["fields"], (kind, field)


def test_an_exception_ends_the_capture(traced):
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        minidynamo.compile(broken, fullgraph=True)(minidynamo.ones(2), 1)
    lines = traced()
    assert [line["kind"] for line in lines[1:]] == ["capture_start", "graph_break", "capture_end"]
    assert lines[2]["payload"]["raised"] is True
    assert lines[3]["payload"]["outcome"] == "error"


def test_strange_names_are_json(traced):
    name = 'f\N{LATIN SMALL LETTER O WITH DIAERESIS}\n\t"\\\x7f'
    namespace = {"minidynamo": minidynamo}
    exec(compile("def f(x):\n    return x + 1", f"/tmp/{name}.py", "exec"), namespace)
    exec(compile("def g(x):\n    return x + 1", os.fsdecode(b"/tmp/\xff.py"), "exec"), namespace)
    minidynamo.compile(namespace["f"])(minidynamo.ones(2))
    minidynamo.compile(namespace["g"])(minidynamo.ones(2))
    files = [line["payload"]["file"] for line in traced() if line["kind"] == "capture_start"]
    assert files == [f"/tmp/{name}.py", "/tmp/\\udcff.py"]


def run(code, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO_")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=False
    )


PROGRAM = "import minidynamo\nf = minidynamo.compile(lambda x: x + 1)\nprint(f(minidynamo.ones(2)).tolist())\n"


def test_the_environment(tmp_path):
    directory = tmp_path / "made" / "here"
    result = run(PROGRAM, MINIDYNAMO_TRACE=str(directory))
    assert (result.returncode, result.stdout, result.stderr) == (0, "[2.0, 2.0]\n", "")
    assert [line["kind"] for line in lines_of(directory)] == [
        "process_start",
        "capture_start",
        "graph",
        "guards",
        "capture_end",
    ]
    assert lines_of(directory)[0]["payload"]["version"] == minidynamo.__version__


def test_no_file_without_a_capture(tmp_path):
    assert run("import minidynamo", MINIDYNAMO_TRACE=str(tmp_path)).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run(PROGRAM + "print(f(minidynamo.ones(3)).tolist())", MINIDYNAMO_TRACE=str(blocked))
    assert (result.returncode, result.stdout) == (0, "[2.0, 2.0]\n[2.0, 2.0, 2.0]\n")
    assert result.stderr.count("MINIDYNAMO_TRACE: cannot write to ") == 1


def test_a_full_disk(tmp_path):
    code = PROGRAM.replace(
        "f = ",
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = ",
    )
    result = run(code, MINIDYNAMO_TRACE=str(tmp_path))
    assert (result.returncode, result.stdout) == (0, "[2.0, 2.0]\n")
    assert result.stderr.count("MINIDYNAMO_TRACE: cannot write to ") == 1


def test_a_child_of_fork_has_a_file_of_its_own(tmp_path):
    code = PROGRAM + (
        "import os\nchild = os.fork()\ng = minidynamo.compile(lambda x: x * 2)\ng(minidynamo.ones(2))\n"
        "if child: os.waitpid(child, 0)\nelse: os._exit(0)\n"
    )
    assert run(code, MINIDYNAMO_TRACE=str(tmp_path)).returncode == 0
    files = [[json.loads(line) for line in path.read_text().splitlines()] for path in tmp_path.iterdir()]
    starts = {lines[0]["payload"]["pid"]: lines[0]["payload"]["parent_pid"] for lines in files}
    assert len(files) == 2 and len(starts) == 2
    assert set(starts) & set(starts.values()) != set()
    # The child's file has only the captures of the child.
    assert sorted(len([line for line in lines if line["kind"] == "capture_end"]) for lines in files) == [1, 2]


def test_threads_write_whole_lines(traced):
    def work(_):
        for number in range(20):
            minidynamo.compile(eval(f"lambda x: x + {number}"))(minidynamo.ones(2))

    at_once(work, 4)
    lines = traced()
    assert sum(line["kind"] == "capture_end" for line in lines) == 80
