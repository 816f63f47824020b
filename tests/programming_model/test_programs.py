"""Every program of programs/ in each mode, with nested breaks and without: the results of eager Python, or the
policy's error."""

import linecache
import re

import pytest
from differential import assert_same, observe
from programs import PROGRAMS

import minidynamo
from minidynamo._dynamo import error_on_graph_break
from minidynamo._dynamo.exc import Unsupported

pytestmark = pytest.mark.skipif(
    minidynamo._dynamo.config.snapshot_stress != 0, reason="regions end where the stress switch says"
)

MODES = {
    "default": minidynamo.compile,
    "error_on_graph_break": lambda function, **options: error_on_graph_break(True)(
        minidynamo.compile(function, **options)
    ),
    "fullgraph": lambda function, **options: minidynamo.compile(function, fullgraph=True, **options),
}

FILES = {program.function.__code__.co_filename for program in PROGRAMS.values()}


def arguments():
    return minidynamo.tensor([1.0, -2.0, 3.0]), []


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


@pytest.mark.parametrize("nested", [True, False], ids=["nested", "flat"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, mode, nested):
    program = PROGRAMS[name]
    with minidynamo.compiler.set_stance("force_eager"):
        plain = observe(program.function, arguments())
    assert (type(plain.error) if plain.error else None) is program.raises, f"{plain.error!r}"
    log_of_error = getattr(program, mode)
    with minidynamo._dynamo.config.patch(nested_graph_breaks=nested):
        called = MODES[mode](program.function, backend="eager")
        for call in ("cold", "warm", "warm again"):
            seen = observe(called, arguments())
            if log_of_error is None:
                assert_same(plain, seen, f"{call}, {name}, {mode}")
            else:
                hold_policy_error(program, mode, seen, log_of_error)


def hold_policy_error(program, mode, seen, log):
    assert type(seen.error) is Unsupported, f"{seen.error!r}"
    tensor, seen_log = seen.args
    assert seen_log == log
    if not log:
        assert tensor.tolist() == arguments()[0].tolist()
        assert seen.printed == ""
    # Before any code has run the first break is the error; later it is the one that the program forbids.
    marks = "break" if mode == "fullgraph" else "error" if log else "break|error"
    frames = re.findall(r'File "(.*)", line (\d+), in ', str(seen.error))
    file, line = [frame for frame in frames if frame[0] in FILES][-1]
    text = linecache.getline(file, int(line))
    assert re.search(rf"# .*\b({marks})\b", text), f"{file}:{line}: {text}"


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.default is None])
def test_regions_may_end_anywhere(name):
    function = PROGRAMS[name].function
    with minidynamo.compiler.set_stance("force_eager"):
        plain = observe(function, arguments())
    for instructions in (1, 2, 3, 5, 8):
        with minidynamo._dynamo.config.patch(snapshot_stress=instructions):
            called = minidynamo.compile(function)
            for call in ("cold", "warm"):
                assert_same(plain, observe(called, arguments()), f"{call}, {name}, {instructions}", 2e-6)


def test_there_are_enough():
    assert len(PROGRAMS) >= 200
