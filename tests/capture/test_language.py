"""Every snippet of the corpus behaves the same compiled and uncompiled, cold and warm, under each backend."""

import subprocess
import sys
from pathlib import Path

import corpus  # noqa: F401  registers the snippets
import pytest
from differential import check, snippets

import minidynamo

SNIPPETS = {snippet.name: snippet for snippet in snippets()}
STRESSED = minidynamo._dynamo.config.snapshot_stress != 0


@pytest.mark.parametrize("backend", ["eager", "onednn"])
@pytest.mark.parametrize("name", SNIPPETS)
def test_same_as_plain(name, backend):
    snippet = SNIPPETS[name]
    report = check(snippet, backend)
    if snippet.breaks is not None and not STRESSED:
        assert report.graph_breaks == snippet.breaks, f"{report.graph_breaks} breaks"


@pytest.mark.counts_regions
@pytest.mark.parametrize("name", [name for name, snippet in SNIPPETS.items() if snippet.fullgraph])
def test_captured_whole(name):
    report = check(SNIPPETS[name], fullgraph=True)
    assert report.captured_when_warm == 0, "a warm call was captured again"


@pytest.mark.parametrize("name", SNIPPETS)
def test_regions_may_end_anywhere(name):
    """With each region cut after n instructions every snapshot is restored, and the results are the same."""
    for instructions in (1, 2, 3, 7):
        with minidynamo._dynamo.config.patch(snapshot_stress=instructions, suppress_internal_errors=False):
            check(SNIPPETS[name])


def test_the_corpus_is_broad():
    assert len(SNIPPETS) >= 1000


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.version_info[:2] != (3, 11) or STRESSED, reason="the page shows what CPython 3.11 captures")
def test_the_page_of_constructs_is_current():
    tool = Path(__file__).parents[2] / "tools" / "generate_docs.py"
    result = subprocess.run([sys.executable, str(tool), "--check", "constructs.md"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
