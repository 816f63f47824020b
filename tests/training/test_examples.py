"""The example that trains: its losses, with a stop in between and on PyTorch."""

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_digits"


def test_it_learns_and_goes_on_from_where_it_was_stopped(train, tmp_path, capsys):
    losses = train.main(["--epochs", "3", "--output", str(tmp_path / "whole")])
    assert sum(losses[-5:]) / 5 < losses[0] / 5
    assert (tmp_path / "whole" / "minidynamo.svg").read_text().startswith("<svg")
    train.main(["--epochs", "1", "--output", str(tmp_path / "parts")])
    again = train.main(["--epochs", "3", "--output", str(tmp_path / "parts")])
    assert again == pytest.approx(losses, rel=1e-5)
    assert "goes on from" in capsys.readouterr().out


def test_the_losses_are_those_of_plain_code_and_of_torch(train, tmp_path):
    compiled = train.main(["--epochs", "1", "--output", str(tmp_path / "compiled")])
    plain = train.main(["--epochs", "1", "--eager", "--output", str(tmp_path / "plain")])
    assert compiled == pytest.approx(plain, rel=1e-3)
    pytest.importorskip("torch")
    theirs = train.main(["--epochs", "1", "--library", "torch", "--output", str(tmp_path / "torch")])
    assert compiled == pytest.approx(theirs, rel=1e-2)
