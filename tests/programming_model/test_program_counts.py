"""The graphs and breaks of the programs are those of counts.json, and the docs explain each difference from torch."""

import json
import re
import sys
from pathlib import Path

import pytest
from programs import PROGRAMS
from torch_counts import STORE, count_all, count_here

import minidynamo

PAGE = Path(__file__).parents[2] / "docs/programming_model/next_to_torchdynamo.md"
STORED = json.loads(STORE.read_text())

# Bytecode and the standard library differ between versions; torch was counted on this one.
of_one_version = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="counts of 3.11 are stored")


@of_one_version
@pytest.mark.skipif(minidynamo._dynamo.config.snapshot_stress != 0, reason="regions end where the stress switch says")
@pytest.mark.parametrize("name", PROGRAMS)
def test_counts(name):
    assert count_all(minidynamo, count_here, {name: PROGRAMS[name]}) == {name: STORED["minidynamo"][name]}


def test_each_difference_is_explained():
    assert set(STORED["torch"]) == set(STORED["minidynamo"]) == set(PROGRAMS)
    explained = re.findall(r"`(\w+\.\w+)`", PAGE.read_text())
    explained = [name for name in explained if name in PROGRAMS]
    assert len(explained) == len(set(explained))
    assert set(explained) == {name for name in PROGRAMS if STORED["torch"][name] != STORED["minidynamo"][name]}
