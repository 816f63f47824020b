import logging
import os
import re
import subprocess
import sys

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._logging import set_logs

ROWS = {row["name"]: row for row in _C.log_rows()}


@pytest.fixture(autouse=True)
def logs_off_afterwards(monkeypatch):
    monkeypatch.delenv("MINIDYNAMO_LOGS", raising=False)
    yield
    set_logs()


def run(code, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO_LOGS")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True, check=False
    )


EMIT_ALL = "import minidynamo\nfor row in minidynamo._C.log_rows(): minidynamo._C.log_event(row['name'], 'said')"


def shown(result):
    assert result.returncode == 0, result.stderr
    return set(re.findall(r"\[__(\w+)\] said", result.stderr))


@pytest.mark.parametrize("name", ROWS)
def test_each_artifact_is_switched_by_itself(name, caplog):
    set_logs(**{name: True})
    for other in ROWS:
        _C.log_event(other, f"about {other}")
    assert caplog.record_tuples == [(f"minidynamo.{name}", logging.DEBUG, f"about {name}")]
    set_logs()
    _C.log_event(name, "again")
    assert len(caplog.records) == 1
    assert not _C.log_enabled(name)


def test_text_is_not_a_format(caplog):
    set_logs(guards=True)
    _C.log_event("guards", "100 %s %d")
    assert caplog.messages == ["100 %s %d"]


def test_debug_switches_on_artifacts_that_are_not_off_by_default():
    set_logs(dynamo=logging.DEBUG, guards=False)
    for name, row in ROWS.items():
        assert _C.log_enabled(name) == (not row["off_in_all"] and name != "guards")


def test_levels_of_other_loggers():
    set_logs(modules={"minidynamo.somewhere": logging.ERROR})
    assert logging.getLogger("minidynamo.somewhere").level == logging.ERROR


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"zzz": True}, TypeError, "unexpected keyword argument 'zzz'"),
        ({"graph_breaks": 5}, ValueError, "Expected bool to enable artifact graph_breaks, received 5"),
        (
            {"dynamo": "debug"},
            ValueError,
            "Unrecognized log level for log dynamo: debug, valid level values are: 50,40,30,20,10,0",
        ),
        ({"all": True}, ValueError, "Unrecognized log level for log all: True"),
        ({"modules": {"a.b": 11}}, ValueError, "Unrecognized log level for log a.b: 11"),
    ],
)
def test_misuse(arguments, error, message):
    set_logs(graph_breaks=True)
    with pytest.raises(error, match=re.escape(message)):
        set_logs(**arguments)
    assert _C.log_enabled("graph_breaks")


def test_no_positional_arguments():
    with pytest.raises(TypeError):
        set_logs(True)


def test_the_extension_knows_its_artifacts():
    with pytest.raises(ValueError, match="there is no log artifact named 'zzz'"):
        _C.set_log_enabled("zzz", True)


def test_warning(caplog):
    _C.log_warning("be careful")
    assert caplog.record_tuples == [("minidynamo", logging.WARNING, "be careful")]


def test_a_failing_handler_does_not_change_the_program(capsys):
    class Failing(logging.Handler):
        def emit(self, record):
            raise RuntimeError("the disk is full")

    handler = Failing()
    logger = logging.getLogger("minidynamo")
    logger.addHandler(handler)
    hook, reports = sys.unraisablehook, []
    sys.unraisablehook = reports.append
    try:
        _C.log_warning("be careful")
    finally:
        sys.unraisablehook = hook
        logger.removeHandler(handler)
    assert str(reports[0].exc_value) == "the disk is full"


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("sign", ["", "+"])
def test_environment_by_name(name, sign):
    assert shown(run(EMIT_ALL, MINIDYNAMO_LOGS=sign + name)) == {name}


def test_environment_list():
    assert shown(run(EMIT_ALL, MINIDYNAMO_LOGS="graph_breaks, recompiles,json.decoder")) == {
        "graph_breaks",
        "recompiles",
    }
    assert shown(run(EMIT_ALL, MINIDYNAMO_LOGS="+dynamo,-guards")) == {
        name for name, row in ROWS.items() if not row["off_in_all"] and name != "guards"
    }
    assert shown(run(EMIT_ALL, MINIDYNAMO_LOGS="dynamo")) == set()
    assert shown(run(EMIT_ALL, MINIDYNAMO_LOGS="")) == set()


