"""How often changing sizes and numbers cause a function to be recompiled, compared with torch 2.13."""

import json
from pathlib import Path

import pytest
from size_programs import PROGRAMS
from torch_sizes import count

import minidynamo

pytestmark = pytest.mark.counts_regions
COUNTS = json.loads((Path(__file__).parent / "size_counts.json").read_text())

# More compilations than torch at some call, and why.
MORE = {}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_counts(name):
    assert count(minidynamo, PROGRAMS[name]) == COUNTS["minidynamo"][name]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_never_more_than_torch(name):
    here, there = COUNTS["minidynamo"][name], COUNTS["torch"][name]
    more = [(a, b) for a, b in zip(here, there, strict=True) if a > b]
    assert bool(more) == (name in MORE), (here, there)
