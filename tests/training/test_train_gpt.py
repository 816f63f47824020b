"""The example that trains a GPT: its losses, on PyTorch, after a kill, and what it says of input that it cannot use."""

from pathlib import Path

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions
EXAMPLE = Path(__file__).parents[2] / "examples" / "train_gpt"
TINY = "--layers 2 --heads 2 --width 16 --context 12 --batch 4 --lr 0.01 --seed 3 --sample 0".split()


@pytest.mark.parametrize("dtype, bound", [([], 1e-3), (["--double"], 1e-9)])
def test_losses_are_those_of_plain_code(run, dtype, bound):
    arguments = ["--steps", 60, *dtype]
    compiled, plain = run("compiled.pt", *arguments), run("plain.pt", *arguments, "--eager")
    assert sum(compiled.losses[-10:]) < 0.9 * sum(compiled.losses[:10])
    assert compiled.losses == pytest.approx(plain.losses, rel=bound)


@pytest.mark.parametrize("dtype, bound", [([], 1e-3), (["--double"], 1e-9)])
def test_losses_are_those_of_torch(run, pytorch, dtype, bound):
    arguments = ["--steps", 60, *dtype]
    compiled = run("compiled.pt", *arguments)
    theirs = run("torch.pt", *arguments, "--library", "torch")
    assert compiled.losses == pytest.approx(theirs.losses, rel=bound)
    assert compiled.held_out_losses == [(60, pytest.approx(theirs.held_out_losses[0][1], rel=bound))]


def test_a_step_is_one_graph(run):
    run("run.pt", "--steps", 30, "--every", 30)
    counters = minidynamo._dynamo.utils.counters
    assert not counters["graph_break"]
    # The first step makes the optimizer's state, the others find it; the third graph measures held-out losses.
    assert counters["stats"]["unique_graphs"] == 3


def test_writing_takes_few_graphs_and_keeps_to_the_alphabet(run):
    training = run("run.pt", "--steps", 1)
    before = minidynamo._dynamo.utils.counters["stats"]["unique_graphs"]
    text = training.write(60)
    assert len(text) == 60 and set(text) <= set(training.characters.alphabet)
    assert text == training.write(60)
    assert minidynamo._dynamo.utils.counters["stats"]["unique_graphs"] - before <= 2


@pytest.mark.parametrize("function", ["Training.held_out_loss", "Path.replace"])
def test_a_killed_run_goes_on_with_the_losses_it_would_have_had(kill_and_go_on, function):
    kill_and_go_on(function, 70, 20)


def test_a_checkpoint_of_one_library_goes_on_in_the_other(run, stop_after_a_checkpoint, pytorch):
    arguments = ["--steps", 20, "--every", 10]
    whole = run("whole.pt", *arguments)
    for first, second in (("torch", "minidynamo"), ("minidynamo", "torch")):
        stop_after_a_checkpoint(f"{first}.pt", *arguments, "--library", first)
        parts = run(f"{first}.pt", *arguments, "--library", second)
        assert parts.losses == pytest.approx(whole.losses, rel=1e-3)


def test_texts_that_cannot_be_used(refused, tmp_path):
    missing, short, binary = tmp_path / "missing.txt", tmp_path / "short.txt", tmp_path / "binary"
    assert refused("--text", missing) == f"{missing}: No such file or directory"
    assert refused("--text", tmp_path) == f"{tmp_path}: Is a directory"
    binary.write_bytes(b"\xff\xfe")
    assert refused("--text", binary) == f"{binary} is no text in UTF-8"
    short.write_text("x" * 25)
    assert refused("--text", short) == "25 characters are too few for --context 12: 26 at least"


def test_the_shortest_text(run, tmp_path):
    text = tmp_path / "short.txt"
    text.write_text("x" * 26)
    training = run("run.pt", "--text", text, "--steps", 2)
    assert training.losses == [0, 0]
    assert training.write(20) == "x" * 20
    text.write_text("abcd")
    training = run("one.pt", "--text", text, "--steps", 2, "--context", 1)
    assert len(training.write(20)) == 20


def test_options_that_cannot_be_used(refused):
    assert refused("--heads", 3) == "--width 16 is no multiple of --heads 3"
    assert refused("--lr", "nan") == "--lr nan is no rate"
    assert refused("--batch", 0) == "argument --batch: invalid positive value: '0'"


def test_checkpoints_that_cannot_be_used(run, refused, tmp_path):
    path, text = tmp_path / "run.pt", tmp_path / "text.txt"
    run("run.pt", "--steps", 2)
    assert refused("--width", 32) == f"{path} was made with --width 16, not 32"
    assert refused("--steps", 3) == f"{path} was made with --steps 2, not 3"
    text.write_text("another text " * 10)
    assert refused("--text", text) == f"{path} was trained on another text; give another --checkpoint"
    path.write_bytes(path.read_bytes()[:1000])
    assert refused() == f"{path} is no checkpoint"
    minidynamo.save({"losses": []}, path)
    assert refused() == f"{path} is no checkpoint of this example"
    assert refused("--checkpoint", tmp_path) == f"{tmp_path}: Is a directory"
    assert refused("--checkpoint", text / "run.pt") == f"{text}: File exists"


def test_a_finished_run_only_writes(run, capsys):
    run("run.pt", "--steps", 2, "--sample", 30)
    first = capsys.readouterr().out
    run("run.pt", "--steps", 2, "--sample", 30)
    assert capsys.readouterr().out[-31:] == first[-31:]
