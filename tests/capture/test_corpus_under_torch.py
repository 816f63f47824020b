"""Which snippets of the corpus torch captures whole and minidynamo does not: those that docs/what_is_captured.md lists."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import corpus  # noqa: F401  registers the snippets
import pytest
from differential import check, snippets

import minidynamo

SCRIPT = Path(__file__).with_name("corpus_under_torch.py")
PAGE = Path(__file__).parents[2] / "docs/what_is_captured.md"
MOST = 20

_config = minidynamo._dynamo.config
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.version_info[:2] != (3, 11), reason="the page lists what CPython 3.11 and torch 2.13 capture"
    ),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="runs beside torch"),
    pytest.mark.skipif(
        _config.snapshot_stress != 0 or _config.check_captures != 0, reason="asks what is captured whole"
    ),
]


def listed():
    return set(re.findall(r"^\| `(\w+\.\w+)` \|", PAGE.read_text(), re.MULTILINE))


def breaks(snippet):
    try:
        check(snippet, fullgraph=True)
    except AssertionError as error:
        assert isinstance(error.__cause__, minidynamo._dynamo.exc.Unsupported), snippet.name
        return True
    return False


def test_snippets_that_torch_alone_captures_are_listed_with_reasons(tmp_path):
    names, results = tmp_path / "names", tmp_path / "results"
    names.write_text(json.dumps([snippet.name for snippet in snippets() if breaks(snippet)]))
    subprocess.run([sys.executable, str(SCRIPT), str(names), str(results)], check=True, capture_output=True)
    assert set(json.loads(results.read_text())) == listed()
    assert len(listed()) <= MOST
