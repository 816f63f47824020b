"""Fixtures of the tests of examples, whose modules have EXAMPLE, the folder, and TINY, the options of a small model."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

EXAMPLES = Path(__file__).parents[2] / "examples"
# Each example imports its modules by these names; several have some in common.
MODULES = {path.stem for path in EXAMPLES.rglob("*.py")}


@pytest.fixture
def train(request, monkeypatch):
    """The module train of the example."""
    folder = request.module.EXAMPLE
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    minidynamo._dynamo.reset()
    minidynamo._dynamo.utils.counters.clear()
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import train

    yield train
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def run(request, train, tmp_path):
    """Trains with a checkpoint of this name, the tiny model if no other is given."""

    def run(name, *arguments, model=request.module.TINY):
        return train.main([*model, "--checkpoint", str(tmp_path / name), *map(str, arguments)])

    return run


@pytest.fixture
def refused(run, capsys):
    """What the program says of arguments that it cannot use."""

    def refused(*arguments):
        with pytest.raises(SystemExit) as error:
            run("run.pt", "--steps", 2, *arguments)
        assert error.value.code == 2
        return capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]

    return refused


@pytest.fixture
def stop_after_a_checkpoint(run, train, monkeypatch):
    """Trains until the first step that is reported, which is in the checkpoint."""

    def interrupt_at_a_step(line):
        if line.startswith("step"):
            raise KeyboardInterrupt

    def stop_after_a_checkpoint(name, *arguments):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(train, "say", interrupt_at_a_step)
            run(name, *arguments)

    return stop_after_a_checkpoint


# Killed at the third call of a function of the module.
KILLED = """
import functools, os, signal, sys
import train

*owner, name = sys.argv[1].split(".")
owner = functools.reduce(getattr, owner, train)
function, calls = getattr(owner, name), []

def call(*arguments):
    calls.append(arguments)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments)

setattr(owner, name, call)
train.main(sys.argv[2:])
"""


@pytest.fixture
def kill_and_go_on(request, train, run, tmp_path):
    """Kills a run at the third call of a function, when two checkpoints have been written, and goes on from the second:
    the last checkpoint and the curve are those of a run that was not killed."""

    def python(*arguments):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)

    def kill_and_go_on(function, steps, every, *arguments):
        killed, whole = tmp_path / "killed.pt", tmp_path / "whole.pt"
        arguments = ["--steps", str(steps), "--every", str(every), *arguments]
        command = [*request.module.TINY, *arguments, "--checkpoint", str(killed)]
        assert python("-c", KILLED, function, *command).returncode == -signal.SIGKILL
        assert len(minidynamo.load(killed)["losses"]) == 2 * every
        again = python(train.__file__, *command)
        assert again.returncode == 0, again.stderr
        assert f"goes on from {killed}, after {2 * every} steps" in again.stdout
        assert len(run("whole.pt", *arguments).losses) == steps
        assert same(minidynamo.load(killed), minidynamo.load(whole))
        assert killed.with_suffix(".svg").read_text() == whole.with_suffix(".svg").read_text()

    return kill_and_go_on


def same(one, other):
    """Of what is in checkpoints, bit by bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, minidynamo.Tensor):
        return minidynamo.equal(one, other)
    return one == other


@pytest.fixture
def pytorch():
    """On one thread: two threads that wait for each other at each small op take seconds where processors are in use."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)