def test_environment_wins():
    code = "import minidynamo; minidynamo._logging.set_logs(guards=True)\n" + EMIT_ALL
    assert shown(run(code, MINIDYNAMO_LOGS="recompiles")) == {"recompiles"}


@pytest.mark.parametrize("setting", ["zzz", "guards,help", "guards,zzz.yyy", "+"])
def test_bad_environment(setting):
    result = run("import minidynamo", MINIDYNAMO_LOGS=setting)
    assert result.returncode == 1
    assert f"ValueError: Invalid log settings: {setting}, must be a comma separated list" in result.stderr
    assert 'try MINIDYNAMO_LOGS="help"' in result.stderr
    for name in ROWS:
        assert f"\n  {name}" in result.stderr


@pytest.mark.parametrize("setting", ["help", "+help", " help "])
def test_help(setting):
    result = run("import minidynamo", MINIDYNAMO_LOGS=setting)
    assert result.returncode == 1
    assert "ValueError: \nMINIDYNAMO_LOGS Info\n" in result.stderr
    for name, row in ROWS.items():
        shown_here = "+" in setting or not row["off_in_all"]
        assert (f"\n  {name}{' (*)' if row['off_in_all'] else ''}: {row['doc']}\n" in result.stderr) == shown_here


def test_levels_of_the_component():
    warn = "import minidynamo; minidynamo._C.log_warning('careful'); minidynamo.compile(lambda x: x + 1)(minidynamo.ones(1))"
    assert "careful" in run(warn, MINIDYNAMO_LOGS="guards").stderr
    assert run(warn, MINIDYNAMO_LOGS="-dynamo").stderr == ""
    steps = run(warn, MINIDYNAMO_LOGS="dynamo").stderr
    assert re.search(r"^I\d{4} .* minidynamo\] Step 1: start capturing <lambda> \(", steps, re.MULTILINE)
    assert "minidynamo captured 1 of 1 regions that it began" in steps
    assert "minidynamo compilation metrics:" in steps
    assert "GUARDS" not in steps
    assert "GUARDS" in run(warn, MINIDYNAMO_LOGS="+dynamo").stderr


def test_a_user_defined_format():
    result = run(EMIT_ALL, MINIDYNAMO_LOGS="guards", MINIDYNAMO_LOGS_FORMAT="%(levelname)s|%(name)s|%(message)s")
    assert result.stderr == "DEBUG|minidynamo.guards|said\n"


def test_every_line_has_the_prefix():
    code = "import minidynamo, os; minidynamo._C.log_event('guards', 'one\\ntwo'); print(os.getpid())"
    result = run(code, MINIDYNAMO_LOGS="guards")
    lines = result.stderr.splitlines()
    prefix = rf"V\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} {result.stdout.strip()} minidynamo\] \[__guards\] "
    assert len(lines) == 2
    assert re.fullmatch(prefix + "one", lines[0])
    assert re.fullmatch(prefix + "two", lines[1])


def test_a_program_with_handlers_gets_each_record_once():
    code = "import logging; logging.basicConfig(format='mine: %(message)s')\n" + EMIT_ALL
    assert run(code, MINIDYNAMO_LOGS="guards").stderr == "mine: said\n"


def test_a_file_gets_the_records(tmp_path):
    path = tmp_path / "log.txt"
    result = run(EMIT_ALL, MINIDYNAMO_LOGS="guards", MINIDYNAMO_LOGS_OUT=str(path))
    assert result.stderr == ""
    assert path.read_text().endswith("[__guards] said\n")


def test_logging_is_not_imported_until_it_is_needed():
    loaded = "print('logging' in sys.modules)"
    result = run(f"import sys, minidynamo; {loaded}; minidynamo._C.log_warning('w'); {loaded}")
    assert result.stdout == "False\nTrue\n"
    assert re.fullmatch(r"W\d{4} \S+ \d+ minidynamo\] w\n", result.stderr)


def test_reachable_from_the_package():
    assert minidynamo._logging.set_logs is set_logs
